"""Traces of JPEG at sides of pieces: what is known of a side, and what a pair's broken blocks cost.

How sides come by it is in `traces`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._jit import inlined, kernel

BLOCK = 8
COEFFICIENTS = BLOCK * BLOCK
# In how many phases a side is compared; one with more is flat.
MOST_PLAUSIBLE = 4
NOTHING = 255
# What is in which column of `Traces.keys`.
MASK, NUMBERS, FIRST, LEGIBLE = 0, 1, 2, 3
# Parts of a step in which a side's share of a coefficient is kept: in 8 bits whole steps are left out.
PARTS, HALF, FOUR, ONE = np.int16(256), np.int16(128), np.int16(4), np.int16(1)
SQUARED = 256
# Squared levels that rounding leaves in a whole block at most, nearly always; and what is left in one that is none.
WHOLE = 7
BROKEN = 27
# What a broken block adds to the sum of squares of a seam, and what all of them do at most. A true seam's sum is some
# hundreds.
BROKEN_BLOCK = 1000.0
MISFIT = 3000.0


class Traces(NamedTuple):
    """What is known of the blocks that sides cut. Sides are numbered 4 * piece + direction.

    A phase is where a piece's corner lies in a block. Sides can meet if they agree on the phase of the right or lower
    piece of the two. All arrays are of no rows where a puzzle has no traces.
    """

    keys: NDArray[np.uint64]
    """(sides, 4), half a cache line each:
    MASK, the phases that are plausible, a bit each;
    NUMBERS, their numbers, a byte each, NOTHING behind them, and instead of all if there are more than MOST_PLAUSIBLE;
    FIRST, the row of `shares` for the first of them, which those for the others follow;
    LEGIBLE, a byte for each of these rows: a bit for each block that the side cuts and that is not clipped there."""
    shares: NDArray[np.int8]
    """(rows, 64 * blocks): what a side's part of each block that it cuts adds to the coefficients, in 256ths of a step,
    whole steps left out."""
    steps: NDArray[np.int16]
    """(64,): the steps by frequency, 0 for those that say nothing."""


def no_traces() -> Traces:
    """Return what is known where there is nothing to know."""
    return Traces(np.empty((0, 4), np.uint64), np.empty((0, 0), np.int8), np.zeros(COEFFICIENTS, np.int16))


@inlined
def byte_of(word, index):
    """One of the eight bytes of a number."""
    return np.int64(word >> np.uint64(8 * index) & np.uint64(255))


@kernel
def _broken_blocks(shares, steps, row, other, legible):
    """How much of the blocks that two rows of shares belong to is broken: for each legible 0 if it is whole, up to 1.

    The compiler turns what is widened to 32 bits, multiplied and added up there, into vector instructions.
    """
    broken = np.int64(0)
    for block in range(shares.shape[1] // COEFFICIENTS):
        if legible >> block & 1:
            rest = np.int32(0)  # In 256ths of a squared level.
            for k in range(COEFFICIENTS):
                at = np.uint64(block * COEFFICIENTS + k)
                parts = np.int16(np.int16(shares[row, at]) + np.int16(shares[other, at]) + HALF)
                off = np.int16(np.int16(parts & (PARTS - ONE)) - HALF)
                sixteenths = np.int16(np.int16(off * steps[np.uint64(k)]) >> FOUR)
                rest = np.int32(rest + np.int32(sixteenths) * np.int32(sixteenths))
            broken += min(max(np.int64(rest) - SQUARED * WHOLE, np.int64(0)), np.int64(SQUARED * (BROKEN - WHOLE)))
    return broken / (SQUARED * (BROKEN - WHOLE))


@kernel
def misfit(traces, side, other):
    """What traces add to the sum of squares of two sides: the least that a phase plausible for both makes of them."""
    keys, shares, steps = traces
    if keys[side, MASK] & keys[other, MASK] == 0:
        return MISFIT
    least = np.inf
    for i in range(MOST_PLAUSIBLE):
        number = byte_of(keys[side, NUMBERS], i)
        if number == NOTHING:
            break
        for j in range(MOST_PLAUSIBLE):
            if byte_of(keys[other, NUMBERS], j) == number:
                legible = byte_of(keys[side, LEGIBLE], i) & byte_of(keys[other, LEGIBLE], j)
                row, other_row = np.int64(keys[side, FIRST]) + i, np.int64(keys[other, FIRST]) + j
                least = min(least, _broken_blocks(shares, steps, row, other_row, legible))
    return 0.0 if least == np.inf else min(MISFIT, BROKEN_BLOCK * least)
