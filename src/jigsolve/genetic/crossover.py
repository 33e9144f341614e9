"""The paper's crossover (section 3.2): a child grows piece by piece, with both parents as consultants.

It runs in three steps, each a kernel:

1. `consult` reads both parents once and notes, for every side of every piece, what they advise;
2. `grow` grows the child from a single piece inside the frame, from the advice alone;
3. `grid_cost` adds up what the child costs.

No step scans the frontier or the bank of free pieces, but for two rare ones: a greedy placement whose candidates are
all used, and a mutation.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._access import uncounted
from .._jit import inlined, kernel
from ..compatibility.bearings import phases_around, suits
from ..compatibility.costs import HEAD, cost_of, head_of, squared_distance, squared_distance_below
from ..compatibility.memory import recalled, row_and_other
from ..compatibility.partners import NO_PARTNER, VAGUE
from .population import grid_cost
from .random import GAMMA, below, first_state, mix, unit

AGREED, BUDDY, GREEDY = 0, 1, 2
"""The phases, as the crossover counts them."""

# What a cell of the growing grid holds when it holds no piece.
EMPTY = np.int32(-1)
OUTSIDE = np.int32(-2)

# Advice: a piece that both parents agree on (>= 0), none (-1), or a best buddy in one parent (-2 - piece).
NONE = -1
# Free candidates of each neighbour that are judged for a cell.
LOOKED_AT = 3
# Free pieces that are drawn where none of the candidates is free.
DRAWN = 16
# How many more are looked at to find some whose phases suit the cell; and how often another start is drawn that knows
# its own.
LOOKED_FOR = 256
STARTS = 16
# Pieces whose bounds are looked at together.
CHUNK = 64
# Makes up for the roundings of a sum of squares in single precision.
ROUNDED_UP = 1 + 2.0**-18
ENTRY_SHIFT = 32
ENTRY_MASK = 0xFFFFFFFF


class Workspace(NamedTuple):
    """Scratch arrays of one thread, reused from child to child."""

    neighbours: NDArray[np.int32]
    advice: NDArray[np.int32]
    grid: NDArray[np.int32]
    used: NDArray[np.uint8]
    agreed: NDArray[np.int64]
    buddied: NDArray[np.int64]
    hoped: NDArray[np.int64]
    hoped_counts: NDArray[np.int64]
    boundary: NDArray[np.int64]
    vague: NDArray[np.int64]
    free: NDArray[np.int32]
    free_heads: NDArray[np.float32]
    free_counts: NDArray[np.int64]
    bounds: NDArray[np.float32]


@inlined
def new_workspace(pieces, rows, columns):
    """Room for one child at a time. A frontier list gets at most one entry a side."""
    return Workspace(
        np.empty((pieces, 4), np.int32),
        np.empty(4 * pieces, np.int32),
        np.empty((2 * rows + 1) * (2 * columns + 1), np.int32),
        np.empty(pieces, np.uint8),
        np.empty(4 * pieces, np.int64),
        np.empty(4 * pieces, np.int64),
        np.empty((NO_PARTNER, 4 * pieces), np.int64),
        np.empty(NO_PARTNER, np.int64),
        np.empty(4 * pieces, np.int64),
        np.empty(4 * pieces, np.int64),
        np.empty((4, pieces), np.int32),
        np.empty((4, HEAD, pieces), np.float32),
        np.empty(4, np.int64),
        np.empty(pieces, np.float32),
    )


def workspace_bytes(pieces: int, rows: int, columns: int, bits: int) -> int:
    """Return what a thread needs to make children: a workspace, and the memory of costs."""
    lists = 4 * 8 * (4 + NO_PARTNER) + 4 * 4 * (1 + HEAD)
    return pieces * (16 + 16 + 1 + 4 + lists + (32 << bits)) + 4 * (2 * rows + 1) * (2 * columns + 1)


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
        side = 4 * piece
        advice[side] = second[cell + 1] if column + 1 < columns else NONE
        advice[side + 1] = second[cell + columns] if cell + columns < cells else NONE
        advice[side + 2] = second[cell - 1] if column > 0 else NONE
        advice[side + 3] = second[cell - columns] if cell >= columns else NONE
        for direction in range(4):
            one, other = neighbours[piece, direction], advice[side + direction]
            buddy = buddies[piece, direction]
            if one != other:
                advice[side + direction] = -2 - buddy if buddy >= 0 and (buddy == one or buddy == other) else NONE


@inlined
def nth_free(used, index):
    """The index-th piece that is not used."""
    piece = 0
    while used[piece] or index > 0:
        index -= used[piece] == 0
        piece += 1
    return piece


class FreePieces(NamedTuple):
    """The free pieces that could meet a side of one direction, and room to compare them with it."""

    pieces: NDArray[np.int32]
    heads: NDArray[np.float32]
    """(HEAD, pieces): of their sides."""
    bounds: NDArray[np.float32]


@kernel
def gather_free(used, heads, free, count):
    """Drop the used pieces from the first `count` of a list, or list all free ones where it is empty."""
    kept = 0
    for index in range(count if count > 0 else len(used)):
        piece = free.pieces[index] if count > 0 else np.int32(index)
        if not used[piece]:
            free.pieces[kept] = piece
            kept += 1
    for f in range(HEAD):
        for index in range(kept):
            free.heads[f, index] = heads[f, free.pieces[index]]
    return kept


@kernel
def bound_squares(free, count, features, side, used):
    """Bound what the first `count` pieces would cost beside a side, squared; return where the lowest is of one free."""
    pieces, heads, bounds = free
    q0, q1 = np.float32(head_of(features, side, 0)), np.float32(head_of(features, side, 1))
    q2, q3 = np.float32(head_of(features, side, 2)), np.float32(head_of(features, side, 3))
    q4, q5 = np.float32(head_of(features, side, 4)), np.float32(head_of(features, side, 5))
    q6, q7 = np.float32(head_of(features, side, 6)), np.float32(head_of(features, side, 7))
    for at in range(count):
        i = np.uint64(at)
        d0, d1, d2, d3 = heads[0, i] - q0, heads[1, i] - q1, heads[2, i] - q2, heads[3, i] - q3
        d4, d5, d6, d7 = heads[4, i] - q4, heads[5, i] - q5, heads[6, i] - q6, heads[7, i] - q7
        bounds[i] = ((d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3)) + ((d4 * d4 + d5 * d5) + (d6 * d6 + d7 * d7))
    lowest = 0
    while used[pieces[lowest]]:
        lowest += 1
    for chunk in range(0, count, CHUNK):
        stop = min(chunk + CHUNK, count)
        limit = bounds[lowest]
        below = np.int32(0)
        for at in range(chunk, stop):
            below |= np.int32(bounds[np.uint64(at)] < limit)
        if below:
            for at in range(chunk, stop):
                if used[pieces[at]]:
                    bounds[at] = np.inf
                elif bounds[at] < bounds[lowest]:
                    lowest = at
    return lowest


@kernel
def cheapest_free(features, head_error, side, used, free, count):
    """The free piece that fits a side best: exact, as the paper says.

    All free pieces are among the first `count` of `free`. Their heads, which lie side by side, bound the costs; the
    piece with the lowest bound is mostly the best, and its cost rules out nearly all others.
    """
    opposite = (side ^ 2) & 3
    pieces, bounds = free.pieces, free.bounds
    best_piece = np.int64(pieces[bound_squares(free, count, features, side, used)])
    best = squared_distance(features, side, 4 * best_piece + opposite)
    for chunk in range(0, count, CHUNK):
        stop = min(chunk + CHUNK, count)
        limit = np.float32((np.sqrt(best) + head_error) ** 2 * ROUNDED_UP)
        below = np.int32(0)
        for at in range(chunk, stop):
            below |= np.int32(bounds[np.uint64(at)] <= limit)
        if below:
            for at in range(chunk, stop):
                piece = np.int64(pieces[at])
                if bounds[at] <= limit and not used[piece]:
                    square = squared_distance_below(features, side, 4 * piece + opposite, np.nextafter(best, np.inf))
                    if square < best or (square == best and piece < best_piece):
                        best = square
                        best_piece = piece
    return best_piece


@kernel
def fittest_for_cell(candidates, costs, features, grid, steps, cell, used, place, entries, step):
    """The free piece that fits all neighbours of a cell best, of the first candidates of each; or NONE.

    A candidate's cost beside the neighbour that it is a candidate of is known, and no candidate after it costs less
    there: once that alone is not below the best, the rest of the list cannot be either. Those are passed over that
    cannot lie in the `place`, by what `suits` asks.
    """
    masks, around, down, right = place
    best = np.inf
    best_piece = np.int64(NONE)
    for direction in range(4):
        neighbour = np.int64(grid[cell - steps[direction]])
        if neighbour < 0:
            continue
        side = 4 * neighbour + direction
        looked_at = 0
        for rank in range(candidates.shape[1]):
            piece = np.int64(candidates[side, rank] >> 2)
            if used[piece] or not suits(masks, around, piece, down, right):
                continue
            total = np.float64(costs[side, rank])
            if total >= best:
                break
            for towards in range(4):
                other = np.int64(grid[cell + steps[towards]])
                if other >= 0 and towards ^ 2 != direction:
                    row, second = row_and_other(piece, towards, other)
                    total += recalled(features, entries, step, row, second)
                    if total >= best:
                        break
            if total < best:
                best = total
                best_piece = piece
            looked_at += 1
            if looked_at == LOOKED_AT:
                break
    return best_piece


@kernel
def fittest_drawn(features, grid, steps, cell, used, place, free, count, state):
    """The best of some free pieces, drawn at random, for all neighbours of a cell; and how many `free` holds now.

    Where candidates are used up, many pieces look alike, and one of those is as good as another. Used pieces are
    dropped from `free` when they are drawn. Those that cannot lie in the `place`, by what `suits`
    asks, are passed over, as long as others may.
    """
    masks, around, down, right = place
    best = np.inf
    best_piece = np.int64(NONE)
    drawn = passed_over = 0
    while drawn < DRAWN and count > 0:
        state += GAMMA
        index = below(mix(state), count)
        piece = np.int64(free[index])
        if used[piece]:
            count -= 1
            free[index] = free[count]
            continue
        if passed_over < LOOKED_FOR and not suits(masks, around, piece, down, right):
            passed_over += 1
            continue
        drawn += 1
        total = 0.0
        for towards in range(4):
            other = np.int64(grid[cell + steps[towards]])
            if other >= 0:
                total += cost_of(features, squared_distance(features, 4 * piece + towards, 4 * other + (towards ^ 2)))
                if total >= best:
                    break
        if total < best:
            best = total
            best_piece = piece
    return best_piece, count


@kernel
def grow(compatibility, rows, columns, start, mutant_from, mutation_rate, state, work, memory, child, phases):
    """Grow a child from the piece `start` and the advice in `work`, and count its placements by phase.

    The grid is large enough for the frame to end up anywhere around the start. Once the kernel spans as many rows
    (columns) as the frame, the rows above and below it (columns beside it) are marked OUTSIDE, so that "the cell is
    EMPTY" is all that placing needs to ask.

    The frontier is lists of entries (cell, side beside it): sides with agreed advice, with a buddy in a parent, and the
    rest, the boundary; where pieces are judged by cell, partners of the sides of the rest are hoped for first, in a
    list for each level of doubt, and vague sides come last.
    Invariant: each side of a placed piece that faces an EMPTY cell is in one of them. A filled cell stays filled and a
    used piece used, so an entry is looked at only when it is drawn: one whose cell is filled is dropped, one whose
    piece is used joins the rest. The draws are uniform over the valid entries all the same.

    Before the first placement of another phase the order of agreed ones cannot matter: the pieces connected to the
    start by agreed relations lie in both parents as they will lie here, so none is in another's way and the frame
    holds them. They are all placed in any case; while nothing is to mutate they are taken last in first out, which
    draws no random numbers and stays where the cache is warm.

    A greedy placement takes the best free piece for a side drawn, as the paper says; or, given a memory of more than
    one place a row, the best for the cell beside it, judged by all neighbours. Then sides with a partner are taken
    before others, the surest first, and those that many pieces fit last.

    A mutation puts a random free piece where an agreed or a greedy one was to go: once, at the first chance from
    placement `mutant_from` on, and at every placement with chance `mutation_rate`.
    """
    pieces = rows * columns
    width = 2 * columns + 1
    keep = compatibility.candidates.shape[1]
    steps = (1, width, -1, -width)
    # Arrays are taken out of their tuples here: in the loop each look into one would count a reference, or read it.
    candidates, costs = compatibility.candidates, compatibility.costs
    features, advice = compatibility.features, work.advice
    grid, used, free, free_counts = work.grid, work.used, work.free, work.free_counts
    agreed, buddied, hoped, boundary = work.agreed, work.buddied, work.hoped, work.boundary
    partners, doubt, heads = compatibility.partners, compatibility.doubt, compatibility.heads
    hoped_counts, vague = work.hoped_counts, work.vague
    hoped_counts[:] = 0
    grid[:] = EMPTY
    used[:] = 0
    agreed_count = buddied_count = boundary_count = vague_count = 0
    free_counts[:] = 0
    piece = np.int64(start)
    origin = np.int64(rows * width + columns)
    cell = origin
    top = bottom = np.int64(rows)
    left = right = np.int64(columns)
    spans_rows = spans_columns = False
    any_order = mutant_from >= pieces and mutation_rate == 0
    entries, step = memory
    masks = compatibility.bearings.masks
    around = phases_around(compatibility.bearings, masks[start] if len(masks) > 0 else np.uint64(0))

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
                side = 4 * piece + direction
                entry = (target << ENTRY_SHIFT) | side
                advised = advice[side]
                if advised >= 0:
                    agreed[agreed_count] = entry
                    agreed_count += 1
                elif advised == NONE:
                    if step == 0 or doubt[side] == NO_PARTNER:
                        boundary[boundary_count] = entry
                        boundary_count += 1
                    elif doubt[side] == VAGUE:
                        vague[vague_count] = entry
                        vague_count += 1
                    else:
                        level = doubt[side]
                        hoped[level, hoped_counts[level]] = entry
                        hoped_counts[level] += 1
                else:
                    buddied[buddied_count] = entry
                    buddied_count += 1

        phase = GREEDY
        while agreed_count > 0 and phase == GREEDY:
            state += GAMMA
            index = agreed_count - 1 if any_order else below(mix(state), agreed_count)
            agreed_count -= 1
            entry, agreed[index] = agreed[index], agreed[agreed_count]
            cell = entry >> ENTRY_SHIFT
            if grid[cell] == EMPTY:
                piece = np.int64(advice[entry & ENTRY_MASK])
                if not used[piece]:
                    phase = AGREED
                else:
                    boundary[boundary_count] = entry
                    boundary_count += 1
        any_order = any_order and phase == AGREED
        while buddied_count > 0 and phase == GREEDY:
            state += GAMMA
            index = below(mix(state), buddied_count)
            buddied_count -= 1
            entry, buddied[index] = buddied[index], buddied[buddied_count]
            cell = entry >> ENTRY_SHIFT
            if grid[cell] == EMPTY:
                piece = np.int64(-2 - advice[entry & ENTRY_MASK])
                if not used[piece] and suits(masks, around, piece, cell // width - rows, cell % width - columns):
                    phase = BUDDY
                else:
                    boundary[boundary_count] = entry
                    boundary_count += 1
        hopeful = False
        level = 0 if step > 0 and phase == GREEDY else NO_PARTNER
        while level < NO_PARTNER and not hopeful:
            count = hoped_counts[level]
            if count == 0:
                level += 1
                continue
            state += GAMMA
            index = below(mix(state), count)
            count -= 1
            hoped_counts[level] = count
            entry, hoped[level, index] = hoped[level, index], hoped[level, count]
            cell = entry >> ENTRY_SHIFT
            if grid[cell] == EMPTY:
                side = entry & ENTRY_MASK
                piece = np.int64(partners[side >> 2, side & 3])
                if not used[piece] and suits(masks, around, piece, cell // width - rows, cell % width - columns):
                    hopeful = True
                else:
                    boundary[boundary_count] = entry
                    boundary_count += 1
        if phase == GREEDY and not hopeful:
            cell = origin  # Filled since the beginning, so at least one entry is drawn.
            while grid[cell] != EMPTY:
                state += GAMMA
                if boundary_count > 0:
                    index = below(mix(state), boundary_count)
                    boundary_count -= 1
                    entry, boundary[index] = boundary[index], boundary[boundary_count]
                else:
                    index = below(mix(state), vague_count)
                    vague_count -= 1
                    entry, vague[index] = vague[index], vague[vague_count]
                cell = entry >> ENTRY_SHIFT
            side = entry & ENTRY_MASK
            rank = 0
            while step == 0 and rank < keep and used[candidates[side, rank] >> 2]:
                rank += 1
            if step > 0:
                place = (masks, around, cell // width - rows, cell % width - columns)
                piece = fittest_for_cell(candidates, costs, features, grid, steps, cell, used, place, entries, step)
                if piece == NONE:
                    if free_counts[0] == 0:
                        free[0] = np.arange(pieces)
                        free_counts[0] = pieces
                    state += GAMMA
                    piece, free_counts[0] = fittest_drawn(
                        features, grid, steps, cell, used, place, free[0], free_counts[0], mix(state)
                    )
            elif rank < keep:
                piece = np.int64(candidates[side, rank] >> 2)
            else:
                facing = (side ^ 2) & 3
                those = FreePieces(free[facing], work.free_heads[facing], work.bounds)
                # Used ones are dropped when they are more than the free, so that a placement pays for one drop at most.
                if free_counts[facing] == 0 or free_counts[facing] > 2 * (pieces - placed):
                    free_counts[facing] = gather_free(used, heads[facing], those, free_counts[facing])
                piece = cheapest_free(features, compatibility.head_error, side, used, those, free_counts[facing])

        state += GAMMA
        if phase != BUDDY and (placed >= mutant_from or unit(mix(state)) < mutation_rate):
            mutant_from = pieces
            state += GAMMA
            piece = np.int64(nth_free(used, below(mix(state), pieces - placed)))
        phases[phase] += 1

    for row in range(rows):
        begin = (top + row) * width + left
        child[row * columns : (row + 1) * columns] = grid[begin : begin + columns]


@kernel
def are_equal(first, second):
    """Whether two arrangements are the same."""
    for cell in range(len(first)):
        if first[cell] != second[cell]:
            return False
    return True


@kernel
def breed(compatibility, columns, old, parents, mutants, mutation_rate, memory, seed, generation, new, begin, end):
    """Make the children begin .. end-1 of a generation, with their costs; return the placements in each phase.

    `old` and `new` are (grids, costs) of the parents and the children. `mutants` is the chance of a child to get one
    random placement, `mutation_rate` that of each placement; for the `memory` of costs see `grow`. A child of equal
    parents is their copy, unless it mutates: all relations are agreed.
    """
    compatibility = uncounted(compatibility)
    grids, old_costs = old
    children, costs = new
    pieces = grids.shape[1]
    rows = pieces // columns
    phases = np.zeros(3, np.int64)
    work = new_workspace(pieces, rows, columns)
    for index in range(begin, end):
        state = first_state(seed, generation, index)
        start = below(mix(state), pieces)
        masks = compatibility.bearings.masks
        if len(masks) > 0:
            for _ in range(STARTS):
                if masks[start] & (masks[start] - np.uint64(1)) == 0:
                    break
                state += GAMMA
                start = below(mix(state), pieces)
        mutant_from = pieces
        state += GAMMA
        if unit(mix(state)) < mutants:
            state += GAMMA
            mutant_from = 1 + below(mix(state), pieces - 1)
        first, second = grids[parents[index, 0]], grids[parents[index, 1]]
        if mutant_from == pieces and mutation_rate == 0 and are_equal(first, second):
            children[index] = first
            costs[index] = old_costs[parents[index, 0]]
            phases[AGREED] += pieces - 1
            continue
        consult(first, second, columns, compatibility.buddies, work.neighbours, work.advice)
        grow(
            compatibility,
            rows,
            columns,
            start,
            mutant_from,
            mutation_rate,
            state,
            work,
            memory,
            children[index],
            phases,
        )
        costs[index] = grid_cost(compatibility.features, compatibility.bearings, columns, children[index], memory)
    return phases
