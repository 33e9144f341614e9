"""Phases: where the corners of pieces lie in the blocks of a compressed picture.

A piece of a sky often has too little in it to tell its phase. But where a seam cuts blocks and two sides complete them,
they are partners beyond doubt; so groups of pieces are known that lie between blocks, and a group is told by all its
pieces. Phases of colour repeat after four pieces of 28 pixels, so that a side can meet one in sixteen then.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._access import uncounted
from .._jit import inlined, kernel
from .segments import connect
from .trace_costs import (
    BLOCK,
    DROPPED,
    FIRST,
    LEGIBLE,
    MASK,
    MOST_PLAUSIBLE,
    NOTHING,
    NUMBERS,
    UNKNOWN,
    Plane,
    Traces,
    broken_between,
    broken_blocks,
    byte_of,
    number_of_phases,
)

# How many blocks more must be broken before a phase is out of the question, and which share may be in the best one.
CLEAR = 0.75
# The same of a piece that is in no group, whose patterns alone are wrong more often.
CLEAR_ALONE = 1.25
MOSTLY_WHOLE = 0.25
# How many when pieces are told by themselves, patterns included: so many that it is nearly never wrong.
BEYOND_DOUBT = 2.0
# Natural logarithms by which patterns are less likely that are as good as a broken block.
A_BLOCK = 4.0
# More than this is not left of blocks that two sides complete.
COMPLETE = 0.1


def codes_of(phases: NDArray[np.int64], size: Any) -> NDArray[np.int64]:
    """Return (n, 4): the number of the phase of the right or lower piece at each side of a piece of each phase."""
    number = number_of_phases(phases)
    height, width = size
    beside = np.stack([(phases + step) % BLOCK for step in ((0, width), (height, 0), (0, 0), (0, 0))], axis=1)
    return number[beside[:, :, 0], beside[:, :, 1]]


def between_blocks(phases: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return (2,): the phases of which a piece begins with a block, a bit each, across and down."""
    bits = np.uint64(1) << np.arange(len(phases), dtype=np.uint64)
    return np.array([np.bitwise_or.reduce(bits[phases[:, 1 - axis] == 0], initial=np.uint64(0)) for axis in range(2)])


def side_masks(plausible: NDArray[np.uint64], codes: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return (pieces, 4): what is plausible for pieces as their sides see it (see `codes_of`)."""
    masks = np.zeros((len(plausible), 4), dtype=np.uint64)
    for index, code in enumerate(codes):
        masks |= (plausible >> np.uint64(index) & np.uint64(1))[:, np.newaxis] << code.astype(np.uint64)
    return masks


class Groups(NamedTuple):
    """Groups of pieces that lie together beyond doubt."""

    links: NDArray[np.int32]
    """(pieces, 4): the piece of the same group at each side, or -1."""
    of: NDArray[np.int32]
    """(pieces,): the group of a piece, and where it lies in it."""
    rows: NDArray[np.int32]
    columns: NDArray[np.int32]


def cut_sides(plane: Plane, sides: int) -> NDArray[np.bool_]:
    """Return which sides cut blocks that can be read, whichever of their plausible phases is true."""
    if len(plane.keys) == 0:
        return np.zeros(sides, dtype=np.bool_)
    numbers, legible = (plane.keys[:, column].copy().view(np.uint8).reshape(-1, 8) for column in (NUMBERS, LEGIBLE))
    plausible = numbers < DROPPED
    return np.asarray(plausible.any(axis=1) & ((legible > 0) | ~plausible).all(axis=1))


def share_of_several(traces: Traces) -> float:
    """Return the share of pieces that may be of several phases of colour; zero if groups cannot be told, either."""
    if len(traces.colour.keys) == 0 or len(traces.brightness.keys) == 0:
        return 0.0
    return float((np.bitwise_count(traces.colour.keys[::4, MASK]) > 1).mean())


def narrowed(traces: Traces, partners: NDArray[np.int32]) -> Traces:
    """Return the traces with fewer phases of colour, as groups tell; partners are (pieces, 4), -1 for none."""
    colour = traces.colour
    groups = Groups(np.full_like(partners, -1), *(np.empty(len(partners), dtype=np.int32) for _ in range(3)))
    find_links(traces.brightness, partners, groups.links)
    count = connect(*groups)
    codes, number = codes_of(colour.phases, colour.size), number_of_phases(colour.phases)
    totals, least = np.zeros((2, count, len(codes))), np.zeros(count)
    add_evidence(colour, codes, number, groups, totals, least)
    plausible = colour.keys[2::4, MASK].copy()  # At a left side a piece is the right one of the two.
    narrow(colour, number, groups, totals, least, plausible)
    smaller = _of_smaller(colour.phases, traces.brightness, plausible)
    return traces._replace(brightness=_with_phases(traces.brightness, smaller), colour=_with_phases(colour, plausible))


def closed_links(plane: Plane, partners: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the partners that complete blocks with each other, four in a square: few of those are wrong."""
    links = np.full_like(partners, -1)
    find_links(plane, partners, links)
    closing, here = np.zeros(links.shape, dtype=np.bool_), np.arange(len(links))
    for direction in range(4):
        after = (direction + 1) % 4
        one, two = links[here, direction], links[here, after]
        corner = links[one, after]
        closed = (one >= 0) & (two >= 0) & (corner >= 0) & (corner == links[two, direction])
        for start, way in ((here, direction), (here, after), (one, after), (two, direction)):
            closing[start[closed], way] = closing[links[start[closed], way], way ^ 2] = True
    return np.where(closing, links, np.int32(-1))


def _of_smaller(phases: NDArray[np.int64], plane: Plane, plausible: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return which phases of the blocks of a plane are plausible, given those of blocks twice as large."""
    number = number_of_phases(plane.phases)
    smaller = np.zeros_like(plausible)
    for index, (row, column) in enumerate(2 * phases % BLOCK):
        if number[row, column] >= 0:
            smaller |= (plausible >> np.uint64(index) & np.uint64(1)) << np.uint64(number[row, column])
    return smaller & plane.keys[2::4, MASK]


def _with_phases(plane: Plane, plausible: NDArray[np.uint64]) -> Plane:
    """Return a plane with fewer phases; where none is left, with those that it has."""
    own = plane.keys[2::4, MASK]  # At a left side a piece is the right one of the two.
    keys = plane.keys.copy()
    keys[:, MASK] = side_masks(np.where(plausible > 0, plausible, own), codes_of(plane.phases, plane.size)).ravel()
    drop(keys)
    return plane._replace(keys=keys)


@kernel
def find_links(plane, partners, links):
    """Keep the partners that complete blocks with each other that their sides cut."""
    plane = uncounted(plane)
    for piece in range(len(partners)):
        for direction in range(2):
            other = partners[piece, direction]
            if other >= 0:
                side, facing = 4 * piece + direction, 4 * np.int64(other) + direction + 2
                legible = plane.keys[side, LEGIBLE] != 0 and plane.keys[facing, LEGIBLE] != 0
                if legible and broken_between(plane, side, facing, UNKNOWN) < COMPLETE:
                    links[piece, direction], links[other, direction + 2] = other, piece


@inlined
def not_refuted(broken, blocks, clear):
    """The phases in which few blocks more are broken than in the best, none if that is not mostly whole; its share."""
    least, share = np.inf, 1.0
    for index in range(len(broken)):
        if blocks[index] > 0 and broken[index] < least:
            least, share = broken[index], broken[index] / blocks[index]
    mask = np.uint64(0)
    if share <= MOSTLY_WHOLE:
        for index in range(len(broken)):
            if broken[index] < least + clear:
                mask |= np.uint64(1) << np.uint64(index)
    return mask, share


@kernel
def keep_likely(broken, plausible):
    """Keep of what is plausible for pieces the phases in which few blocks more are broken than in the best of them."""
    for piece in range(len(plausible)):
        likely, least = np.uint64(0), np.float32(np.inf)
        for index in range(broken.shape[1]):
            if plausible[piece] >> np.uint64(index) & np.uint64(1):
                least = min(least, broken[piece, index])
        for index in range(broken.shape[1]):
            if broken[piece, index] < least + BEYOND_DOUBT:
                likely |= np.uint64(1) << np.uint64(index)
        plausible[piece] &= likely


@kernel
def add_evidence(plane, codes, number, groups, totals, least):
    """Add up how many blocks are broken in each group, and how many there are, by the phase of its first piece.

    These are the blocks that pieces have, and those that seams within the group cut. `least` gets how many would be
    broken if each piece were of the phase that is best for itself.
    """
    plane, beside = uncounted(plane), np.empty((2, len(codes)))
    for piece in range(len(groups.of)):
        group = groups.of[piece]
        least[group] += plane.evidence[0, piece].min()
        for index in range(len(codes)):
            totals[:, group, index] += plane.evidence[:, piece, phase_of(plane, number, groups, piece, index)]
        for direction in range(2):
            if groups.links[piece, direction] >= 0:
                find_evidence(plane, 4 * piece + direction, groups.links[piece, direction], beside)
                for index in range(len(codes)):
                    code = codes[phase_of(plane, number, groups, piece, index), direction]
                    totals[:, group, index] += beside[:, code]


@inlined
def phase_of(plane, number, groups, piece, first):
    """The number of a piece's phase if that of the first piece of its group is known."""
    row = plane.phases[first, 0] + groups.rows[piece] * plane.size[0]
    column = plane.phases[first, 1] + groups.columns[piece] * plane.size[1]
    return number[row % BLOCK, column % BLOCK]


@kernel
def find_evidence(plane, side, other, beside):
    """Find how many blocks that a seam cuts are broken, and how many there are, by the code of the phase."""
    keys, facing = plane.keys, 4 * np.int64(other) + (side & 3) + 2
    beside[:] = 0
    for i in range(MOST_PLAUSIBLE):
        code = byte_of(keys[side, NUMBERS], i)
        for j in range(MOST_PLAUSIBLE):
            if code < DROPPED and byte_of(keys[facing, NUMBERS], j) == code:
                legible = byte_of(keys[side, LEGIBLE], i) & byte_of(keys[facing, LEGIBLE], j)
                row, other_row = np.int64(keys[side, FIRST]) + i, np.int64(keys[facing, FIRST]) + j
                beside[0, code] = broken_blocks(plane, row, other_row, legible)
                for block in range(8):
                    beside[1, code] += legible >> block & 1


@kernel
def narrow(plane, number, groups, totals, least, plausible):
    """Take from what is plausible for pieces what the evidence of their groups refutes.

    A group is none if no phase is about as good for it as the best of each piece is for that.
    """
    count, phases = totals.shape[1], totals.shape[2]
    masks, sizes = np.zeros(count, np.uint64), np.zeros(count, np.int64)
    for piece in range(len(groups.of)):
        sizes[groups.of[piece]] += 1
    for group in range(count):
        clear = CLEAR if sizes[group] > 1 else CLEAR_ALONE
        if totals[0, group].min() < least[group] + CLEAR:
            masks[group] = not_refuted(totals[0, group], totals[1, group], clear)[0]
    for piece in range(len(groups.of)):
        mask = np.uint64(0)
        for index in range(phases):
            if masks[groups.of[piece]] >> np.uint64(index) & np.uint64(1):
                mask |= np.uint64(1) << np.uint64(phase_of(plane, number, groups, piece, index))
        if plausible[piece] & mask != 0:
            plausible[piece] &= mask


@kernel
def drop(keys):
    """Drop the numbers of phases that the masks have no longer."""
    for side in range(len(keys)):
        for index in range(MOST_PLAUSIBLE):
            code = byte_of(keys[side, NUMBERS], index)
            if code == NOTHING:
                break
            if code != DROPPED and keys[side, MASK] >> np.uint64(code) & np.uint64(1) == 0:
                keys[side, NUMBERS] ^= np.uint64(code ^ DROPPED) << np.uint64(8 * index)
