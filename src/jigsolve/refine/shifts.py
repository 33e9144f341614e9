"""Shifts: a large segment that lies beside its place moves there as a whole.

What sure partners connect is right in itself, but it may lie a few cells beside its place, among leftovers: the dial of
an instrument on a dark panel, a branch before a white sky. It is too large for a move of `anneal`, and all that belongs
around it cannot come while it lies there. So it is tried in every place of the frame. The place that costs least is
often the true one, though it may cost more than before, as what the segment displaces is a leftover there, too: that
is for annealing to mend before anything is decided (see `rounds`).
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._access import uncounted
from .._jit import kernel
from ..compatibility.bearings import Bearings, frame_phases
from ..compatibility.candidates import Compatibility
from ..compatibility.context import SURE
from ..compatibility.partners import Partners
from ..compatibility.segments import connect
from ..threads import Threads
from .patches import cost_of_pair

# Pieces of a segment that is shifted, at least; smaller ones change places as patches do.
FEWEST_PIECES = 24
# The share of its pieces that must suit the phases of a place.
SUITED = 0.9
# How many places a segment is tried in, and what one may cost more: this share of what
# the seams around the segment cost now.
PLACES = 2
DEARER = 1.0
# Pieces of a segment times places that are tried, at most: some seconds.
MOST_WORK = 10_000_000


class Segment(NamedTuple):
    """Cells of a grid, and the least number of their pieces, by which it is known."""

    name: int
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]

    def is_moved(self, before: NDArray[np.int32], after: NDArray[np.int32]) -> bool:
        """Return whether most of its cells hold other pieces than before."""
        cells = self.rows, self.columns
        return bool((before[cells] != after[cells]).mean() > 0.5)


def segments_in(compatibility: Compatibility, grid: NDArray[np.int32]) -> Iterator[Segment]:
    """Yield what sure partners that lie side by side connect, the largest first, without the picture's body."""
    partners = Partners(compatibility.buddies, compatibility.partners, compatibility.doubt).up_to(SURE)
    links = np.full_like(partners, -1)
    for direction, (one, two) in enumerate(((grid[:, :-1], grid[:, 1:]), (grid[:-1], grid[1:]))):
        met = partners[one, direction] == two
        links[one[met], direction], links[two[met], direction + 2] = two[met], one[met]
    of, rows, columns = (np.empty(grid.size, dtype=np.int32) for _ in range(3))
    connect(links, of, rows, columns)
    sizes = np.bincount(of)
    order = np.argsort(-sizes, kind="stable")
    large = order[1:][sizes[order[1:]] >= FEWEST_PIECES]
    cells = of[grid]
    for number in large:
        yield Segment(int(np.argmax(of == number)), *np.nonzero(cells == number))


def shifted(
    compatibility: Compatibility, grid: NDArray[np.int32], segment: Segment, threads: Threads
) -> Iterator[NDArray[np.int32]]:
    """Yield grids with a segment in other places, those that cost least, unless they are much dearer than its own.

    None of a segment so large that it would take too long to try all places.
    """
    features, rows, columns = compatibility.features, segment.rows, segment.columns
    inside = np.zeros(grid.shape, dtype=np.bool_)
    inside[rows, columns] = True
    first = np.array([-rows.min(), -columns.min()])
    costs = np.full((grid.shape[0] - np.ptp(rows), grid.shape[1] - np.ptp(columns)), np.inf)
    suited = _suited(compatibility.bearings, grid, segment)
    if len(rows) * costs.size * suited.mean() > MOST_WORK:
        return
    threads.run(len(costs), partial(fill_shifts, features, grid, inside, rows, columns, first, suited, costs))
    limit = DEARER * cost_around(features, grid, inside, rows, columns)
    for index in np.argsort(costs, axis=None, kind="stable")[:PLACES]:
        place = np.unravel_index(index, costs.shape)
        if costs[place] <= limit:
            moved = grid.copy()
            move(grid, inside, rows, columns, first[0] + place[0], first[1] + place[1], moved)
            yield moved


def compile_shifts(compatibility: Compatibility, columns: int, threads: Threads) -> None:
    """Compile what only puzzles need in which a segment lies apart."""
    grid = np.arange(len(compatibility.buddies), dtype=np.int32).reshape(-1, columns)
    list(segments_in(compatibility, grid))
    corner = Segment(0, *np.nonzero(grid == 0))
    list(shifted(compatibility, grid, corner, threads))
    move(grid, grid == 0, corner.rows, corner.columns, 0, 1, grid.copy())  # No place may have been cheap enough.


def _suited(bearings: Bearings, grid: NDArray[np.int32], segment: Segment) -> NDArray[np.bool_]:
    """Return by how many cells down and to the right a segment can move as phases repeat; modulo that."""
    phases = frame_phases(bearings, grid)
    if len(phases) == 0:
        return np.ones((1, 1), dtype=np.bool_)
    masks = bearings.masks[grid[segment.rows, segment.columns]]
    suited = np.empty(phases.shape, dtype=np.bool_)
    for down, right in np.ndindex(phases.shape):
        there = phases[(segment.rows + down) % phases.shape[0], (segment.columns + right) % phases.shape[1]]
        suited[down, right] = (masks & there != 0).mean() >= SUITED
    return suited


@kernel
def move(grid, inside, rows, columns, down, right, moved):
    """Move a segment by so many cells in `moved`, a copy of the grid; all of it must stay in the frame.

    What it displaces goes back along the way, past all of the segment that lies behind, to the cell that is left empty
    there: so each piece has a cell again.
    """
    for index in range(len(rows)):
        moved[rows[index] + down, columns[index] + right] = grid[rows[index], columns[index]]
    for index in range(len(rows)):
        row, column = rows[index], columns[index]
        displaced = grid[row + down, column + right]
        if not inside[row + down, column + right]:
            while (
                0 <= row - down < grid.shape[0]
                and 0 <= column - right < grid.shape[1]
                and inside[row - down, column - right]
            ):
                row, column = row - down, column - right
            moved[row, column] = displaced


@kernel
def cost_around(features, grid, inside, rows, columns):
    """What the seams around a segment cost."""
    features, total = uncounted(features), 0.0
    for index in range(len(rows)):
        for direction in range(4):
            row, column = rows[index] + (0, 1, 0, -1)[direction], columns[index] + (1, 0, -1, 0)[direction]
            if 0 <= row < grid.shape[0] and 0 <= column < grid.shape[1] and not inside[row, column]:
                total += cost_of_pair(features, grid[rows[index], columns[index]], direction, grid[row, column])
    return total


@kernel
def fill_shifts(features, grid, inside, rows, columns, first, suited, costs, begin, end):
    """Find how much dearer a grid is with a segment moved by first + (begin .. end-1, any) cells.

    Infinite where it is not moved at all, or would not suit. Invariant between two places: `moved` is the grid, and
    `cells` says where its pieces lie.
    """
    features = uncounted(features)
    width = grid.shape[1]
    places = np.empty(grid.size, np.int64)
    for cell in range(grid.size):
        places[grid[cell // width, cell % width]] = cell
    moved, cells = grid.copy(), places.copy()
    marks = np.zeros((2, grid.shape[0], width), np.int64)
    mark = np.int64(0)
    for index in range(begin, end):
        down = first[0] + index
        for place in range(costs.shape[1]):
            right = first[1] + place
            if (down == 0 and right == 0) or not suited[down % suited.shape[0], right % suited.shape[1]]:
                continue
            move(grid, inside, rows, columns, down, right, moved)
            note_places(moved, rows, columns, down, right, cells)
            mark += 1
            costs[index, place] = cost_of_move(
                features, grid, moved, places, cells, rows, columns, down, right, marks, mark
            )
            for cell in range(len(rows)):
                row, column = rows[cell], columns[cell]
                moved[row, column] = grid[row, column]
                moved[row + down, column + right] = grid[row + down, column + right]
            note_places(grid, rows, columns, down, right, cells)


@kernel
def note_places(grid, rows, columns, down, right, cells):
    """Note where the pieces of a grid lie that are in a segment's cells before or after it moved."""
    for index in range(len(rows)):
        row, column = rows[index], columns[index]
        cells[grid[row, column]] = row * grid.shape[1] + column
        cells[grid[row + down, column + right]] = (row + down) * grid.shape[1] + column + right


@kernel
def cost_of_move(features, grid, moved, places, cells, rows, columns, down, right, marks, mark):
    """How much dearer the moved grid is. Pieces that lie side by side before and after cost the same."""
    height, width = grid.shape
    total = 0.0
    for index in range(2 * len(rows)):
        row, column = rows[index >> 1] + (index & 1) * down, columns[index >> 1] + (index & 1) * right
        for direction in range(4):
            axis, top, left = direction & 1, row - (direction == 3), column - (direction == 2)
            bottom, end = top + axis, left + 1 - axis
            if top < 0 or left < 0 or bottom >= height or end >= width or marks[axis, top, left] == mark:
                continue
            marks[axis, top, left] = mark
            step = width if axis == 1 else 1
            one, two = np.int64(grid[top, left]), np.int64(grid[bottom, end])
            new, beside = np.int64(moved[top, left]), np.int64(moved[bottom, end])
            if new == one and beside == two:
                continue
            if not is_beside(places, new, beside, step, width):
                total += cost_of_pair(features, new, axis, beside)
            if not is_beside(cells, one, two, step, width):
                total -= cost_of_pair(features, one, axis, two)
    return total


@kernel
def is_beside(places, one, two, step, width):
    """Whether the second of two pieces lies to the right of the first, or below it for a step of a whole row."""
    return places[two] == places[one] + step and (step != 1 or places[two] % width != 0)
