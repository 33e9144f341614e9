"""Patterns: what blocks of a compressed picture look like, and what they look like if they are none.

In a sky most blocks are of one colour, and the next one is a level brighter or darker. So where pixels change tells
where blocks end, though each single change may be one within a block. How likely a pattern of changes is in a block, or
in the part of one that a piece has, and how likely it is in what is cut elsewhere, is learned from the puzzle itself:
from pieces whose phase is known beyond doubt.
"""

import numpy as np
from numpy.typing import NDArray

from .._jit import inlined, kernel
from ..images import Pixels
from .phases import keep_likely
from .planes import BLUE, RED, Undoing, clipped_within, planes_of, undo, undoing_of
from .trace_costs import BLOCK

# A pattern says for each axis where the only line is along which pixels change, if any, or that there are two, or more;
# and by how many levels pixels differ at most, up to a limit.
TWO, MORE = BLOCK, BLOCK + 1
LINES = BLOCK + 2
RANGES = 3
# Pieces are of several kinds: nothing is clipped in them, only red, or only blue. By so much blue and red differ from
# green more than the colours that JPEG keeps, which are differences from brightness.
KINDS, NO_KIND = 3, 3
BEYOND_GREEN = 2.116
# Along an axis a part of a block is known by where it begins within the block, or else by its length: one of these.
PARTS = 2 * BLOCK
# From how many pieces patterns are learned, at most and at least; and how many parts are taken for seen of each kind,
# with all patterns as often as in both together: what was hardly ever seen says nothing. Few lessons mislead: with some
# hundreds 13 pieces of a picture of 540 lost their true phase.
MOST_LESSONS, FEWEST_LESSONS = 16384, (1000, 4000, 4000)
SPREAD = 7919
PRIOR = 5.0
# What patterns of one piece say is not independent: how much that counts, of brightness and of colour.
OF_BRIGHTNESS, OF_COLOUR = 1.0, 0.85
# And how much it does by the kind of pieces.
OF_KIND = (1.0, 0.5, 0.5)
# Logarithms are rounded to so many parts, so that every machine computes the same.
FINE_LOGARITHMS = 256


def unlikely_patterns(
    pieces: Pixels,
    undoing: Undoing,
    phases: NDArray[np.int64],
    plausible: NDArray[np.uint64],
) -> NDArray[np.float32]:
    """Return how much less likely than the best each phase is by a piece's patterns: (pieces, phases), logarithms.

    The best is that of those that are `plausible` so far, a bit for each phase. Nothing is told of pieces with a single
    one, nor where too much is clipped, nor if there are too few to learn from.
    """
    unlikely = np.zeros((len(pieces), len(phases)), dtype=np.float32)
    if len(phases) == 1:
        return unlikely
    kinds = kinds_of(pieces)
    seen = np.zeros((KINDS, 2 if undoing.halves else 1, 2, PARTS, PARTS, LINES, LINES, RANGES), dtype=np.int64)
    weights = np.zeros(KINDS)
    for kind in range(KINDS):
        known = np.flatnonzero((np.bitwise_count(plausible) == 1) & ((kinds == kind) | (kinds == 0)))
        if len(known) >= FEWEST_LESSONS[kind]:
            weights[kind] = (OF_COLOUR if undoing.halves else OF_BRIGHTNESS) * OF_KIND[kind]
            count_patterns(pieces, undoing, phases, plausible, kind, _some_of(known), seen[kind])
        else:
            kinds[kinds == kind] = NO_KIND
    find_unlikely(pieces, undoing, phases, plausible, kinds, _learned(seen, weights), unlikely)
    return unlikely


def compile_patterns(pieces: Pixels) -> None:
    """Compile what only puzzles with many pieces need, with some."""
    height, width = pieces.shape[1:3]
    nothing = np.empty((0, 0))
    phases, plausible = np.array([(0, 0), (4, 4)]), np.full(len(pieces), 3, dtype=np.uint64)
    for undoing in (Undoing(nothing, nothing), Undoing(undoing_of(height), np.ascontiguousarray(undoing_of(width).T))):
        seen = np.zeros((KINDS, 2, 2, PARTS, PARTS, LINES, LINES, RANGES), dtype=np.int64)
        count_patterns(pieces, undoing, phases, plausible, 0, np.arange(len(pieces)), seen[0])
        unlikely = np.zeros((len(pieces), len(phases)), dtype=np.float32)
        find_unlikely(pieces, undoing, phases, plausible, kinds_of(pieces), _learned(seen, np.ones(KINDS)), unlikely)
        keep_likely(unlikely, plausible)


def _some_of(pieces: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return at most as many as make lessons, from everywhere: not every second one, which may all have one phase."""
    return pieces[np.arange(min(len(pieces), MOST_LESSONS)) * SPREAD % len(pieces)]


def _learned(seen: NDArray[np.int64], weights: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return how much more likely a pattern is in a block than elsewhere, as a logarithm.

    `seen` is how often it was seen elsewhere, and in blocks: the third axis, which is gone in what is returned. A part
    of one colour says nothing, whatever lessons with texture say: so a piece of one colour has no phase.
    """
    both = seen.sum(axis=2)
    share = both / np.maximum(both.sum(axis=(-3, -2, -1), keepdims=True), 1)
    elsewhere, in_blocks = (seen[:, :, whole] + PRIOR * share for whole in range(2))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = in_blocks / in_blocks.sum(axis=(-3, -2, -1), keepdims=True)
        ratio /= elsewhere / elsewhere.sum(axis=(-3, -2, -1), keepdims=True)
        says = np.where(both > 0, np.log(ratio), 0.0) * weights.reshape(-1, 1, 1, 1, 1, 1, 1)
    says = np.where(both > 0, says - says[..., :1, :1, :1], 0.0)
    return (np.rint(FINE_LOGARITHMS * says) / FINE_LOGARITHMS).astype(np.float32)


@inlined
def part_of_block(begin, length):
    """The number of a part of a block along an axis: where it begins, or else its length, behind those."""
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
def pattern_of(levels, top, left):
    """Which part a piece has of the block at (top, left), by its rows and columns, and the pattern of its samples."""
    begin, end = max(-top, 0), min(BLOCK, levels.shape[0] - top)
    first, last = max(-left, 0), min(BLOCK, levels.shape[1] - left)
    lowest = highest = levels[top + begin, left + first]
    down = across = np.int64(0)
    for y in range(begin, end):
        for x in range(first, last):
            level = levels[top + y, left + x]
            lowest, highest = min(lowest, level), max(highest, level)
            if y > begin and level != levels[top + y - 1, left + x]:
                down |= np.int64(1) << y
            if x > first and level != levels[top + y, left + x - 1]:
                across |= np.int64(1) << x
    apart = min(max(highest - lowest - 1, 0), RANGES - 1)
    rows, columns = part_of_block(begin, end - begin), part_of_block(first, last - first)
    return rows, columns, lines_of(down), lines_of(across), apart


@inlined
def kind_of(piece):
    """The kind of a piece by what is clipped in it: nothing, red or blue; NO_KIND if others are, or several."""
    clipped = clipped_within(piece, 0, piece.shape[0], 0, piece.shape[1])
    if clipped == 0:
        return 0
    if piece.shape[2] == 1 or clipped not in (RED, BLUE):
        return NO_KIND
    return 1 if clipped == RED else 2


@kernel
def kinds_of(pieces):
    """The kinds of all pieces."""
    kinds = np.empty(len(pieces), np.int64)
    for piece in range(len(pieces)):
        kinds[piece] = kind_of(pieces[piece])
    return kinds


@kernel
def levels_of(piece, kind, undoing):
    """The planes of a piece in whole levels. Where red or blue are clipped, brightness and colours are not known.

    But green changes with the brightness then, and by how much it differs from what is not clipped, with the colours.
    """
    if kind == 0:
        return np.rint(planes_of(piece, undoing)).astype(np.int64)
    height, width = piece.shape[:2]
    levels = np.empty((height, width))
    other = 2 if kind == 1 else 0
    for y in range(height):
        for x in range(width):
            green = np.float64(piece[y, x, 1])
            levels[y, x] = green if len(undoing.down) == 0 else (np.float64(piece[y, x, other]) - green) / BEYOND_GREEN
    if len(undoing.down) == 0:
        return levels.astype(np.int64).reshape((1, height, width))
    samples = np.empty((1, len(undoing.down), undoing.across.shape[1]))
    undo(levels, undoing, samples[0])
    return np.rint(samples).astype(np.int64)


@kernel
def count_patterns(pieces, undoing, phases, plausible, kind, lessons, seen):
    """Count the patterns of some pieces whose phase is known: in what is cut elsewhere, and in blocks."""
    for piece in lessons:
        planes = levels_of(pieces[piece], kind, undoing)
        channels, height, width = planes.shape
        for index in range(len(phases)):
            whole = np.int64(plausible[piece] >> np.uint64(index) & np.uint64(1))
            for top in range(-phases[index, 0], height, BLOCK):
                for left in range(-phases[index, 1], width, BLOCK):
                    for channel in range(channels):
                        rows, columns, down, across, apart = pattern_of(planes[channel], top, left)
                        seen[channel, whole, rows, columns, down, across, apart] += 1


@kernel
def find_unlikely(pieces, undoing, phases, plausible, kinds, says, unlikely):
    """Find how unlikely the phases are that are plausible for a piece, if there are several, by what patterns say."""
    for piece in range(len(pieces)):
        mask = plausible[piece]
        kind = kinds[piece]
        if mask & (mask - np.uint64(1)) == 0 or kind == NO_KIND:
            continue
        planes = levels_of(pieces[piece], kind, undoing)
        channels, height, width = planes.shape
        least = np.float32(np.inf)
        for index in range(len(phases)):
            total = np.float32(0)
            for top in range(-phases[index, 0], height, BLOCK):
                for left in range(-phases[index, 1], width, BLOCK):
                    for channel in range(channels):
                        rows, columns, down, across, apart = pattern_of(planes[channel], top, left)
                        total -= says[kind, channel, rows, columns, down, across, apart]
            unlikely[piece, index] = total
            if mask >> np.uint64(index) & np.uint64(1):
                least = min(least, total)
        for index in range(len(phases)):
            unlikely[piece, index] = max(unlikely[piece, index] - least, np.float32(0))
