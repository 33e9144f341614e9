"""Ramps of flat pieces: what is known of a side, and what a pair's ramps cost if they do not continue each other.

How sides come by it is in `ramps`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._access import prefetch
from .._jit import inlined

# Numbers that sum a piece up: its brightness, by how much that changes across it and down it, and its two tints.
NUMBERS = 5
# What is in which column of `Ramps.summaries` behind them: how rough the piece is, and its tints alone; the shares of
# its pixels that differ from the next one across, and down; and from BESIDE on how bright it is at each side,
# told from what lies beside it.
ROUGHNESS, TINTS_ROUGHNESS, BUSY_ACROSS, BUSY_DOWN, BESIDE = range(NUMBERS, NUMBERS + 5)
SUMMARY = BESIDE + 4
# What is in which column of `Ramps.variates` behind what is compared: how much that counts; and how many there are,
# half a cache line.
FLATNESS = NUMBERS
VARIATES = 8


class Ramps(NamedTuple):
    """What pieces are without their details. Sides are numbered 4 * piece + direction."""

    summaries: NDArray[np.float64]
    """(pieces, SUMMARY): each piece in NUMBERS, in levels, and what else there is of it (see `ROUGHNESS`); of no rows
    where a measure does not ask for them."""
    variates: NDArray[np.float32]
    """(sides, VARIATES): what neighbours have in common of their numbers, and FLATNESS, 0 to 1, which is 0 of pieces
    that are not flat; of no rows where nothing was learned."""
    most: NDArray[np.float64]
    """(1,): what ramps add to a sum of squares at most."""


def no_ramps() -> Ramps:
    """Return what is known where there is nothing to know."""
    return Ramps(np.empty((0, SUMMARY)), np.empty((0, VARIATES), np.float32), np.array([np.inf]))


@inlined
def fetch_ramp(ramps, side):
    """Ask for what is known of a side."""
    if len(ramps.variates) > 0:
        prefetch(ramps.variates, side, 4 * VARIATES)


@inlined
def apart(ramps, side, other):
    """What the ramps of two sides add to their sum of squares."""
    variates = ramps.variates
    if len(variates) == 0:
        return 0.0
    count = np.float64(variates[side, FLATNESS]) * np.float64(variates[other, FLATNESS])
    if count == 0:
        return 0.0
    total = 0.0
    for index in range(NUMBERS):
        difference = np.float64(variates[side, index]) - np.float64(variates[other, index])
        total += difference * difference
    return min(count * total, ramps.most[0])
