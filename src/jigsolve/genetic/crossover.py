"""The paper's crossover (section 3.2): a child grows piece by piece, with both parents as consultants.

It runs in three steps, each a kernel:

1. `consult` reads both parents once and notes, for every side of every piece, what they advise;
2. `grow` grows the child from a single piece inside the frame, from the advice alone;
3. `grid_cost` adds up what the child costs.

No step scans the frontier or the bank of free pieces, but for the rare greedy placement whose candidates are all used.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._jit import inlined, kernel
from ..compatibility.costs import squared_distance_below
from .population import grid_cost
from .random import random_below, random_unit, seed_state

AGREED, BUDDY, GREEDY = 0, 1, 2
"""The phases, as the crossover counts them."""

# What a cell of the growing grid holds when it holds no piece.
EMPTY = np.int32(-1)
OUTSIDE = np.int32(-2)

# Advice: a piece that both parents agree on (>= 0), none (-1), or a best buddy in one parent (-2 - piece).
NONE = -1
ENTRY_SHIFT = 32
ENTRY_MASK = 0xFFFFFFFF


class Workspace(NamedTuple):
    """Scratch arrays of one thread, reused from child to child."""

    neighbours: NDArray[np.int32]
    advice: NDArray[np.int32]
    grid: NDArray[np.int32]
    used: NDArray[np.uint8]
    cursors: NDArray[np.int32]
    agreed: NDArray[np.int64]
    buddied: NDArray[np.int64]
    boundary: NDArray[np.int64]
    free: NDArray[np.int32]
    state: NDArray[np.uint64]


@inlined
def new_workspace(pieces, rows, columns):
    """Room for one child at a time. A frontier list gets at most one entry a side."""
    return Workspace(
        np.empty((pieces, 4), np.int32),
        np.empty((pieces, 4), np.int32),
        np.empty((2 * rows + 1) * (2 * columns + 1), np.int32),
        np.empty(pieces, np.uint8),
        np.empty(4 * pieces, np.int32),
        np.empty(4 * pieces, np.int64),
        np.empty(4 * pieces, np.int64),
        np.empty(4 * pieces, np.int64),
        np.empty(pieces, np.int32),
        np.empty(1, np.uint64),
    )


@kernel
def consult(first, second, columns, buddies, neighbours, advice):
    """Note what two parents advise for every side of every piece.

    Both agree on a neighbour: that piece. Else one of them has the side's best buddy there: that buddy. The look-ups
    are done here, in one sweep over each parent, so that growing touches one row of advice a piece and no parent.
    """
    cells = len(first)
    for cell in range(cells):
        column = cell % columns
        piece = first[cell]
        neighbours[piece, 0] = first[cell + 1] if column + 1 < columns else NONE
        neighbours[piece, 1] = first[cell + columns] if cell + columns < cells else NONE
        neighbours[piece, 2] = first[cell - 1] if column > 0 else NONE
        neighbours[piece, 3] = first[cell - columns] if cell >= columns else NONE
    for cell in range(cells):
        column = cell % columns
        piece = second[cell]
        advice[piece, 0] = second[cell + 1] if column + 1 < columns else NONE
        advice[piece, 1] = second[cell + columns] if cell + columns < cells else NONE
        advice[piece, 2] = second[cell - 1] if column > 0 else NONE
        advice[piece, 3] = second[cell - columns] if cell >= columns else NONE
        for direction in range(4):
            one, other = neighbours[piece, direction], advice[piece, direction]
            buddy = buddies[piece, direction]
            if one != other:
                advice[piece, direction] = -2 - buddy if buddy >= 0 and (buddy == one or buddy == other) else NONE


@inlined
def take(entries, count, state):
    """Take a random one of `count` entries; the last fills its place."""
    index = random_below(state, count)
    entry = entries[index]
    entries[index] = entries[count - 1]
    return entry


@inlined
def nth_free(used, index):
    """The index-th piece that is not used."""
    piece = 0
    while used[piece] or index > 0:
        index -= used[piece] == 0
        piece += 1
    return piece


@kernel
def cheapest_free(compatibility, side, used, free, count):
    """The free piece that fits a side best, and how many are left: exact, as the paper says.

    Invariant: the first `count` entries of `free` hold every free piece, in order of number. Used ones are dropped
    in passing; nothing ever comes back.
    """
    opposite = (side ^ 2) & 3
    best = np.int64(2**62)
    best_piece = np.int64(NONE)
    kept = 0
    for index in range(count):
        piece = free[index]
        if used[piece]:
            continue
        free[kept] = piece
        kept += 1
        square = squared_distance_below(compatibility.features, side, 4 * piece + opposite, best)
        if square < best:
            best = square
            best_piece = np.int64(piece)
    return best_piece, kept


@kernel
def grow(compatibility, rows, columns, start, mutant_from, mutation_rate, work, child, phases):
    """Grow a child from the piece `start` and the advice in `work`, and count its placements by phase.

    The grid is large enough for the frame to end up anywhere around the start. Once the kernel spans as many rows
    (columns) as the frame, the rows above and below it (columns beside it) are marked OUTSIDE, so that "the cell is
    EMPTY" is all that placing needs to ask.

    The frontier is three lists of entries (cell, piece or side): agreed, buddied, and every boundary. Invariant: each
    possible placement has its entry. An entry whose cell is filled or whose piece is used stays invalid for ever,
    so it is dropped only when a draw meets it; the draws are uniform over the valid ones all the same.

    A mutation puts a random free piece where an agreed or a greedy one was to go: once, at the first chance from
    placement `mutant_from` on, and at every placement with chance `mutation_rate`.
    """
    pieces = rows * columns
    width = 2 * columns + 1
    keep = compatibility.candidates.shape[1]
    steps = (1, width, -1, -width)
    grid, used, cursors, state = work.grid, work.used, work.cursors, work.state
    agreed, buddied, boundary = work.agreed, work.buddied, work.boundary
    grid[:] = EMPTY
    used[:] = 0
    cursors[:] = 0
    agreed_count = buddied_count = boundary_count = 0
    free_count = 0
    piece = np.int64(start)
    cell = np.int64(rows * width + columns)
    top = bottom = np.int64(rows)
    left = right = np.int64(columns)
    spans_rows = spans_columns = False

    for placed in range(1, pieces + 1):
        grid[cell] = piece
        used[piece] = 1

        if not (spans_rows and spans_columns):
            row, column = cell // width, cell % width
            top, bottom = min(top, row), max(bottom, row)
            left, right = min(left, column), max(right, column)
            if not spans_rows and bottom - top + 1 == rows:
                spans_rows = True
                grid[(top - 1) * width : top * width] = OUTSIDE
                grid[(bottom + 1) * width : (bottom + 2) * width] = OUTSIDE
            if not spans_columns and right - left + 1 == columns:
                spans_columns = True
                grid[left - 1 :: width] = OUTSIDE
                grid[right + 1 :: width] = OUTSIDE

        if placed == pieces:
            break

        for direction in range(4):
            target = cell + steps[direction]
            if grid[target] == EMPTY:
                key = target << ENTRY_SHIFT
                boundary[boundary_count] = key | (4 * piece + direction)
                boundary_count += 1
                advice = work.advice[piece, direction]
                if advice >= 0:
                    agreed[agreed_count] = key | advice
                    agreed_count += 1
                elif advice != NONE:
                    buddied[buddied_count] = key | (-2 - advice)
                    buddied_count += 1

        phase = GREEDY
        while agreed_count > 0 and phase == GREEDY:
            entry = take(agreed, agreed_count, state)
            agreed_count -= 1
            cell, piece = entry >> ENTRY_SHIFT, entry & ENTRY_MASK
            if grid[cell] == EMPTY and not used[piece]:
                phase = AGREED
        while buddied_count > 0 and phase == GREEDY:
            entry = take(buddied, buddied_count, state)
            buddied_count -= 1
            cell, piece = entry >> ENTRY_SHIFT, entry & ENTRY_MASK
            if grid[cell] == EMPTY and not used[piece]:
                phase = BUDDY
        if phase == GREEDY:
            entry = take(boundary, boundary_count, state)
            boundary_count -= 1
            while grid[entry >> ENTRY_SHIFT] != EMPTY:
                entry = take(boundary, boundary_count, state)
                boundary_count -= 1
            cell, side = entry >> ENTRY_SHIFT, entry & ENTRY_MASK
            cursor = cursors[side]
            while cursor < keep and used[compatibility.candidates[side, cursor] >> 2]:
                cursor += 1
            cursors[side] = cursor
            if cursor < keep:
                piece = np.int64(compatibility.candidates[side, cursor] >> 2)
            else:
                if free_count == 0:
                    work.free[:] = np.arange(pieces)
                    free_count = pieces
                piece, free_count = cheapest_free(compatibility, side, used, work.free, free_count)

        if phase != BUDDY and (placed >= mutant_from or (mutation_rate > 0 and random_unit(state) < mutation_rate)):
            mutant_from = pieces
            piece = np.int64(nth_free(used, random_below(state, pieces - placed)))
        phases[phase] += 1

    for row in range(rows):
        origin = (top + row) * width + left
        child[row * columns : (row + 1) * columns] = grid[origin : origin + columns]


@kernel
def breed(
    compatibility, columns, parents, mutants, mutation_rate, seed, generation, grids, children, costs, begin, end
):
    """Make the children begin .. end-1 of a generation, with their costs; return the placements in each phase.

    `mutants` is the chance of a child to get one random placement, `mutation_rate` that of each placement.
    """
    pieces = grids.shape[1]
    rows = pieces // columns
    phases = np.zeros(3, np.int64)
    work = new_workspace(pieces, rows, columns)
    for index in range(begin, end):
        seed_state(work.state, seed, generation, index)
        start = random_below(work.state, pieces)
        mutant_from = pieces
        if random_unit(work.state) < mutants:
            mutant_from = 1 + random_below(work.state, pieces - 1)
        first, second = grids[parents[index, 0]], grids[parents[index, 1]]
        consult(first, second, columns, compatibility.buddies, work.neighbours, work.advice)
        grow(compatibility, rows, columns, start, mutant_from, mutation_rate, work, children[index], phases)
        costs[index] = grid_cost(compatibility, columns, children[index])
    return phases
