"""Planes: what JPEG keeps of a picture, told from the pixels of its pieces: brightness, and two colours.

Colour is mostly kept at half the width and height. Decoders blend its samples to make pixels of them; that is undone.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._jit import inlined, kernel
from .trace_costs import BLOCK

# Cosines, and how samples are told from pixels, are whole numbers of this many parts, so that sums of their products
# with pixels are exact.
FINE = 4096
# Samples of colour are known to this many parts of a level.
LEVEL_PARTS = 256
# Bits for colours.
RED, BLUE = 1, 4


class Undoing(NamedTuple):
    """How samples of colour are told from pixels, along both axes; of no rows if brightness is asked for."""

    down: NDArray[np.float64]
    """(samples, pixels), whole numbers of 1 / FINE, so that sums of products are exact."""
    across: NDArray[np.float64]
    """(pixels, samples)."""

    @property
    def halves(self) -> bool:
        """Whether there are half as many samples as pixels, as there are of colour."""
        return len(self.down) > 0


def undoing_of(length: int) -> NDArray[np.float64]:
    """Return how samples of colour are told from pixels along an axis, by least squares.

    A pixel is three parts of the sample that it lies in and one of the sample that it is next to, which may be one
    beyond the edge of the piece.
    """
    pixel, samples = np.arange(length), length // 2
    blend = np.zeros((length, samples + 2))
    blend[pixel, pixel // 2 + 1] = 0.75
    blend[pixel, pixel // 2 + 2 * (pixel % 2)] = 0.25
    return np.rint(FINE * np.linalg.pinv(blend)[1:-1])


@inlined
def level_of(piece, y, x):
    """The brightness of a pixel that JPEG keeps: a whole level, as its decoder had it, unless a colour was clipped."""
    if piece.shape[2] == 1:
        return np.int64(piece[y, x, 0])
    red, green, blue = np.int64(piece[y, x, 0]), np.int64(piece[y, x, 1]), np.int64(piece[y, x, 2])
    return (299 * red + 587 * green + 114 * blue + 500) // 1000


@inlined
def tint_of(piece, y, x, channel):
    """The first or second colour of a pixel, in the same way: how blue it is, or how red, more than bright."""
    more = np.int64(piece[y, x, 2 if channel == 0 else 0]) - level_of(piece, y, x)
    scale = 1772 if channel == 0 else 1402
    return (2000 * more + scale) // (2 * scale)


@kernel
def planes_of(piece, undoing):
    """The levels that JPEG keeps: the brightness of all pixels of a piece, less 128, or the samples of both colours."""
    if len(undoing.down) > 0:
        return colours_of(piece, undoing)
    levels = np.empty((1, piece.shape[0], piece.shape[1]))
    for y in range(piece.shape[0]):
        for x in range(piece.shape[1]):
            levels[0, y, x] = level_of(piece, y, x) - 128
    return levels


@kernel
def colours_of(piece, undoing):
    """The samples of both colours."""
    height, width = piece.shape[:2]
    tints, levels = np.empty((height, width)), np.empty((2, len(undoing.down), undoing.across.shape[1]))
    for channel in range(2):
        for y in range(height):
            for x in range(width):
                tints[y, x] = tint_of(piece, y, x, channel)
        undo(tints, undoing, levels[channel])
    return levels


@kernel
def undo(tints, undoing, levels):
    """Tell samples from pixels, rounded, so that they and the sums of their products with cosines are exact."""
    down, across = undoing
    height, width = tints.shape
    row = np.empty(width)
    levels[:] = 0
    for v in range(len(down)):
        row[:] = 0
        for y in range(height):
            for x in range(width):
                row[x] += down[v, y] * tints[y, x]
        for x in range(width):
            for u in range(across.shape[1]):
                levels[v, u] += row[x] * across[x, u]
    levels[:] = np.rint(levels / (FINE * FINE // LEVEL_PARTS)) / LEVEL_PARTS


@inlined
def clipped_within(piece, top, bottom, left, right):
    """Which colours are as dark or as bright as can be somewhere in these rows and columns, a bit each."""
    colours = 0
    for y in range(max(0, top), min(bottom, piece.shape[0])):
        for x in range(max(0, left), min(right, piece.shape[1])):
            for colour in range(piece.shape[2]):
                if piece[y, x, colour] == 0 or piece[y, x, colour] == 255:
                    colours |= 1 << colour
    return colours


@inlined
def is_clipped(piece, top, left, scale, channel):
    """Whether what a piece has of a block is spoilt by clipped colours.

    A sample is so many pixels wide and high. Of colour those around count, too, as they are blended with it; but the
    second colour is hardly spoilt by blue, of which little is in it.
    """
    around = scale * (scale - 1)
    bottom, right = scale * (top + BLOCK) + around, scale * (left + BLOCK) + around
    clipped = clipped_within(piece, scale * top - around, bottom, scale * left - around, right)
    return clipped & ~BLUE != 0 if channel == 1 else clipped != 0
