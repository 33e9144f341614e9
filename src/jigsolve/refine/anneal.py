"""Annealing: pieces and small segments are moved to where they fit, and what they displace is put back in.

Evolution leaves mistakes where pieces look alike: all parents agree on them. A move here doubts one seam. It takes a
piece that would fit there, with some of the pieces that hang on it, brings them there, and fills the holes that they
leave with the pieces that they displaced. A move that makes the arrangement cheaper is kept; one that makes it dearer
is kept with a chance that shrinks as the temperature falls to zero, so that the search climbs out of a wrong valley
first and ends in the deepest point of a better one.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._access import uncounted
from .._jit import kernel
from ..compatibility.bearings import suits
from ..compatibility.memory import fetch_cost, pair_in, recalled
from ..genetic.random import GAMMA, below, first_state, mix, unit

# What a cell of the board holds when it holds no piece.
HOLE = -1
OUTSIDE = -2

# The largest segment that is moved as one, and how many cells around a move are emptied besides, at most.
MOST_MOVED = 16
MOST_RUINED = 12
# In one move of so many a whole segment is taken, all that partners connect, unless it has more pieces than this or
# this part of the puzzle: the picture's own body is better left where it is.
WHOLE_EVERY = 16
MOST_WHOLE = 128
MOST_WHOLE_PART = 16
# More displaced pieces than this go back where the segment came from as they lay, and only the rest is filled in.
MANY_DISPLACED = 40
# Blocks that change more cells than this are not widened any further.
MOST_SWAPPED = 400
# Of so many sides in doubt that are drawn, a move doubts the one that costs most beyond what is fair: where the true
# picture itself is in doubt it costs hardly more than that, mistakes do.
DRAWN = 4
# Moves between two looks at the temperature.
STRIDE = 1024
# By how much a sum of costs may be off, as a share of it; far more than it ever is.
ROUNDING = 1e-9


class Board(NamedTuple):
    """An arrangement inside a border of OUTSIDE cells, and where each piece lies in it."""

    cells: NDArray[np.int32]
    places: NDArray[np.int32]
    width: int
    codes: NDArray[np.int32]
    """What pairs are called by where they lie (see `memory.pair_in`), for the same cells."""
    seams: NDArray[np.float32]
    """(cells, 2): what it costs with the piece to the right of it, and below it, as noted by `note_costs`."""


class Doubts(NamedTuple):
    """The sides that face a piece dearer than what is fair (see `Compatibility.fair_costs`)."""

    sides: NDArray[np.int32]
    """They, as a list of which the first `number[0]` count."""
    indices: NDArray[np.int32]
    """(sides,): where in the list a side is, or -1."""
    number: NDArray[np.int64]


class Chain(NamedTuple):
    """Everything that one annealing knows between two moves."""

    board: Board
    doubts: Doubts
    state: NDArray[np.uint64]
    """(1,): of the random numbers."""


def new_chain(compatibility, columns, codes, grid, memory, seed, round_number, index):
    """Return a chain that starts from an arrangement; `codes` are those of its cells (see `memory.pair_in`).

    It is made here, as kernels return no named tuples.
    """
    pieces = len(grid)
    width = columns + 2
    cells = np.full((pieces // columns + 2) * width, OUTSIDE, np.int32)
    around = np.pad(codes.reshape(-1, columns), 1).ravel()
    board = Board(cells, np.empty(pieces, np.int32), width, around, np.zeros((len(cells), 2), np.float32))
    doubts = Doubts(np.empty(4 * pieces, np.int32), np.full(4 * pieces, -1, np.int32), np.zeros(1, np.int64))
    state = np.full(1, first_state(seed, round_number, index), np.uint64)
    lay_out(compatibility, columns, grid, board, doubts, memory)
    return Chain(board, doubts, state)


@kernel
def lay_out(compatibility, columns, grid, board, doubts, memory):
    """Lay an arrangement out on a board, and note its doubts."""
    compatibility = uncounted(compatibility)
    features, several, fair_costs = compatibility.features, compatibility.bearings.several, compatibility.fair_costs
    entries, step = memory
    for cell in range(len(grid)):
        inside = (cell // columns + 1) * board.width + cell % columns + 1
        board.cells[inside] = grid[cell]
        board.places[grid[cell]] = inside
    note_costs(features, several, entries, step, board, board.places, len(grid))
    note_doubts(fair_costs, board, doubts, board.places, len(grid))


@kernel
def copy_grid(board, columns, grid):
    """Copy a board into an arrangement."""
    for cell in range(len(grid)):
        grid[cell] = board.cells[(cell // columns + 1) * board.width + cell % columns + 1]


@kernel
def cost_as_noted(board, changed, count, marks, mark):
    """The cost of all pairs with a piece in one of the `changed` cells, which carry the mark, as noted; each once."""
    cells, width, seams = board.cells, board.width, board.seams
    steps = (1, width, -1, -width)
    total = 0.0
    for index in range(count):
        cell = changed[index]
        for direction in range(4):
            beside = cell + steps[direction]
            if cells[beside] >= 0 and (direction < 2 or marks[beside] != mark):
                total += seams[min(cell, beside), direction & 1]
    return total


@kernel
def cost_of_pairs(features, several, entries, step, board, changed, count, marks, mark, allowed):
    """The cost of all pairs with a piece in one of the `changed` cells, which carry the mark; each pair once.

    Costs are never negative: once it is more than `allowed` the rest is left out. All are asked for before any is read,
    as they lie anywhere in memory.
    """
    cells, width, codes = board.cells, board.width, board.codes
    steps = (1, width, -1, -width)
    total = 0.0
    for turn in range(2):
        for index in range(count):
            cell = changed[index]
            piece = np.int64(cells[cell])
            if piece < 0:
                continue
            for direction in range(4):
                beside = cell + steps[direction]
                other = np.int64(cells[beside])
                if other >= 0 and (direction < 2 or marks[beside] != mark):
                    row, second = pair_in(codes, several, piece, direction, other, cell, beside)
                    if turn == 0:
                        fetch_cost(entries, step, row, second)
                    else:
                        total += recalled(features, entries, step, row, second)
            if total > allowed:
                return total
    return total


@kernel
def gather_segment(partners, board, marks, mark, first, keep_out, most, looseness, state, segment):
    """Gather up to `most` pieces that hang on `first`: always over partners, else with chance `looseness`.

    The piece `keep_out` is left where it is. Return how many there are.
    """
    cells, places, width = board.cells, board.places, board.width
    steps = (1, width, -1, -width)
    segment[0] = first
    marks[places[first]] = mark
    marks[places[keep_out]] = mark
    count = 1
    reached = 0
    while reached < count < most:
        state += GAMMA
        index = reached + below(mix(state), count - reached)
        piece = np.int64(segment[index])
        segment[index] = segment[reached]
        segment[reached] = piece
        reached += 1
        for direction in range(4):
            beside = places[piece] + steps[direction]
            other = cells[beside]
            if other >= 0 and marks[beside] != mark and count < most:
                state += GAMMA
                if partners[piece, direction] == other or unit(mix(state)) < looseness:
                    marks[beside] = mark
                    segment[count] = other
                    count += 1
    return count


@kernel
def fill_holes(features, several, entries, step, board, holes, hole_count, pool, state, noise, spent, allowed):
    """Fill the holes with the pieces of the pool, the hole with the most neighbours first, by the best fit.

    With `noise` a fit is judged up to that much too high. Return what was `spent`, with what the pieces cost that were
    put in: each pair is counted when its second piece comes. Costs are never negative, so when more is spent than
    `allowed` the filling ends, complete or not: infinitely much if no piece of the pool is cheap enough for a hole.
    """
    cells, places, width, codes, _ = board
    steps = (1, width, -1, -width)
    while hole_count > 0 and spent <= allowed:
        state += GAMMA
        offset = below(mix(state), hole_count)
        most, chosen = -1, 0
        for turn in range(hole_count):
            index = turn + offset
            if index >= hole_count:
                index -= hole_count
            filled = 0
            for direction in range(4):
                if cells[holes[index] + steps[direction]] != HOLE:
                    filled += 1
            if filled > most:
                most, chosen = filled, index
                if filled == 4:
                    break
        cell = holes[chosen]
        # With noise what is judged best may be too dear although another piece is not, and then is put in all the same.
        dearest = np.inf if noise > 0 else allowed - spent + ROUNDING * allowed
        best, fittest, price = np.inf, 0, np.inf
        for index in range(hole_count):  # They lie anywhere in memory.
            piece = np.int64(pool[index])
            for direction in range(4):
                beside = cell + steps[direction]
                other = np.int64(cells[beside])
                if other >= 0:
                    row, second = pair_in(codes, several, piece, direction, other, cell, beside)
                    fetch_cost(entries, step, row, second)
        for index in range(hole_count):
            piece = np.int64(pool[index])
            cost = 0.0
            for direction in range(4):
                beside = cell + steps[direction]
                other = np.int64(cells[beside])
                if other >= 0:
                    row, second = pair_in(codes, several, piece, direction, other, cell, beside)
                    cost += recalled(features, entries, step, row, second)
                    if cost >= best or cost > dearest:
                        break
            judged = cost
            if noise > 0:
                state += GAMMA
                judged *= 1 + noise * unit(mix(state))
            if judged < best and cost <= dearest:
                best, fittest, price = judged, index, cost
        if best == np.inf:
            return np.inf
        spent += price
        hole_count -= 1
        holes[chosen] = holes[hole_count]
        cells[cell] = pool[fittest]
        places[pool[fittest]] = cell
        pool[fittest] = pool[hole_count]
    return spent


@kernel
def note_costs(features, several, entries, step, board, changed, count):
    """Note what the seams of some cells cost."""
    cells, width, codes, seams = board.cells, board.width, board.codes, board.seams
    steps = (1, width, -1, -width)
    for index in range(count):
        cell = changed[index]
        piece = np.int64(cells[cell])
        for direction in range(4):
            beside = cell + steps[direction]
            other = np.int64(cells[beside])
            if other >= 0:
                row, second = pair_in(codes, several, piece, direction, other, cell, beside)
                seams[min(cell, beside), direction & 1] = recalled(features, entries, step, row, second)


@kernel
def note_doubts(fair_costs, board, doubts, changed, count):
    """Bring the doubts of the sides of some cells, and of those that face them, up to date."""
    cells, width, seams = board.cells, board.width, board.seams
    sides, indices, counter = doubts
    steps = (1, width, -1, -width)
    for at in range(count):
        cell = changed[at]
        piece = np.int64(cells[cell])
        for direction in range(4):
            beside = cell + steps[direction]
            other = np.int64(cells[beside])
            cost = seams[min(cell, beside), direction & 1]
            for turn in range(2):
                side = 4 * piece + direction if turn == 0 else 4 * other + (direction ^ 2)
                if side < 0:
                    continue
                doubtful = other >= 0 and cost > fair_costs[side]
                index = indices[side]
                if doubtful and index < 0:
                    indices[side] = counter[0]
                    sides[counter[0]] = side
                    counter[0] += 1
                elif not doubtful and index >= 0:
                    counter[0] -= 1
                    last = sides[counter[0]]
                    sides[index] = last
                    indices[last] = index
                    indices[side] = -1


@kernel
def dearest_doubt(fair_costs, board, doubts, state):
    """The side that costs most beyond what is fair, of DRAWN sides in doubt."""
    places, width, seams = board.places, board.width, board.seams
    dearest, most = np.int64(0), -np.inf
    for _ in range(DRAWN):
        state += GAMMA
        side = np.int64(doubts.sides[below(mix(state), doubts.number[0])])
        direction = side & 3
        cell = np.int64(places[side >> 2]) - (0, 0, 1, width)[direction]
        excess = seams[cell, direction & 1] - fair_costs[side]
        if excess > most:
            dearest, most = side, excess
    return dearest


@kernel
def is_doubted(board, indices, cell, direction):
    """Whether one of the two sides that meet at a cell's seam is in doubt."""
    piece = np.int64(board.cells[cell])
    if piece < 0:
        return False
    other = np.int64(board.cells[cell + (1, board.width, -1, -board.width)[direction]])
    if other < 0:
        return False
    return indices[4 * piece + direction] >= 0 or indices[4 * other + (direction ^ 2)] >= 0


@kernel
def plan_swap(board, indices, anchor, wanted, direction, state, changed, sources):
    """Plan to swap two blocks that lie end to end, so that the `wanted` cell's piece comes next to the anchor's.

    On the anchor's line, the wanted piece brings all up to the next doubted seam with it. The lines beside it follow as
    long as they too have a doubted seam near the anchor's. This is what a strip of sky needs in which two parts are
    swapped, or of which one end was stuck on to the other. Return how many cells change: each gets the piece of its
    cell in `sources`.
    """
    cells, width = board.cells, board.width
    steps = (1, width, -1, -width)
    step = steps[direction]
    behind = (wanted - anchor) * step < 0
    count = 0
    for turn in range(2):
        cross = steps[direction ^ 1] if turn == 0 else -steps[direction ^ 1]
        end, start = anchor, wanted
        first_line = True
        while True:
            if not first_line or turn == 1:
                end, start = end + cross, start + cross
                if cells[end] < 0 or cells[start] < 0:
                    break
                found = False
                for slip in (0, 1, -1, 2, -2):
                    near = end + slip * step
                    if not found and 0 <= near < len(cells) and is_doubted(board, indices, near, direction):
                        end, found = near, True
                state += GAMMA
                if not found or mix(state) & np.uint64(7) == 0 or (end - start) * step * (1 if behind else -1) <= 0:
                    break
            first_line = False
            # Two blocks end to end: from `low` to `cut`, and from there to `high`.
            if behind:
                low, high, cut = start, end, start
                while cut != high and not is_doubted(board, indices, cut, direction):
                    cut += step
                if cut == high:
                    return count
            else:
                low, cut, high = end + step, start - step, start
                while cells[high + step] >= 0 and not is_doubted(board, indices, high, direction):
                    high += step
            target = low
            source = cut + step
            while True:
                changed[count], sources[count] = target, source
                count += 1
                if target == high:
                    break
                target += step
                source = source + step if source != high else low
            if count > MOST_SWAPPED:
                return count
    return count


@kernel
def anneal(compatibility, columns, phases, chain, memory, begin, end, moves, temperature):
    """Make the moves begin .. end-1 of a chain that is to make `moves` in all, from a temperature down to zero.

    A piece is brought only where it can lie, given the `phases` of the frame (see `frame_phases`).

    Invariant between two moves: the board holds every piece once, what its seams cost is noted, and `doubts` lists the
    sides that are in doubt.
    """
    compatibility = uncounted(compatibility)
    candidates, partners = compatibility.candidates, compatibility.partners
    fair_costs, features = compatibility.fair_costs, compatibility.features
    masks, several = compatibility.bearings.masks, compatibility.bearings.several
    board, doubts, states = chain
    cells, places, width, _, _ = board
    sides, doubt_count = doubts.sides, doubts.number
    entries, step = memory
    pieces = len(places)
    rows = pieces // columns
    keep = candidates.shape[1]
    steps = (1, width, -1, -width)
    # A move changes less than all cells, and none twice.
    segment, targets = np.empty(len(cells), np.int32), np.empty(len(cells), np.int32)
    changed, before = np.empty(len(cells), np.int32), np.empty(len(cells), np.int32)
    pool, holes = np.empty(len(cells), np.int32), np.empty(len(cells), np.int32)
    marks = np.zeros(len(cells), np.int64)
    mark = np.int64(0)
    most_whole = np.int64(max(MOST_MOVED, min(MOST_WHOLE, pieces // MOST_WHOLE_PART)))
    state = states[0]
    heat = 0.0

    for move in range(begin, end):
        if move == begin or move % STRIDE == 0:
            heat = temperature * (1 - (move - move % STRIDE) / moves) ** 2
        if doubt_count[0] == 0:
            break
        # A seam in doubt, and a piece that would fit there: the first candidate in half of all cases, and so on.
        side = dearest_doubt(fair_costs, board, doubts, state)
        state += np.uint64(DRAWN + 1) * GAMMA
        bits_drawn = mix(state)
        anchor, direction = side >> 2, side & 3
        goal = places[anchor] + steps[direction]
        if bits_drawn >> np.uint64(61) == 0:
            # One time in eight, a piece that is in doubt itself: where hundreds look alike, candidates are but a few.
            state += GAMMA
            piece = np.int64(sides[below(mix(state), doubt_count[0])]) >> 2
        else:
            rank = 0
            while rank < keep - 1 and bits_drawn & np.uint64(1):
                rank += 1
                bits_drawn >>= np.uint64(1)
            piece = np.int64(candidates[side, rank]) >> 2
        if piece == cells[goal] or piece == anchor:
            continue
        if not suits(masks, phases, piece, goal // width - 1, goal % width - 1):
            continue
        down = goal // width - places[piece] // width
        right = goal % width - places[piece] % width
        shift = down * width + right

        state += GAMMA
        choices = mix(state)
        on_line = down == 0 if direction & 1 == 0 else right == 0
        if on_line and choices & np.uint64(1):
            count = plan_swap(
                board, doubts.indices, places[anchor], places[piece], direction, choices, changed, targets
            )
            mark += 1
            for index in range(count):
                marks[changed[index]] = mark
            cost_before = cost_as_noted(board, changed, count, marks, mark)
            for index in range(count):
                before[index] = cells[changed[index]]
                pool[index] = cells[targets[index]]
            for index in range(count):
                cells[changed[index]] = pool[index]
                places[pool[index]] = changed[index]
            state += GAMMA
            allowed = cost_before - heat * np.log(1 - unit(mix(state)))
            cost = cost_of_pairs(features, several, entries, step, board, changed, count, marks, mark, allowed)
            if cost <= allowed:
                note_costs(features, several, entries, step, board, changed, count)
                note_doubts(fair_costs, board, doubts, changed, count)
            else:
                for index in range(count):
                    cells[changed[index]] = before[index]
                    places[before[index]] = changed[index]
            continue

        # Its segment, without what would leave the frame or push the anchor away.
        state += GAMMA
        choices = mix(state)
        most = np.int64(np.exp(unit(choices) * np.log(MOST_MOVED)))
        if choices & np.uint64(3) == 0:
            most = np.int64(1)
        state += GAMMA
        looseness = 0.6 * unit(mix(state))
        whole = (choices >> np.uint64(2)) % np.uint64(WHOLE_EVERY) == 0
        if whole:
            most, looseness = most_whole, 0.0
        mark += 1
        gathered = gather_segment(partners, board, marks, mark, piece, anchor, most, looseness, mix(state), segment)
        if whole and gathered == most:
            continue
        moved = 0
        for index in range(gathered):
            cell = places[segment[index]]
            row, column = cell // width + down, cell % width + right
            if 1 <= row <= rows and 1 <= column <= columns and cell + shift != places[anchor]:
                segment[moved] = segment[index]
                moved += 1

        # The cells that change: where the segment lies, where it goes, and perhaps some around.
        mark += 1
        count = 0
        for index in range(moved):
            cell = places[segment[index]]
            marks[cell] = mark
            changed[count] = cell
            count += 1
        for index in range(moved):
            cell = places[segment[index]] + shift
            targets[index] = cell
            if marks[cell] != mark:
                marks[cell] = mark
                changed[count] = cell
                count += 1
        state += GAMMA
        choices = mix(state)
        if choices & np.uint64(1):
            for _ in range(below(choices, MOST_RUINED)):
                state += GAMMA
                choices = mix(state)
                cell = changed[below(choices, count)] + steps[choices & np.uint64(3)]
                if cells[cell] >= 0 and marks[cell] != mark and cell != places[anchor]:
                    marks[cell] = mark
                    changed[count] = cell
                    count += 1

        cost_before = cost_as_noted(board, changed, count, marks, mark)
        for index in range(count):
            before[index] = cells[changed[index]]
            cells[changed[index]] = HOLE
        for index in range(moved):
            cells[targets[index]] = segment[index]
            places[segment[index]] = targets[index]
        displaced = 0
        for index in range(count):
            if cells[places[before[index]]] != before[index]:
                pool[displaced] = before[index]
                displaced += 1
        state += GAMMA
        choices = mix(state)
        if displaced > MANY_DISPLACED or choices & np.uint64(3) == 0:
            left_over = 0
            for index in range(displaced):
                cell = places[pool[index]]
                row, column = cell // width - down, cell % width - right
                if 1 <= row <= rows and 1 <= column <= columns and cells[cell - shift] == HOLE:
                    cells[cell - shift] = pool[index]
                    places[pool[index]] = cell - shift
                else:
                    pool[left_over] = pool[index]
                    left_over += 1
            displaced = left_over
        hole_count = 0
        for index in range(count):
            if cells[changed[index]] == HOLE:
                holes[hole_count] = changed[index]
                hole_count += 1
        state += GAMMA
        choices = mix(state)
        noise = 0.3 * unit(choices) if choices & np.uint64(1) else 0.0
        # Metropolis: dearer by more than this is refused. It is drawn first, so that hopeless moves end early.
        state += GAMMA
        allowed = cost_before - heat * np.log(1 - unit(mix(state)))
        spent = cost_of_pairs(features, several, entries, step, board, changed, count, marks, mark, allowed)
        spent = fill_holes(
            features, several, entries, step, board, holes, hole_count, pool, choices, noise, spent, allowed
        )
        if spent <= allowed:
            note_costs(features, several, entries, step, board, changed, count)
            note_doubts(fair_costs, board, doubts, changed, count)
        else:
            for index in range(count):
                cells[changed[index]] = before[index]
                places[before[index]] = changed[index]
    states[0] = state
