"""Patterns: what blocks of a compressed picture look like, and what they look like if they are none.

In a sky most blocks are of one colour, and the next one is a level brighter or darker. So where pixels change tells where
blocks end, though each single change may be one within a block. How likely a pattern of changes is in a block, or in the
part of one that a piece has, and how likely it is in a part that is cut elsewhere, is learned from the puzzle itself:
from pieces whose phase is known beyond doubt.
"""

import numpy as np
from numpy.typing import NDArray

from .._jit import inlined, kernel
from ..images import Pixels
from .planes import Undoing, is_clipped, planes_of
from .trace_costs import BLOCK

# A pattern says for each axis where the only line is along which pixels change, if any, or that there are two, or more;
# and by how many levels pixels differ at most, up to a limit.
TWO, MORE = BLOCK, BLOCK + 1
LINES = BLOCK + 2
RANGES = 3
# Along an axis a part of a block is known by where it begins within the block, or else by its length: one of these.
PARTS = 2 * BLOCK
# From how many pieces patterns are learned, at most and at least; and how many parts are taken for seen of each kind, as
# often in blocks as elsewhere: what was hardly ever seen says nothing.
MOST_LESSONS, FEWEST_LESSONS = 8192, 32
PRIOR = 5.0
# What patterns of one piece say is not independent: how much that counts, of brightness and of colour.
OF_BRIGHTNESS, OF_COLOUR = 1.0, 0.65
# Logarithms are rounded to so many parts, so that every machine computes the same.
FINE_LOGARITHMS = 256


def unlikely_patterns(
    pieces: Pixels,
    undoing: Undoing,
    phases: NDArray[np.int64],
    plausible: NDArray[np.uint64],
    sound: NDArray[np.bool_],
) -> NDArray[np.float32]:
    """Return how much less likely than the best each phase is by a piece's patterns: (pieces, phases), logarithms.

    It is told of those that are `plausible` so far, a bit for each phase, and zero elsewhere. Parts with clipped colours
    count only in a piece that is `sound`. Nothing is learned where too few pieces have a single phase.
    """
    unlikely = np.zeros((len(pieces), len(phases)), dtype=np.float32)
    known = np.flatnonzero(np.bitwise_count(plausible) == 1)
    if len(phases) > 1 and len(known) >= FEWEST_LESSONS:
        seen = np.zeros((2 if undoing.halves else 1, 2, PARTS, PARTS, LINES, LINES, RANGES), dtype=np.int64)
        lessons = known[:: -(-len(known) // MOST_LESSONS)]
        count_patterns(pieces, undoing, phases, plausible, sound, lessons, seen)
        says = _learned(seen, OF_COLOUR if undoing.halves else OF_BRIGHTNESS)
        find_unlikely(pieces, undoing, phases, plausible, sound, says, unlikely)
    return unlikely


def _learned(seen: NDArray[np.int64], weight: float) -> NDArray[np.float32]:
    """Return how much more likely a pattern is in a block than elsewhere: (channels, parts, parts, lines, lines, ranges).

    `seen` is how often it was seen elsewhere, and in blocks.
    """
    both = seen.sum(axis=1)
    share = both / np.maximum(both.sum(axis=(3, 4, 5), keepdims=True), 1)
    elsewhere, in_blocks = (seen[:, kind] + PRIOR * share for kind in range(2))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = in_blocks / in_blocks.sum(axis=(3, 4, 5), keepdims=True)
        ratio /= elsewhere / elsewhere.sum(axis=(3, 4, 5), keepdims=True)
        says = np.where(both > 0, np.log(ratio), 0.0)
    return (np.rint(FINE_LOGARITHMS * weight * says) / FINE_LOGARITHMS).astype(np.float32)


@inlined
def part_of_block(begin, length):
    """The number of a part of a block along an axis, by where it begins, or by its length if it begins with the block."""
    return begin if begin > 0 else BLOCK + length - 1


@inlined
def lines_of(changes):
    """What an axis' part of a pattern is, given the lines along which pixels change, a bit each."""
    if changes == 0:
        return 0
    if changes & (changes - 1) != 0:
        return TWO if changes & (changes - 1) & ((changes & (changes - 1)) - 1) == 0 else MORE
    line = 0
    while changes >> line & 1 == 0:
        line += 1
    return line


@inlined
def pattern_of(levels, top, bottom, left, right, begin_down, begin_across):
    """The pattern of the samples of a part of a block, which begins so far down and across in it."""
    lowest = highest = levels[top, left]
    across = down = np.int64(0)
    for y in range(top, bottom):
        for x in range(left, right):
            level = levels[y, x]
            lowest, highest = min(lowest, level), max(highest, level)
            if x > left and level != levels[y, x - 1]:
                across |= np.int64(1) << (begin_across + x - left)
            if y > top and level != levels[y - 1, x]:
                down |= np.int64(1) << (begin_down + y - top)
    return lines_of(down), lines_of(across), min(max(highest - lowest - 1, 0), RANGES - 1)


@inlined
def has_clipped(piece):
    """Whether a colour of a piece is as dark or as bright as can be somewhere."""
    for value in piece.flat:
        if value in (0, 255):
            return True
    return False


@inlined
def levels_of(piece, undoing):
    """The planes of a piece in whole levels."""
    return np.rint(planes_of(piece, undoing)).astype(np.int64)


@kernel
def count_patterns(pieces, undoing, phases, plausible, sound, lessons, seen):
    """Count the patterns of some pieces, whose phase is known: elsewhere, which is in all other phases, and in blocks."""
    for piece in lessons:
        planes = levels_of(pieces[piece], undoing)
        channels, height, width = planes.shape
        scale = pieces.shape[1] // height
        clipped = not sound[piece] and has_clipped(pieces[piece])
        for index in range(len(phases)):
            kind = np.int64(plausible[piece] >> np.uint64(index) & np.uint64(1))
            for top in range(-phases[index, 0], height, BLOCK):
                for left in range(-phases[index, 1], width, BLOCK):
                    y, bottom, x, right = max(top, 0), min(top + BLOCK, height), max(left, 0), min(left + BLOCK, width)
                    rows, columns = part_of_block(y - top, bottom - y), part_of_block(x - left, right - x)
                    for channel in range(channels):
                        if not (clipped and is_clipped(pieces[piece], top, left, scale, channel)):
                            down, across, apart = pattern_of(planes[channel], y, bottom, x, right, y - top, x - left)
                            seen[channel, kind, rows, columns, down, across, apart] += 1


@kernel
def find_unlikely(pieces, undoing, phases, plausible, sound, says, unlikely):
    """Find how unlikely the phases are that are plausible for a piece, if there are several, by what patterns say."""
    for piece in range(len(pieces)):
        mask = plausible[piece]
        if mask & (mask - np.uint64(1)) == 0:
            continue
        planes = levels_of(pieces[piece], undoing)
        channels, height, width = planes.shape
        scale = pieces.shape[1] // height
        clipped = not sound[piece] and has_clipped(pieces[piece])
        most = np.float32(-np.inf)
        for index in range(len(phases)):
            if mask >> np.uint64(index) & np.uint64(1) == 0:
                continue
            total = np.float32(0)
            for top in range(-phases[index, 0], height, BLOCK):
                for left in range(-phases[index, 1], width, BLOCK):
                    y, bottom, x, right = max(top, 0), min(top + BLOCK, height), max(left, 0), min(left + BLOCK, width)
                    rows, columns = part_of_block(y - top, bottom - y), part_of_block(x - left, right - x)
                    for channel in range(channels):
                        if not (clipped and is_clipped(pieces[piece], top, left, scale, channel)):
                            down, across, apart = pattern_of(planes[channel], y, bottom, x, right, y - top, x - left)
                            total += says[channel, rows, columns, down, across, apart]
            unlikely[piece, index] = -total
            most = max(most, total)
        for index in range(len(phases)):
            if mask >> np.uint64(index) & np.uint64(1):
                unlikely[piece, index] += most
