"""Swaps: two rectangles of pieces that lie in each other's places change them, wherever that is cheaper at once.

What `anneal` and `exchanges` mend is what is in doubt. But two squares of a sky that lie in each other's places may be
in no doubt at all, where wrong partners are named; and a piece whose phase was told wrongly is never brought to its
place. So when nothing else gains, all sides are looked at, doubted or not, of which a candidate would fit better than
what lies there: it changes places with that, and a rectangle of pieces around it with as many around the other.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._access import uncounted
from .._jit import kernel
from ..compatibility.candidates import Compatibility
from ..compatibility.memory import Memory, pair_in, recalled
from ..threads import Threads
from .anneal import OUTSIDE, ROUNDING, Board, cost_as_noted, cost_of_pairs, note_costs
from .patches import widened

# The heights and widths of rectangles, and the longest of them.
LENGTHS = (1, 2, 4)
LONGEST = 4


class Found(NamedTuple):
    """The best swap at the sides of each piece that was looked at."""

    gains: NDArray[np.float64]
    """(n,): what it gains; zero where there is none."""
    corners: NDArray[np.int32]
    """(n, 2): the first cells of both rectangles."""
    sizes: NDArray[np.int32]
    """(n, 2): their height and width."""


class Room(NamedTuple):
    """What a swap is tried with."""

    changed: NDArray[np.int32]
    """(2 * LONGEST^2,): the cells of both rectangles, by turns."""
    marks: NDArray[np.int64]
    """(cells,): those carry the mark of the swap."""
    mark: NDArray[np.int64]
    """(1,): of the last swap."""


def swapped(
    compatibility: Compatibility,
    grid: NDArray[np.int32],
    codes: NDArray[np.int32],
    memory: Callable[[], AbstractContextManager[Memory]],
    least_gain: float,
    threads: Threads,
) -> NDArray[np.int32]:
    """Return the grid, (rows, columns), with swaps made that gain more than `least_gain`.

    First all pieces are looked at, then those near what has changed, until nothing does: what is drawn to a place that
    changed from far away is not looked at again. `codes` are those of the cells (see `memory.pair_in`), and `memory`
    lends one of costs.
    """
    cells = np.pad(grid, 1, constant_values=OUTSIDE)
    places = np.empty(grid.size, dtype=np.int32)
    places[grid.ravel()] = np.flatnonzero(cells != OUTSIDE)
    around = np.pad(codes.reshape(grid.shape), 1).ravel()
    board = Board(cells.ravel(), places, cells.shape[1], around, np.zeros((cells.size, 2), dtype=np.float32))
    with memory() as own:
        note_all_costs(compatibility, board, own)
    pieces = np.arange(grid.size)
    while len(pieces) > 0:
        found = Found(np.zeros(len(pieces)), *np.zeros((2, len(pieces), 2), dtype=np.int32))

        def look(begin: int, end: int, pieces: NDArray[np.int64] = pieces, found: Found = found) -> None:
            with memory() as own:
                find_swaps(compatibility, board._replace(cells=board.cells.copy()), own, pieces, found, begin, end)

        threads.run(len(pieces), look)
        order = np.argsort(-found.gains, kind="stable")
        order = order[found.gains[order] > least_gain]
        changed = np.zeros(cells.shape, dtype=np.bool_)
        with memory() as own:
            make_swaps(compatibility, board, own, found, order, least_gain, changed.ravel())
        pieces = np.sort(cells[widened(changed, LONGEST) & (cells != OUTSIDE)]).astype(np.int64)
    return cells[1:-1, 1:-1].copy()


@kernel
def note_all_costs(compatibility, board, memory):
    """Note what all seams of the board cost."""
    compatibility = uncounted(compatibility)
    features, several = compatibility.features, compatibility.bearings.several
    entries, step = memory
    note_costs(features, several, entries, step, board, board.places, len(board.places))


@kernel
def swap(board, changed, count):
    """Let the pieces of cells that are listed by turns change places on the board."""
    for index in range(0, count, 2):
        one, other = changed[index], changed[index + 1]
        board.cells[one], board.cells[other] = board.cells[other], board.cells[one]


@kernel
def gain_of_swap(features, several, memory, board, room, corner, other, height, width, least):
    """What it gains to swap two rectangles that do not overlap, given their first cells, which `room` lists then.

    If that is not more than `least`, anything that is not.
    """
    entries, step = memory
    room.mark[0] += 1
    count, mark = 0, room.mark[0]
    for row in range(height):
        for column in range(width):
            behind = row * board.width + column
            room.changed[count], room.changed[count + 1] = corner + behind, other + behind
            room.marks[corner + behind] = mark
            room.marks[other + behind] = mark
            count += 2
    before = cost_as_noted(board, room.changed, count, room.marks, mark)
    swap(board, room.changed, count)
    allowed = before - least + ROUNDING * before
    after = cost_of_pairs(features, several, entries, step, board, room.changed, count, room.marks, mark, allowed)
    swap(board, room.changed, count)
    return before - after


@kernel
def find_swaps(compatibility, board, memory, pieces, found, begin, end):
    """Find the best swap at the sides of the pieces[begin .. end-1], of all rectangles that bring a candidate there.

    Invariant between two swaps: the board is as it was.
    """
    compatibility = uncounted(compatibility)
    features, several, candidates = compatibility.features, compatibility.bearings.several, compatibility.candidates
    entries, step = memory
    cells, places, width, codes, seams = board
    steps = (1, width, -1, -width)
    room = Room(np.empty(2 * LONGEST * LONGEST, np.int32), np.zeros(len(cells), np.int64), np.zeros(1, np.int64))
    for index in range(begin, end):
        piece = np.int64(pieces[index])
        cell = np.int64(places[piece])
        for direction in range(4):
            goal = cell + steps[direction]
            beside = np.int64(cells[goal])
            if beside < 0:
                continue
            cost = seams[min(cell, goal), direction & 1]
            for rank in range(candidates.shape[1]):
                wanted = np.int64(candidates[4 * piece + direction, rank]) >> 2
                row, second = pair_in(codes, several, piece, direction, wanted, cell, goal)
                if wanted != beside and recalled(features, entries, step, row, second) < cost:
                    source = np.int64(places[wanted])
                    try_rectangles(features, several, memory, board, room, direction, goal, source, found, index)


@kernel
def try_rectangles(features, several, memory, board, room, direction, goal, source, found, index):
    """Note the best swap of rectangles in which two cells lie at the same place: on the edge that a side faces."""
    width, rows = board.width, len(board.cells) // board.width - 2
    for tall in LENGTHS:
        for wide in LENGTHS:
            for along in range(tall if direction & 1 == 0 else wide):
                across = 0 if direction < 2 else (wide if direction == 2 else tall) - 1
                up, left = (along, across) if direction & 1 == 0 else (across, along)
                top, start = goal // width - up, goal % width - left
                other_top, other_start = source // width - up, source % width - left
                if min(top, other_top) < 1 or max(top, other_top) + tall - 1 > rows:
                    continue
                if min(start, other_start) < 1 or max(start, other_start) + wide - 1 > width - 2:
                    continue
                if abs(top - other_top) < tall and abs(start - other_start) < wide:
                    continue
                corner, other = top * width + start, other_top * width + other_start
                best = found.gains[index]
                gain = gain_of_swap(features, several, memory, board, room, corner, other, tall, wide, best)
                if gain > best:
                    found.gains[index] = gain
                    found.corners[index, 0], found.corners[index, 1] = corner, other
                    found.sizes[index, 0], found.sizes[index, 1] = tall, wide


@kernel
def make_swaps(compatibility, board, memory, found, order, least_gain, changed):
    """Make the swaps that were found, in an order, that still gain enough; mark the cells that change."""
    compatibility = uncounted(compatibility)
    features, several = compatibility.features, compatibility.bearings.several
    entries, step = memory
    room = Room(np.empty(2 * LONGEST * LONGEST, np.int32), np.zeros(len(board.cells), np.int64), np.zeros(1, np.int64))
    for place in range(len(order)):
        (corner, other), (height, width) = found.corners[order[place]], found.sizes[order[place]]
        gain = gain_of_swap(features, several, memory, board, room, corner, other, height, width, least_gain)
        if gain > least_gain:
            count = 2 * height * width
            swap(board, room.changed, count)
            for index in range(count):
                cell = room.changed[index]
                board.places[board.cells[cell]] = cell
                changed[cell] = True
            note_costs(features, several, entries, step, board, room.changed, count)
