"""Traces of JPEG at sides of pieces: what is known of a side, and what a pair's broken blocks cost.

How sides come by it is in `traces`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._jit import kernel

BLOCK = 8
COEFFICIENTS = BLOCK * BLOCK
# In how many phases a side is compared; one with more is flat.
MOST_PLAUSIBLE = 4
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

    masks: NDArray[np.uint64]
    """(sides,): the phases that are plausible, a bit each."""
    phases: NDArray[np.int8]
    """(sides, 4): their numbers, if there are no more than these, then -1."""
    starts: NDArray[np.int32]
    """(sides,): the row of `shares` that has the side's shares for the first of them; the others follow."""
    shares: NDArray[np.int8]
    """(rows, 64 * blocks): what a side's part of each block that it cuts adds to the coefficients, in 256ths of a step,
    whole steps left out."""
    legible: NDArray[np.uint8]
    """(rows,): a bit for each of these blocks that the side does cut, and whose colours are not clipped there."""
    steps: NDArray[np.int16]
    """(64,): the steps by frequency, 0 for those that say nothing."""


def no_traces() -> Traces:
    """Return what is known where there is nothing to know."""
    return Traces(
        masks=np.empty(0, np.uint64),
        phases=np.empty((0, MOST_PLAUSIBLE), np.int8),
        starts=np.empty(0, np.int32),
        shares=np.empty((0, 0), np.int8),
        legible=np.empty(0, np.uint8),
        steps=np.empty(0, np.int16),
    )


@kernel
def _broken_blocks(shares, legible, steps, row, other):
    """How much of the blocks that two rows of shares belong to is broken: for each 0 if it is whole, up to 1.

    The compiler turns what is widened to 32 bits, multiplied and added up there, into vector instructions.
    """
    both = np.int64(legible[row] & legible[other])
    broken = np.int64(0)
    for block in range(shares.shape[1] // COEFFICIENTS):
        if both >> block & 1:
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
    masks, phases, starts, shares, legible, steps = traces
    if masks[side] & masks[other] == 0:
        return MISFIT
    least = np.inf
    for i in range(MOST_PLAUSIBLE):
        for j in range(MOST_PLAUSIBLE):
            if phases[side, i] >= 0 and phases[side, i] == phases[other, j]:
                least = min(least, _broken_blocks(shares, legible, steps, starts[side] + i, starts[other] + j))
    return 0.0 if least == np.inf else min(MISFIT, BROKEN_BLOCK * least)
