"""The piece size of a shuffled picture, told from the picture itself.

At the seams of a shuffled picture neighbouring pixels have nothing to do with each other, so the mean step from one
column of pixels to the next jumps at every multiple of the piece width; rows likewise.
"""

import numpy as np
from numpy.typing import NDArray

from .errors import InputError
from .images import Picture, Pixels

# Lines of pixels that are looked at; more change nothing but the time.
LINES = 1024
# How much larger the step at a seam must be than beside it. Seams of shuffled photographs have 2 and more; the 8-pixel
# blocks of a JPEG stay below 1.3.
LEAST_CONTRAST = 1.5
# Smallest piece that is tried: two pixels have no inside to compare a seam with.
LEAST_SIZE = 3


def detect_piece_size(picture: Picture) -> tuple[int, int]:
    """Return the (width, height) of the pieces of a shuffled picture.

    Raises
    ------
    InputError
        If no seams stand out in either direction.
    """
    colours = 3 if picture.pixels.shape[2] >= 3 else 1  # What follows is alpha.
    pixels = picture.pixels[:, :, :colours]
    width, height = _period(_steps(pixels)), _period(_steps(pixels.swapaxes(0, 1)))
    if width is None and height is None:
        raise InputError(
            f"no seams can be seen in this picture of {picture.width}x{picture.height} pixels, "
            "so its piece size cannot be told: pass --piece-size (piece_size=), or cut and shuffle it first"
        )
    return width or picture.width, height or picture.height


def _steps(pixels: Pixels) -> NDArray[np.float64]:
    """Return the mean step into every column of pixels but the first, over a sample of rows."""
    rows = pixels[:: max(1, len(pixels) // LINES)].mean(axis=2, dtype=np.float32)
    return np.abs(np.diff(rows, axis=1)).mean(axis=0, dtype=np.float64)


def _period(steps: NDArray[np.float64]) -> int | None:
    """Return the period at which steps jump, or None where none does.

    Of all sizes that divide the extent, the right one explains most of the variance of the jumps: a multiple misses
    seams, a divisor claims seams where there are none, and each halves what is explained.
    """
    extent = len(steps) + 1
    if extent < 2 * LEAST_SIZE:
        return None
    beside = (np.pad(steps, (1, 0), mode="edge")[:-1] + np.pad(steps, (0, 1), mode="edge")[1:]) / 2
    jumps = steps - beside
    best, best_explained = None, 0.0
    for size in range(LEAST_SIZE, extent // 2 + 1):
        if extent % size:
            continue
        seams = np.arange(size - 1, extent - 1, size)
        share = len(seams) / len(jumps)
        rest = (jumps.sum() - jumps[seams].sum()) / (len(jumps) - len(seams))
        lift = jumps[seams].mean() - rest
        explained = share * (1 - share) * lift * abs(lift)
        contrast = steps[seams].mean() / max(beside[seams].mean(), 1e-12)
        if explained > best_explained and contrast >= LEAST_CONTRAST:
            best, best_explained = size, explained
    return best
