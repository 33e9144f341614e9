"""Sides of pieces and the lines of pixels along them.

Side `4 * piece + direction`; directions are 0 right, 1 down, 2 left, 3 up, so that the opposite one is two away.
"""

import numpy as np
from numpy.typing import NDArray

from ..puzzle import Puzzle


def outer_lines(puzzle: Puzzle, depth: int = 0) -> list[NDArray[np.float64]]:
    """Return, for each direction, the outermost line of every piece as RGB from 0 to 1: (pieces, length, 3).

    `depth` lines further in instead, or as far in as there are any.
    """
    pieces = puzzle.pieces
    across, down = min(depth, puzzle.piece_width - 1), min(depth, puzzle.piece_height - 1)
    lines = (pieces[:, :, -1 - across], pieces[:, -1 - down], pieces[:, :, across], pieces[:, down])
    return [_as_rgb(line) for line in lines]


def _as_rgb(line: NDArray[np.uint8] | NDArray[np.uint16]) -> NDArray[np.float64]:
    """Spread grey over three channels and lay what is transparent on white, as a viewer would."""
    values = line.astype(np.float64) / np.iinfo(line.dtype).max
    channels = values.shape[-1]
    colour = values[..., :3] if channels >= 3 else np.repeat(values[..., :1], 3, axis=-1)
    if channels in (2, 4):
        alpha = values[..., -1:]
        colour = colour * alpha + (1 - alpha)
    return colour
