"""Pictures to try the page on. All of them come with what is installed anyway."""

from collections.abc import Callable
from importlib.resources import as_file, files
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ..images import Picture
from ..samples import sample_picture

RELIEF_SIZE = (1200, 1020)
DUSK_SIZE = (1200, 800)


def relief() -> Picture:
    """Return a relief map of the Jacksboro fault, from the elevations that ship with Matplotlib (USGS)."""
    from matplotlib import colormaps
    from matplotlib.colors import LightSource

    with as_file(files("matplotlib") / "mpl-data" / "sample_data" / "jacksboro_fault_dem.npz") as path:
        elevation = np.load(path)["elevation"].astype(np.float32)
    # Enlarged before it is lit: slopes of a smooth surface are smooth.
    elevation = np.asarray(Image.fromarray(elevation).resize(RELIEF_SIZE, Image.Resampling.BICUBIC))
    light = LightSource(azdeg=315, altdeg=45)
    shaded = light.shade(elevation, colormaps["gist_earth"], vert_exag=0.35, blend_mode="soft", vmin=100, vmax=1150)
    return Picture((255 * shaded[:, :, :3]).round().astype(np.uint8))


def dusk() -> Picture:
    """Return hills behind hills under an evening sky, drawn by formula."""
    width, height = DUSK_SIZE
    rng = np.random.default_rng(5)
    y, x = np.mgrid[0:height, 0:width] / height
    colours = _mix(np.array([38, 48, 96]), np.array([252, 176, 110]), np.clip(y / 0.62, 0, 1) ** 1.3)
    glow = np.exp(-(((x - 1.02) ** 2 + (y - 0.44) ** 2) / 0.045))
    colours = _mix(colours, np.array([255, 236, 190]), 0.85 * glow)
    clouds = np.clip(_noise(rng, width, height, 4, 12) - 0.42, 0, 1)
    colours = _mix(colours, np.array([250, 205, 200]), 2.2 * clouds * np.clip(1.1 - y / 0.75, 0, 1))
    for layer in range(5):
        ridge = 0.47 + 0.105 * layer + (0.11 - 0.01 * layer) * (_noise(rng, width, 1, 3 + layer, 1)[0] - 0.5) * 2
        below = np.clip((y - ridge) * height / 1.5, 0, 1)
        near, far = np.array([24, 34, 44]), np.array([196, 122, 128])
        shade = _mix(far, near, np.full((height, width), layer / 4))
        grain = (_noise(rng, width, height, 30, 20) - 0.5) * (60 + 10 * layer)
        mist = np.clip((y - ridge) * 2.2, 0, 0.35)
        hill = _mix(shade + grain[:, :, np.newaxis], np.array([236, 186, 160]), mist * (1 - layer / 5))
        colours = _mix(colours, hill, below)
    colours = colours + rng.normal(0, 0.4, colours.shape)
    return Picture(np.clip(colours, 0, 255).round().astype(np.uint8))


def _mix(one: NDArray[Any], other: NDArray[Any], share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return colours that are `one` where the share is 0 and `other` where it is 1."""
    share = np.clip(share, 0, 1)[:, :, np.newaxis]
    return (1 - share) * one + share * other


def _noise(rng: np.random.Generator, width: int, height: int, across: int, down: int) -> NDArray[np.float64]:
    """Return smooth noise from 0 to 1: octaves of random numbers, each finer and fainter."""
    total, weight = np.zeros((height, width)), 0.0
    for octave in range(4):
        coarse = rng.random((max(1, down * 2**octave), across * 2**octave)).astype(np.float32)
        fine = Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)
        total += np.asarray(fine) / 2**octave
        weight += 1 / 2**octave
    return total / weight


SAMPLES: dict[str, tuple[str, Callable[[], Picture]]] = {
    "hopper": ("Grace Hopper", sample_picture),
    "dusk": ("Hills at dusk", dusk),
    "relief": ("A relief map", relief),
}
"""Name -> title and how to get it."""
