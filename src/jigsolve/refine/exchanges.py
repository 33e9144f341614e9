"""Exchanges: patches of a lattice change places, millions of times, as what they cost beside each other is in tables.

Where a sky is a lattice of patches (see `patches`), most mistakes are strips of them that are shifted by one patch, and
patches that lie where others should. To mend a strip all of it must move at once, and for that a patch must be taken
out at one end and put in at the other; belief settles cell by cell, and single pieces cannot climb over what that
costs. Here a patch is brought to where it would fit, and what lay there goes where it came from; or all between moves
up; or whole rectangles change places. As in `anneal`, what is dearer is kept with a chance that shrinks to nothing.
"""

from collections.abc import Generator
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._jit import kernel
from ..compatibility.candidates import Compatibility
from ..compatibility.costs import Features
from ..compatibility.lists import insert
from ..genetic.random import GAMMA, below, first_state, mix, unit
from ..threads import Threads
from .patches import Grounds, Lattice, Places, costs_among, costs_outside, doubted_lattice, in_question, places_of

# The sizes of patches that change places, one after the other.
SIZES = (4, 2)
# Cells so far from a doubt are in question, too; and more than this are never exchanged at once.
NEAR = 2
MOST_CELLS = 4000
FEWEST_CELLS = 3
# The temperature of the first moves, in units of `rounds.cost_unit` for each piece along a patch; the share of it that
# is left in the end; and the share of the moves after which it is zero.
TEMPERATURE = 0.75
COOLED = 1 / 6
COLD = 0.95
# Chains, and moves of each for every piece in question, but at most so many.
CHAINS = 2
MOVES_PER_PIECE = 2500
MOST_MOVES = 60_000_000
# Patches that fit best at each side, which a move draws from: the next rank with this chance, and so on.
CANDIDATES = 16
NEXT = 0.6
# The longest side of a rectangle that changes places, in patches.
LONGEST = 4
# Moves between two looks at the temperature; and those after which the run can be stopped.
STRIDE = 4096
PART_MOVES = 4_000_000

SWAP, SLIDE, RECTANGLE = 0, 1, 2


class Tables(NamedTuple):
    """All that exchanges ask for. Cells and patches are numbered; first, each cell holds the patch of its number."""

    costs: NDArray[np.float32]
    """(2, patches, patches): what the second costs to the right of the first, and below it."""
    outside: NDArray[np.float32]
    """(cells, patches): what the pieces around the region cost with a patch there."""
    candidates: NDArray[np.int32]
    """(4, patches, CANDIDATES): the patches that fit best at each side of a patch."""
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    """(cells,): where they are in the lattice."""
    numbers: NDArray[np.int32]
    """(rows + 2, columns + 2): the cell there, or -1, with a border of -1."""


class Chain(NamedTuple):
    """What one annealing knows between two moves."""

    patches: NDArray[np.int32]
    """(cells,): what lies where."""
    cells: NDArray[np.int32]
    """(patches,): and where what lies."""
    state: NDArray[np.uint64]
    """(1,): of the random numbers."""


def exchanged(
    features: Features,
    grounds: Grounds,
    grid: NDArray[np.int32],
    size: int,
    heat: float,
    key: tuple[int, int],
    threads: Threads,
) -> Generator[None, None, list[NDArray[np.int32]]]:
    """Return grids of pieces, (rows, columns), in which patches of a size have changed places, one for each chain.

    They may well cost more than before. `key` is what random numbers depend on, and `heat` the first temperature for
    each piece along a patch. The lattice is the one that most doubts lie on; patches cut off by the frame are of other
    sizes and change places among themselves. No grids if too few patches are in question, or too many. Yield now and
    then.
    """
    lattice, at_doubts = doubted_lattice(features, grounds.fair_costs, grid, (size,), 1 / size)
    heights, widths = np.diff(lattice.rows), np.diff(lattice.columns)
    question = in_question(lattice.in_cells(at_doubts), NEAR)
    grids: list[NDArray[np.int32]] = []
    for part, (height, width) in enumerate(product(np.unique(heights)[::-1], np.unique(widths)[::-1])):
        cells = question & (heights == height)[:, np.newaxis] & (widths == width)
        if not FEWEST_CELLS <= cells.sum() <= MOST_CELLS:
            continue
        places = places_of(lattice, cells)
        tables = _tables(features, grid, lattice, cells, places, threads)
        chains = [_new_chain(len(places.rows), key, CHAINS * part + index) for index in range(CHAINS)]
        yield from _annealed(tables, chains, size, heat, threads)
        grids = grids or [grid.copy() for _ in chains]
        for other, chain in zip(grids, chains, strict=True):
            other[places.pieces] = grid[places.pieces][chain.patches]
    return grids


def compile_exchanges(compatibility: Compatibility, columns: int, threads: Threads) -> None:
    """Compile what only puzzles need of which patches are in question, with one in which a corner is."""
    fair = np.full_like(compatibility.fair_costs, np.inf)
    fair[:4] = -1
    grid = np.arange(len(compatibility.buddies), dtype=np.int32).reshape(-1, columns)
    for _ in exchanged(
        compatibility.told, Grounds(1.0, fair, fair, compatibility.bearings), grid, 2, 1.0, (0, 0), threads
    ):
        pass


def exchanges_bytes(pieces: int) -> int:
    """Return what exchanges take at most: tables of costs, and what they are made from."""
    return 4 * 4 * min(pieces, MOST_CELLS) ** 2


def _tables(
    features: Features,
    grid: NDArray[np.int32],
    lattice: Lattice,
    cells: NDArray[np.bool_],
    places: Places,
    threads: Threads,
) -> Tables:
    """Return what exchanges of some cells ask for."""
    patches = grid[places.pieces]
    costs = costs_among(features, patches, threads)
    known = np.where(lattice.in_pieces(cells), np.int32(-1), grid)
    numbers = np.full((cells.shape[0] + 2, cells.shape[1] + 2), -1, dtype=np.int32)
    numbers[places.rows + 1, places.columns + 1] = np.arange(len(places.rows))
    return Tables(
        costs,
        costs_outside(features, known, places, patches, threads),
        _candidates(costs, threads),
        places.rows,
        places.columns,
        numbers,
    )


def _candidates(costs: NDArray[np.float32], threads: Threads) -> NDArray[np.int32]:
    count = costs.shape[1]
    candidates = np.empty((4, count, min(CANDIDATES, count - 1)), dtype=np.int32)
    threads.run(count, partial(fill_candidates, costs, candidates))
    return candidates


def _new_chain(count: int, key: tuple[int, int], index: int) -> Chain:
    state = first_state(np.uint64(key[0]), np.uint64(key[1]), np.uint64(index))
    return Chain(np.arange(count, dtype=np.int32), np.arange(count, dtype=np.int32), np.full(1, state, np.uint64))


def _annealed(
    tables: Tables, chains: list[Chain], size: int, heat: float, threads: Threads
) -> Generator[None, None, None]:
    """Make all moves of all chains, and yield after each part of them."""
    moves = min(MOVES_PER_PIECE * size * size * len(tables.rows), MOST_MOVES)
    parts = -(-moves // PART_MOVES)
    for part in range(parts):
        bounds = moves * part // parts, moves * (part + 1) // parts

        def advance(begin: int, end: int, bounds: tuple[int, int] = bounds) -> None:
            for chain in chains[begin:end]:
                exchange(tables, chain, *bounds, moves, heat * size)

        threads.run(len(chains), advance)
        yield


@kernel
def fill_candidates(costs, candidates, begin, end):
    """Find the patches that fit best at each side of the patches begin .. end-1."""
    count, keep = costs.shape[1], candidates.shape[2]
    values, nearest = np.empty(keep), np.empty(keep, np.int64)
    for patch in range(begin, end):
        for direction in range(4):
            found = 0
            for other in range(count):
                if other == patch:
                    continue
                first, second = (patch, other) if direction < 2 else (other, patch)
                value = np.float64(costs[direction & 1, first, second])
                if found < keep or value < values[keep - 1]:
                    found = insert(values, nearest, found, value, other)
            candidates[direction, patch] = nearest


@kernel
def plan_slide(tables, patches, source, target, bits, changed, coming):
    """Plan to bring what lies in a cell along a line to another, while all between moves up by one cell.

    The same happens on as many lines beside it as are drawn. Return how many cells change, and what comes there; none
    if one is not in the region, or the two lie on no line.
    """
    numbers = tables.numbers
    row, column = tables.rows[source] + 1, tables.columns[source] + 1
    down, right = tables.rows[target] + 1 - row, tables.columns[target] + 1 - column
    length = max(abs(down), abs(right))
    if abs(down) + abs(right) != length:
        return 0
    down, right = np.sign(down), np.sign(right)
    lines = 1 + below(bits << np.uint64(32), LONGEST)
    first = -below(bits << np.uint64(40), lines)
    count = 0
    for line in range(first, first + lines):
        top, start = row + line * abs(right), column + line * abs(down)
        if not (0 < top < numbers.shape[0] and 0 < start < numbers.shape[1]):
            return 0
        begin = count
        for index in range(length + 1):
            cell = numbers[top + index * down, start + index * right]
            if cell < 0:
                return 0
            changed[count] = cell
            if count > begin:
                coming[count - 1] = patches[cell]
            count += 1
        coming[count - 1] = patches[changed[begin]]
    return count


@kernel
def plan_rectangles(tables, patches, source, target, bits, changed, coming):
    """Plan to swap two rectangles, in which two cells lie at the same place, that is drawn, as the size is.

    Return how many cells change, and what comes there; none if they overlap or leave the region.
    """
    height, width = 1 + below(bits << np.uint64(32), LONGEST), 1 + below(bits << np.uint64(40), LONGEST)
    up, left = below(bits << np.uint64(48), height), below(bits << np.uint64(56), width)
    rows, columns, numbers = tables.rows, tables.columns, tables.numbers
    if abs(rows[source] - rows[target]) < height and abs(columns[source] - columns[target]) < width:
        return 0
    top, start = rows[source] - up + 1, columns[source] - left + 1
    other_top, other_start = rows[target] - up + 1, columns[target] - left + 1
    if min(top, other_top) < 1 or min(start, other_start) < 1:
        return 0
    if max(top, other_top) + height > numbers.shape[0] or max(start, other_start) + width > numbers.shape[1]:
        return 0
    count = 0
    for row in range(height):
        for column in range(width):
            one, two = numbers[top + row, start + column], numbers[other_top + row, other_start + column]
            if one < 0 or two < 0:
                return 0
            changed[count], coming[count] = one, patches[two]
            changed[count + 1], coming[count + 1] = two, patches[one]
            count += 2
    return count


@kernel
def cost_of_cells(tables, patches, changed, count, marks, mark):
    """What the patches in the `changed` cells cost, which carry the mark; each pair once."""
    costs, outside, numbers = tables.costs, tables.outside, tables.numbers
    total = 0.0
    for index in range(count):
        cell = changed[index]
        patch = patches[cell]
        total += outside[cell, patch]
        row, column = tables.rows[cell] + 1, tables.columns[cell] + 1
        right, below_it = numbers[row, column + 1], numbers[row + 1, column]
        left, above = numbers[row, column - 1], numbers[row - 1, column]
        if right >= 0:
            total += costs[0, patch, patches[right]]
        if below_it >= 0:
            total += costs[1, patch, patches[below_it]]
        if left >= 0 and marks[left] != mark:
            total += costs[0, patches[left], patch]
        if above >= 0 and marks[above] != mark:
            total += costs[1, patches[above], patch]
    return total


@kernel
def exchange(tables, chain, begin, end, moves, temperature):
    """Make the moves begin .. end-1 of a chain that is to make `moves` in all, from a temperature down.

    Invariant between two moves: every cell holds one patch, and `cells` says where each lies.
    """
    rows, columns, numbers = tables.rows, tables.columns, tables.numbers
    patches, cells, states = chain
    count, keep = len(patches), tables.candidates.shape[2]
    changed, coming, before = np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.int32)
    marks, mark = np.zeros(count, np.int64), np.int64(0)
    state, heat = states[0], 0.0
    for move in range(begin, end):
        if move == begin or move % STRIDE == 0:
            done = (move - move % STRIDE) / moves
            heat = temperature * COOLED**done if done < COLD else 0.0
        # A cell, one of its sides, and a patch that would fit there.
        state += GAMMA
        bits = mix(state)
        anchor, direction = below(bits, count), np.int64(bits & np.uint64(3))
        row, column = rows[anchor] + 1, columns[anchor] + 1
        down, right = (0, 1, 0, -1)[direction], (1, 0, -1, 0)[direction]
        goal = np.int64(numbers[row + down, column + right])
        if goal < 0:
            continue
        state += GAMMA
        chance, rank = unit(mix(state)), 0
        while rank < keep - 1 and chance < NEXT:
            chance /= NEXT
            rank += 1
        wanted = tables.candidates[direction, patches[anchor], rank]
        source = np.int64(cells[wanted])
        if source in (goal, anchor):
            continue
        state += GAMMA
        bits = mix(state)
        kind = (SWAP, SWAP, SLIDE, RECTANGLE)[np.int64(bits & np.uint64(3))]
        size = 0
        if kind == SLIDE:
            size = plan_slide(tables, patches, source, goal, bits >> np.uint64(2), changed, coming)
        elif kind == RECTANGLE:
            size = plan_rectangles(tables, patches, source, goal, bits >> np.uint64(2), changed, coming)
        if kind == SWAP or (kind == SLIDE and size == 0):
            changed[0], coming[0], changed[1], coming[1] = goal, wanted, source, patches[goal]
            size = 2
        if size == 0:
            continue
        mark += 1
        for index in range(size):
            marks[changed[index]] = mark
            before[index] = patches[changed[index]]
        state += GAMMA
        allowed = cost_of_cells(tables, patches, changed, size, marks, mark) - heat * np.log(1 - unit(mix(state)))
        for index in range(size):
            patches[changed[index]] = coming[index]
        if cost_of_cells(tables, patches, changed, size, marks, mark) <= allowed:
            for index in range(size):
                cells[coming[index]] = changed[index]
        else:
            for index in range(size):
                patches[changed[index]] = before[index]
    states[0] = state
