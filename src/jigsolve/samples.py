"""A photograph to try things on, from a dependency: Grace Hopper, United States Navy, public domain."""

from importlib.resources import as_file, files
from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from .images import Picture, read_picture


def sample_picture() -> Picture:
    """Return the photograph that ships with Matplotlib: 512x600 pixels, colour."""
    with as_file(files("matplotlib") / "mpl-data" / "sample_data" / "grace_hopper.jpg") as path:
        return read_picture(path)


def compressed_noise() -> NDArray[np.uint8]:
    """Return 72x72 pixels of noise above a flat ground that went through JPEG: in little, all that a solve can meet."""
    noise = np.random.default_rng(0).integers(60, 190, size=(72, 72, 3), dtype=np.uint8)
    noise[48:] = 120
    file = BytesIO()
    Image.fromarray(noise).save(file, "JPEG")
    return np.array(Image.open(file))
