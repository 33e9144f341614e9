"""Traces of JPEG at sides of pieces: what is known of a side, and what a pair's broken blocks cost.

How sides come by it is in `traces`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._access import prefetch
from .._jit import inlined, kernel

BLOCK = 8
COEFFICIENTS = BLOCK * BLOCK
# How many of a block's coefficients are kept of colour: a vector of the lowest.
COLOUR_COEFFICIENTS = 16
# In how many phases a side is compared; one with more is flat.
MOST_PLAUSIBLE = 4
NOTHING, DROPPED = 255, 254
# The phase of a seam of which none is known.
UNKNOWN = -1
# What is in which column of `Traces.keys`.
MASK, NUMBERS, FIRST, LEGIBLE = 0, 1, 2, 3
KEYS_SIZE = 4 * 8
# What is in which column of `Plane.edges`, which are half a cache line each: longer sides are known in part.
LONGEST = 15
LEGIBLE_EDGE = 2 * LONGEST
EDGE = 32
# Parts of a step in which a side's share of a coefficient is kept: in 8 bits whole steps are left out.
PARTS, HALF, FOUR, ONE = np.int16(256), np.int16(128), np.int16(4), np.int16(1)
SQUARED = 256
# Squared levels that rounding leaves in a whole block at most, nearly always; and what is left in one that is none. Of
# brightness, and of colour, of which fewer coefficients count.
WHOLE, BROKEN = 7, 27
WHOLE_COLOUR, BROKEN_COLOUR = 3, 8
# What a broken block adds to the sum of squares of a seam, and what all of them do at most. A true seam's sum is some
# hundreds.
BROKEN_BLOCK = 1000.0
MISFIT = 3000.0


class Plane(NamedTuple):
    """What is known of the blocks of brightness or colour that sides cut. Sides are numbered 4 * piece + direction.

    A phase is where a piece's corner lies in a block. Sides can meet if they agree on the phase of the right or lower
    piece of the two. All arrays are of no rows where a puzzle has no traces.
    """

    keys: NDArray[np.uint64]
    """(sides, 4), half a cache line each:
    MASK, the phases that are plausible, a bit each;
    NUMBERS, their numbers, a byte each, DROPPED for one that is no longer plausible, NOTHING behind them, and instead
    of all if there are more than MOST_PLAUSIBLE;
    FIRST, the row of `shares` for the first of them, which those for the others follow;
    LEGIBLE, a byte for each of these rows: a bit for each block that the side cuts and that is not clipped there."""
    shares: NDArray[np.int8]
    """(rows, coefficients * blocks): what a side's part of each block that it cuts adds to the coefficients, in 256ths
    of a step, whole steps left out."""
    steps: NDArray[np.int16]
    """(coefficients,): the steps by frequency, 0 for those that say nothing."""
    limits: NDArray[np.int64]
    """(2,): the squared levels that a whole block is off at most, and one that is broken."""
    size: NDArray[np.int64]
    """(2,): the rows and columns of samples of a piece."""
    phases: NDArray[np.int64]
    """(n, 2): the possible phases: the row and the column of a block in which a corner lies."""
    between: NDArray[np.uint64]
    """(2,): the phases whose seams lie between blocks, a bit each: seams to the right or left, and down or up."""
    edges: NDArray[np.int8]
    """(sides, EDGE): of colour, its whole levels along the side, LONGEST of each kind and zeros behind them, and a bit
    for each kind that is not clipped there in LEGIBLE_EDGE."""
    evidence: NDArray[np.float32]
    """(2, pieces, n): how many whole blocks of a piece are broken if it is of that phase, and how many there are."""


class Traces(NamedTuple):
    """What compression left at the sides.

    Blocks of colour are twice as wide and high as those of brightness, so seams that lie between these may cut them.
    """

    brightness: Plane
    colour: Plane
    numbers: NDArray[np.int64]
    """(2, n): for each phase of the larger of both blocks, those of which there is anything known, its number among
    those of brightness and of colour, UNKNOWN where nothing is known of these."""


def no_plane() -> Plane:
    """Return what is known where there is nothing to know."""
    return Plane(
        keys=np.empty((0, 4), np.uint64),
        shares=np.empty((0, 0), np.int8),
        steps=np.empty(0, np.int16),
        limits=np.zeros(2, np.int64),
        size=np.zeros(2, np.int64),
        phases=np.empty((0, 2), np.int64),
        between=np.zeros(2, np.uint64),
        edges=np.empty((0, EDGE), np.int8),
        evidence=np.empty((2, 0, 0), np.float32),
    )


def no_traces() -> Traces:
    """Return the same of brightness and colour."""
    return traces_of(no_plane(), no_plane())


def traces_of(brightness: Plane, colour: Plane) -> Traces:
    """Return what is known of both kinds of blocks together."""
    count = len((colour if len(colour.keys) > 0 else brightness).phases)
    numbers = np.full((2, count), UNKNOWN)
    if len(colour.keys) > 0:
        numbers[1] = np.arange(count)
        if len(brightness.keys) > 0:
            numbers[0] = number_of_phases(brightness.phases)[tuple((2 * colour.phases % BLOCK).T)]
    else:
        numbers[0] = np.arange(count)
    return Traces(brightness, colour, numbers)


def number_of_phases(phases: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of the phases by row and column, -1 for others."""
    number = np.full((BLOCK, BLOCK), -1)
    number[phases[:, 0], phases[:, 1]] = np.arange(len(phases))
    return number


@inlined
def byte_of(word, index):
    """One of the eight bytes of a number."""
    return np.int64(word >> np.uint64(8 * index) & np.uint64(255))


@kernel
def broken_blocks(plane, row, other, legible):
    """How much of the blocks that two rows of shares belong to is broken: for each legible 0 if it is whole, up to 1.

    The compiler turns what is widened to 32 bits, multiplied and added up there, into vector instructions.
    """
    shares, steps = plane.shares, plane.steps
    whole, most = SQUARED * plane.limits[0], SQUARED * (plane.limits[1] - plane.limits[0])
    broken = np.int64(0)
    for block in range(shares.shape[1] // len(steps)):
        if legible >> block & 1:
            rest = np.int32(0)  # In 256ths of a squared level.
            for k in range(len(steps)):
                at = np.uint64(block * len(steps) + k)
                parts = np.int16(np.int16(shares[row, at]) + np.int16(shares[other, at]) + HALF)
                off = np.int16(np.int16(parts & (PARTS - ONE)) - HALF)
                sixteenths = np.int16(np.int16(off * steps[np.uint64(k)]) >> FOUR)
                rest = np.int32(rest + np.int32(sixteenths) * np.int32(sixteenths))
            broken += min(max(np.int64(rest) - whole, np.int64(0)), most)
    return broken / most


@inlined
def common_phases(plane, side, other, phase):
    """The phases that are plausible for both of two sides, a bit each: none but `phase`, unless it is UNKNOWN."""
    common = plane.keys[side, MASK] & plane.keys[other, MASK]
    return common if phase == UNKNOWN else common & np.uint64(1) << np.uint64(phase)


@kernel
def broken_between(plane, side, other, phase):
    """How many blocks that two sides cut are broken: in the phase plausible for both that leaves the fewest so.

    That is `phase` if it is not UNKNOWN; if it is not plausible for both, all are.
    """
    keys = plane.keys
    if len(keys) == 0:
        return 0.0
    if common_phases(plane, side, other, phase) == 0:
        return np.inf
    least = np.inf
    for i in range(MOST_PLAUSIBLE):
        number = byte_of(keys[side, NUMBERS], i)
        if number == NOTHING:
            break
        if number == DROPPED or phase not in (UNKNOWN, number):
            continue
        for j in range(MOST_PLAUSIBLE):
            if byte_of(keys[other, NUMBERS], j) == number:
                legible = byte_of(keys[side, LEGIBLE], i) & byte_of(keys[other, LEGIBLE], j)
                row, other_row = np.int64(keys[side, FIRST]) + i, np.int64(keys[other, FIRST]) + j
                least = min(least, broken_blocks(plane, row, other_row, legible))
                if least == 0:
                    return least
    return 0.0 if least == np.inf else least


@kernel
def changed_between(plane, side, other, phase):
    """How many of the two colours change somewhere across a seam that cuts their blocks, less how many do between.

    In flat pieces they hardly ever change but where blocks end. If the seam may be of either kind none do.
    """
    edges = plane.edges
    if len(edges) == 0:
        return 0
    common, between = common_phases(plane, side, other, phase), plane.between[side & 1]
    if common & between != 0 and common & ~between != 0:
        return 0
    legible = np.int64(edges[side, LEGIBLE_EDGE] & edges[other, LEGIBLE_EDGE])
    changed = np.int64(0)
    for channel in range(2):
        differ = np.int8(0)
        for index in range(LONGEST):
            at = np.uint64(channel * LONGEST + index)
            differ |= np.int8(edges[side, at] ^ edges[other, at])
        changed += np.int64(differ != 0) & legible >> channel & 1
    return changed if common & between == 0 else -changed


@inlined
def fetch_keys(plane, side, other):
    """Ask for what is read first of two sides."""
    if len(plane.keys) > 0:
        prefetch(plane.keys, side, KEYS_SIZE)
        prefetch(plane.keys, other, KEYS_SIZE)
    if len(plane.edges) > 0:
        prefetch(plane.edges, side, EDGE)
        prefetch(plane.edges, other, EDGE)


@inlined
def fetch_shares(plane, side, other):
    """Ask for what is read next: their shares in the first phase, which is the only one of most."""
    keys, shares = plane.keys, plane.shares
    if len(keys) > 0 and keys[side, MASK] & keys[other, MASK] != 0:
        prefetch(shares, np.int64(keys[side, FIRST]), shares.shape[1])
        prefetch(shares, np.int64(keys[other, FIRST]), shares.shape[1])


@inlined
def number_of(traces, plane, phase):
    """The number of a phase in a plane, 0 or 1; UNKNOWN if either is not known."""
    return UNKNOWN if phase == UNKNOWN else traces.numbers[plane, phase]


@kernel
def misfit(traces, side, other, phase):
    """What traces add to the sum of squares of two sides."""
    broken = broken_between(traces.brightness, side, other, number_of(traces, 0, phase))
    if BROKEN_BLOCK * broken < MISFIT:
        broken += broken_between(traces.colour, side, other, number_of(traces, 1, phase))
    return min(MISFIT, BROKEN_BLOCK * broken)
