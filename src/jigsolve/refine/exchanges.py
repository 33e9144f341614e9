"""Exchanges: patches of a lattice change places, millions of times, as what they cost beside each other is in tables.

Where a sky is a lattice of patches (see `patches`), most mistakes are strips of them that are shifted by one patch, and
patches that lie where others should. To mend a strip all of it must move at once, and for that a patch must be taken
out at one end and put in at the other; belief settles cell by cell, and single pieces cannot climb over what that
costs. Here a patch is brought to where it would fit, and what lay there goes where it came from; or all between moves
up; or whole rectangles change places. As in `anneal`, what is dearer is kept with a chance that shrinks to nothing.

Where it is known how cells lie in blocks of JPEG (see `bearings`), cells are of several kinds, which repeat. A patch
comes only into cells of a kind that suits it, so there is a table for each two kinds that meet, of the patches that may
lie in them: all of them together are far smaller than one of all patches, and tell what a pair costs in that place.
"""

from collections.abc import Generator, Sequence
from functools import partial
from itertools import product
from math import gcd
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._access import uncounted
from .._jit import inlined, kernel
from ..compatibility.bearings import Bearings, frame_numbers
from ..compatibility.candidates import Compatibility
from ..compatibility.costs import Features
from ..compatibility.likeness_costs import FLAT
from ..compatibility.lists import insert
from ..compatibility.seam_costs import Seams
from ..compatibility.trace_costs import UNKNOWN
from ..genetic.random import GAMMA, below, first_state, mix, unit
from ..threads import Threads
from .patches import (
    AT_HAND,
    Grounds,
    Lattice,
    Places,
    add_known,
    cost_of_pair_in,
    doubted_lattice,
    in_question,
    own_phases,
    phase_at,
    places_of,
)

# The sizes of patches that change places, one after the other, each with the temperatures of its chains at first, in
# units of `rounds.cost_unit` for each piece along a patch. How hot is best differs from sky to sky: a small one needs
# much heat, in which a wide one melts and does not freeze again in time.
HEATS = {4: (0.75, 1.5), 2: (1.5, 3.0), 1: (1.0, 2.0)}
# Cells so far from a doubt are in question, too; and no more are exchanged at once than tables of so many patches of
# a single kind can hold.
NEAR = 2
MOST_CELLS = 4000
FEWEST_CELLS = 3
# The share of the first temperature that is left in the end; and the share of the moves after which it is zero.
COOLED = 1 / 6
COLD = 0.95
# Moves of a chain for every piece in question, by size, but at most so many, at this effort; each step doubles them.
USUAL_EFFORT = 5
MOVES_PER_PIECE = {4: 2500, 2: 2500, 1: 10_000}
MOST_MOVES = 60_000_000
# Patches that fit best at each side, which a move draws from: the next rank with this chance, and so on.
CANDIDATES = 16
NEXT = 0.6
# The longest side of a rectangle that changes places, in patches.
LONGEST = 4
# Sides that a move draws, of which it doubts the one that is dearest beyond what would fit it best.
DRAWN = 6
# Moves between two looks at the temperature; and those after which the run can be stopped.
STRIDE = 4096
PART_MOVES = 4_000_000

SWAP, SLIDE, RECTANGLE = 0, 1, 2
# From a cell to those on its sides.
STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))


class Kinds(NamedTuple):
    """How many kinds of cells there are, and which patches may lie in them."""

    of: NDArray[np.int64]
    """(cells,): the kind of each cell."""
    beside: NDArray[np.int64]
    """(2, kinds): the kind of what lies to the right of a cell, and below it; -1 if there is none."""
    members: NDArray[np.int32]
    """The patches that may lie in a cell of the first kind, then those of the second, and so on."""
    firsts: NDArray[np.int64]
    """(kinds + 1,): where those of each kind begin, and the end."""
    indices: NDArray[np.int32]
    """(kinds, patches): the index of a patch among those of a kind, or -1."""
    strides: NDArray[np.int64]
    """(2,): after how many cells kinds repeat, down and across."""

    def members_of(self, kind: int) -> NDArray[np.int32]:
        """Return the patches that may lie in cells of a kind."""
        return self.members[self.firsts[kind] : self.firsts[kind + 1]]

    def pairs(self) -> NDArray[np.int64]:
        """Return (2, kinds): how many pairs can meet to the right of a kind, and below it."""
        sizes = np.append(np.diff(self.firsts), 0)  # The last is of no kind.
        return sizes[:-1] * sizes[self.beside]


class Tables(NamedTuple):
    """All that exchanges ask for. Cells and patches are numbered; first, each cell holds the patch of its number."""

    kinds: Kinds
    costs: NDArray[np.float32]
    """What a patch of a kind costs with each of those that may lie beside it, above the least of all: table after
    table, row by row."""
    begins: NDArray[np.int64]
    """(cells, 2): where the table of a cell and what lies to the right of it begins, and that of what lies below it."""
    widths: NDArray[np.int64]
    """(cells, 2): how long the rows of these tables are."""
    outside: NDArray[np.float32]
    """What the pieces around the region cost with each patch that may lie in a cell, above the least of these: cell
    after cell."""
    outside_begins: NDArray[np.int64]
    """(cells,): where each begins."""
    candidates: NDArray[np.int32]
    """(4, members, CANDIDATES): the patches that fit best at each side of a patch that is of a kind; -1 for none."""
    fair: NDArray[np.float32]
    """(4, members): what the first of them costs."""
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    """(cells,): where they are in the lattice."""
    numbers: NDArray[np.int32]
    """(rows + 2, columns + 2): the cell there, or -1, with a border of -1."""
    beside: NDArray[np.int32]
    """(cells, 4): the cells on each side of a cell, or -1."""


class Chain(NamedTuple):
    """What one annealing knows between two moves."""

    patches: NDArray[np.int32]
    """(cells,): what lies where."""
    cells: NDArray[np.int32]
    """(patches,): and where what lies."""
    indices: NDArray[np.int32]
    """(cells,): which of the patches of its kind lies in a cell."""
    seams: NDArray[np.float32]
    """(cells, 3): what it costs with what lies to the right of it, below it, and outside the region."""
    doubts: NDArray[np.float64]
    """(cells, 4): how much dearer what lies on a side is than what would fit best there; minus infinity where that is
    no cell of the region."""
    state: NDArray[np.uint64]
    """(1,): of the random numbers."""


def exchanged(
    features: Features,
    grounds: Grounds,
    grid: NDArray[np.int32],
    size: int,
    heats: Sequence[float],
    effort: int,
    key: tuple[int, int],
    threads: Threads,
) -> Generator[None, None, list[NDArray[np.int32]]]:
    """Return grids of pieces, (rows, columns), in which patches of a size have changed places, one for each chain.

    They may well cost more than before. `key` is what random numbers depend on, and `heats` the first temperatures of
    the chains for each piece along a patch. The lattice is the one that most doubts lie on; patches cut off by the
    frame are of other sizes and change places among themselves. Single pieces do so only if they are flat, as far as
    that is known: all others are for `anneal` to mend. No grids if too few patches are in question, or too many. Yield
    now and then.
    """
    fair, phases = grounds.fair_costs, frame_numbers(grounds.bearings, grid)
    lattice, at_doubts = doubted_lattice(features, phases, fair, grid, (size,), 1 / size)
    heights, widths = np.diff(lattice.rows), np.diff(lattice.columns)
    doubtful = lattice.in_cells(at_doubts)
    grids: list[NDArray[np.int32]] = []
    for part, (height, width) in enumerate(product(np.unique(heights)[::-1], np.unique(widths)[::-1])):
        of_size = (heights == height)[:, np.newaxis] & (widths == width)
        if size == 1:
            of_size &= _flat_pieces(features, len(fair) // 4)[grid]
        region = _region(grounds.bearings, phases, grid, lattice, doubtful, of_size)
        if region is None:
            continue
        tables = _tables(features, phases, grid, lattice, region, threads)
        places = region.places
        chains = [new_chain(tables, key, len(heats) * part + index) for index in range(len(heats))]
        yield from _annealed(tables, chains, size, heats, effort, threads)
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
        compatibility.told, Grounds(1.0, fair, fair, compatibility.bearings), grid, 2, (1.0,), 1, (0, 0), threads
    ):
        pass


def exchanges_bytes(pieces: int) -> int:
    """Return what exchanges take at most: tables of costs, and what they are made from."""
    return 6 * 4 * min(pieces, MOST_CELLS) ** 2


def kinds_of(bearings: Bearings, phases: NDArray[np.int64], places: Places, patches: NDArray[np.int32]) -> Kinds:
    """Return the kinds of cells, given the phases of the frame (see `frame_numbers`): one if none are known.

    A patch suits the kinds that its phases allow, and that of the cell that it lies in.
    """
    periods, size = np.array(phases.shape), np.array(patches.shape[1:])
    there, of = np.unique(places.corners % periods, axis=0, return_inverse=True)
    of = of.reshape(-1)
    number = np.full(phases.shape, -1)
    number[tuple(there.T)] = np.arange(len(there))
    steps = np.array([[0, size[1]], [size[0], 0]])
    beside = number[tuple(np.moveaxis((there + steps[:, np.newaxis]) % periods, -1, 0))]
    suited = np.ones((len(there), len(patches)), dtype=np.bool_)
    if phases[0, 0] != UNKNOWN:
        bits = np.uint64(1) << phases[tuple(there.T)].astype(np.uint64)
        suited = own_phases(bearings, patches) & bits[:, np.newaxis] != 0
    suited[of, np.arange(len(patches))] = True
    indices = np.where(suited, np.cumsum(suited, axis=1) - 1, -1).astype(np.int32)
    firsts = np.concatenate([[0], np.cumsum(suited.sum(axis=1))])
    strides = np.array([period // gcd(period, length) for period, length in zip(periods, size, strict=True)])
    return Kinds(of, beside, np.nonzero(suited)[1].astype(np.int32), firsts, indices, strides)


def _flat_pieces(features: Features, pieces: int) -> NDArray[np.bool_]:
    """Return which pieces are flat, as far as their likeness tells."""
    if not isinstance(features, Seams) or len(features.likeness.sheets) == 0:
        return np.zeros(pieces, dtype=np.bool_)
    return features.likeness.sheets[::2, FLAT] > 0


class Region(NamedTuple):
    """Cells of one size whose patches change places."""

    cells: NDArray[np.bool_]
    places: Places
    kinds: Kinds


def _region(
    bearings: Bearings,
    phases: NDArray[np.int64],
    grid: NDArray[np.int32],
    lattice: Lattice,
    doubtful: NDArray[np.bool_],
    of_size: NDArray[np.bool_],
) -> Region | None:
    """Return the cells in question that are of one size, as many around the doubtful ones as tables can hold."""
    for near in range(NEAR, -1, -1):
        cells = in_question(doubtful, near) & of_size
        if cells.sum() < FEWEST_CELLS:
            return None
        places = places_of(lattice, cells)
        kinds = kinds_of(bearings, phases, places, grid[places.pieces])
        pairs = kinds.pairs().sum()
        if pairs == 0:  # No two of the cells lie side by side.
            return None
        if pairs <= 2 * MOST_CELLS**2:
            return Region(cells, places, kinds)
    return None


def _tables(
    features: Features,
    phases: NDArray[np.int64],
    grid: NDArray[np.int32],
    lattice: Lattice,
    region: Region,
    threads: Threads,
) -> Tables:
    """Return what exchanges in a region ask for."""
    cells, places, kinds = region
    patches, sizes = grid[places.pieces], np.diff(kinds.firsts)
    pairs = kinds.pairs()
    begins = (np.cumsum(pairs) - pairs.ravel()).reshape(pairs.shape)
    costs = np.empty(pairs.sum(), dtype=np.float32)
    candidates = np.full((4, len(kinds.members), CANDIDATES), -1, dtype=np.int32)
    fair = np.zeros((4, len(kinds.members)), dtype=np.float32)
    around = np.pad(np.where(lattice.in_pieces(cells), np.int32(-1), grid), 1, constant_values=-1)
    outside_begins = np.cumsum(sizes[kinds.of]) - sizes[kinds.of]
    outside = np.empty(sizes[kinds.of].sum(), dtype=np.float32)
    for kind in range(len(sizes)):
        members, first = kinds.members_of(kind), kinds.firsts[kind]
        here = np.flatnonzero(kinds.of == kind)
        facing = np.zeros((len(here), len(members)), dtype=np.float32)
        threads.run(
            len(here), partial(fill_outside, features, phases, around, places.corners[here], patches[members], facing)
        )
        facing -= facing.min(axis=1)[:, np.newaxis]
        outside[outside_begins[here][:, np.newaxis] + np.arange(len(members))] = facing
        corner = places.corners[here[0]]
        for axis in range(2):
            other = kinds.beside[axis, kind]
            if other < 0:
                continue
            others = kinds.members_of(other)
            begin = begins[axis, kind]
            table = costs[begin : begin + len(members) * len(others)].reshape(len(members), len(others))
            threads.run(
                len(members),
                partial(fill_costs_between, features, phases, corner, axis, patches, members, others, table),
            )
            threads.run(len(members), partial(fill_candidates, table, members, others, candidates[axis, first:]))
            fair[axis, first : first + len(members)] = table.min(axis=1)
            turned, second = np.ascontiguousarray(table.T), kinds.firsts[other]
            threads.run(len(others), partial(fill_candidates, turned, others, members, candidates[axis + 2, second:]))
            fair[axis + 2, second : second + len(others)] = table.min(axis=0)
    least = costs.min()
    costs -= least  # Then all are above zero, and a sum that is too high already is given up (see `cost_after`).
    rows, columns = places.rows, places.columns
    numbers = np.full((cells.shape[0] + 2, cells.shape[1] + 2), -1, dtype=np.int32)
    numbers[rows + 1, columns + 1] = np.arange(len(rows))
    beside = np.stack([numbers[rows + 1 + down, columns + 1 + right] for down, right in STEPS], axis=1)
    widths = np.append(sizes, 0)[kinds.beside]
    return Tables(
        kinds,
        costs,
        np.ascontiguousarray(begins[:, kinds.of].T),
        np.ascontiguousarray(widths[:, kinds.of].T),
        outside,
        outside_begins,
        candidates,
        fair - least,
        rows,
        columns,
        numbers,
        beside,
    )


def new_chain(tables: Tables, key: tuple[int, int], index: int) -> Chain:
    """Return a chain that has made no move; each key and index makes others."""
    patches = np.arange(len(tables.rows), dtype=np.int32)
    indices = tables.kinds.indices[tables.kinds.of, patches]
    state = first_state(np.uint64(key[0]), np.uint64(key[1]), np.uint64(index))
    seams, doubts = np.empty((len(patches), 3), dtype=np.float32), np.full((len(patches), 4), -np.inf)
    note_seams(tables, indices, seams, doubts, patches, len(patches))
    return Chain(patches, patches.copy(), indices, seams, doubts, np.full(1, state, np.uint64))


def _annealed(
    tables: Tables, chains: list[Chain], size: int, heats: Sequence[float], effort: int, threads: Threads
) -> Generator[None, None, None]:
    """Make all moves of all chains, and yield after each part of them."""
    usual = min(MOVES_PER_PIECE[size] * size * size * len(tables.rows), MOST_MOVES)
    moves = usual * 2**effort // 2**USUAL_EFFORT
    parts = -(-moves // PART_MOVES)
    for part in range(parts):
        bounds = moves * part // parts, moves * (part + 1) // parts

        def advance(begin: int, end: int, bounds: tuple[int, int] = bounds) -> None:
            for chain, heat in zip(chains[begin:end], heats[begin:end], strict=True):
                exchange(tables, chain, *bounds, moves, heat * size)

        threads.run(len(chains), advance)
        yield


@kernel
def fill_outside(features, phases, around, corners, patches, outside, begin, end):
    """Find what the known pieces around the cells begin .. end-1 cost with each patch there (see `add_known`)."""
    features = uncounted(features)
    for cell in range(begin, end):
        for direction in range(4):
            add_known(
                features, phases, around, corners[cell, 0] + 1, corners[cell, 1] + 1, direction, patches, outside[cell]
            )


@kernel
def fill_costs_between(features, phases, corner, axis, patches, ones, others, costs, begin, end):
    """Find what other patches cost to the right of the patches ones[begin .. end-1], or below them.

    As all lie in cells of a kind, the first piece of the first patch may lie in the `corner`. A few are compared with
    all of these before the next few: what is known of their sides stays in the cache.
    """
    features = uncounted(features)
    height, width = patches.shape[1], patches.shape[2]
    for first in range(0, len(others), AT_HAND):
        for index in range(begin, end):
            one = ones[index]
            for place in range(first, min(first + AT_HAND, len(others))):
                two = others[place]
                total = 0.0
                if one != two and axis == 0:
                    for row in range(height):
                        phase = phase_at(phases, corner[0] + row, corner[1] + width)
                        total += cost_of_pair_in(features, patches[one, row, width - 1], 0, patches[two, row, 0], phase)
                elif one != two:
                    for column in range(width):
                        phase = phase_at(phases, corner[0] + height, corner[1] + column)
                        total += cost_of_pair_in(
                            features, patches[one, height - 1, column], 1, patches[two, 0, column], phase
                        )
                costs[index, place] = total if one != two else np.inf


@kernel
def fill_candidates(costs, ones, others, candidates, begin, end):
    """Find the patches of the others that fit best beside the patches ones[begin .. end-1], of which `costs` tells."""
    keep = candidates.shape[1]
    values, nearest = np.empty(keep), np.empty(keep, np.int64)
    for index in range(begin, end):
        found = 0
        for place in range(len(others)):
            if others[place] == ones[index]:
                continue
            value = np.float64(costs[index, place])
            if found < keep or value < values[keep - 1]:
                found = insert(values, nearest, found, value, np.int64(others[place]))
        for rank in range(found):
            candidates[index, rank] = nearest[rank]


@kernel
def plan_slide(tables, patches, source, target, bits, changed, coming):
    """Plan to bring what lies in a cell along a line to another, while all between moves up.

    Where kinds of cells repeat, as many cells as that takes come together, and all between moves up by so many. The
    same happens on as many lines beside it as are drawn. Return how many cells change, and what comes there; none if
    one is not in the region, the two are of different kinds, or lie on no line.
    """
    numbers = tables.numbers
    row, column = tables.rows[source] + 1, tables.columns[source] + 1
    down, right = tables.rows[target] + 1 - row, tables.columns[target] + 1 - column
    length = max(abs(down), abs(right))
    if abs(down) + abs(right) != length:
        return 0
    stride = tables.kinds.strides[0 if right == 0 else 1]
    if length % stride != 0:
        return 0
    down, right = np.sign(down), np.sign(right)
    back = below(bits << np.uint64(48), stride)
    row, column = row - back * down, column - back * right
    length += stride
    lines = 1 + below(bits << np.uint64(32), LONGEST)
    first = -below(bits << np.uint64(40), lines)
    count = 0
    for line in range(first, first + lines):
        top, start = row + line * abs(right), column + line * abs(down)
        end, last = top + (length - 1) * down, start + (length - 1) * right
        if min(top, start, end, last) < 1 or max(top, end) >= numbers.shape[0] or max(start, last) >= numbers.shape[1]:
            return 0
        for index in range(length):
            cell = numbers[top + index * down, start + index * right]
            if cell < 0:
                return 0
            after = (index + stride) % length
            changed[count] = cell
            coming[count] = patches[numbers[top + after * down, start + after * right]]
            count += 1
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


@inlined
def suit_all(kinds, changed, coming, count, indices):
    """Whether patches may come into cells, by their kinds; and which they are of those of a kind."""
    for place in range(count):
        indices[place] = kinds.indices[kinds.of[changed[place]], coming[place]]
        if indices[place] < 0:
            return False
    return True


@inlined
def cost_beside(tables, indices, cell, axis, other):
    """What a cell costs with the one to the right of it, or below."""
    row = np.int64(indices[cell])
    return tables.costs[tables.begins[cell, axis] + row * tables.widths[cell, axis] + indices[other]]


@inlined
def cost_outside(tables, indices, cell):
    """What a cell costs with the pieces around the region."""
    return tables.outside[tables.outside_begins[cell] + indices[cell]]


@kernel
def cost_before(tables, seams, changed, count, marks, mark):
    """What the `changed` cells cost, which carry the mark, by what is noted of their seams; each pair once."""
    total = 0.0
    for place in range(count):
        cell = np.int64(changed[place])
        left, above = np.int64(tables.beside[cell, 2]), np.int64(tables.beside[cell, 3])
        total += np.float64(seams[cell, 0]) + np.float64(seams[cell, 1]) + np.float64(seams[cell, 2])
        if left >= 0 and marks[left] != mark:
            total += np.float64(seams[left, 0])
        if above >= 0 and marks[above] != mark:
            total += np.float64(seams[above, 1])
    return total


@kernel
def cost_after(tables, indices, changed, count, marks, mark, limit):
    """What the `changed` cells cost, which carry the mark; each pair once. Once it is above a limit, no more is added.

    The last cell, to which mostly comes what fitted elsewhere, is the first.
    """
    total = 0.0
    for place in range(count - 1, -1, -1):
        cell = np.int64(changed[place])
        for axis in range(2):
            other, before = np.int64(tables.beside[cell, axis]), np.int64(tables.beside[cell, axis + 2])
            if other >= 0:
                total += cost_beside(tables, indices, cell, axis, other)
            if before >= 0 and marks[before] != mark:
                total += cost_beside(tables, indices, before, axis, cell)
            if total > limit:
                return total
        total += cost_outside(tables, indices, cell)
    return total


@inlined
def member_in(tables, indices, cell):
    """The number of what lies in a cell, among the members of all kinds."""
    return tables.kinds.firsts[tables.kinds.of[cell]] + indices[cell]


@kernel
def note_seams(tables, indices, seams, doubts, changed, count):
    """Note what the seams of the `changed` cells cost, and how doubtful that is on either side."""
    for place in range(count):
        cell = np.int64(changed[place])
        for axis in range(2):
            other, before = np.int64(tables.beside[cell, axis]), np.int64(tables.beside[cell, axis + 2])
            seams[cell, axis] = 0.0
            if other >= 0:
                note_seam(tables, indices, seams, doubts, cell, axis, other)
            if before >= 0:
                note_seam(tables, indices, seams, doubts, before, axis, cell)
        seams[cell, 2] = cost_outside(tables, indices, cell)


@inlined
def note_seam(tables, indices, seams, doubts, cell, axis, other):
    """Note the same of one seam: that of a cell with the one to the right of it, or below."""
    cost = cost_beside(tables, indices, cell, axis, other)
    seams[cell, axis] = cost
    doubts[cell, axis] = np.float64(cost) - np.float64(tables.fair[axis, member_in(tables, indices, cell)])
    doubts[other, axis + 2] = np.float64(cost) - np.float64(tables.fair[axis + 2, member_in(tables, indices, other)])


@kernel
def exchange(tables, chain, begin, end, moves, temperature):
    """Make the moves begin .. end-1 of a chain that is to make `moves` in all, from a temperature down.

    Invariant between two moves: every cell holds one patch that suits it, `cells` says where each lies, `seams` what
    they cost, and `doubts` what makes that doubtful.
    """
    tables = uncounted(tables)
    kinds = tables.kinds
    patches, cells, indices, seams, doubts, states = chain
    count, keep = len(patches), tables.candidates.shape[2]
    changed, coming = np.empty(count, np.int32), np.empty(count, np.int32)
    after, before = np.empty(count, np.int32), np.empty(count, np.int32)
    marks, mark = np.zeros(count, np.int64), np.int64(0)
    state, heat = states[0], 0.0
    for move in range(begin, end):
        if move == begin or move % STRIDE == 0:
            done = (move - move % STRIDE) / moves
            heat = temperature * COOLED**done if done < COLD else 0.0
        # A cell, one of its sides, the most doubtful of a few, and a patch that would fit there.
        anchor = direction = np.int64(-1)
        most = -1.0
        for _ in range(DRAWN):
            state += GAMMA
            bits = mix(state)
            cell, side = below(bits, count), np.int64(bits & np.uint64(3))
            if doubts[cell, side] > most:
                most, anchor, direction = doubts[cell, side], cell, side
        if anchor < 0:
            continue
        goal = np.int64(tables.beside[anchor, direction])
        state += GAMMA
        chance, rank = unit(mix(state)), 0
        while rank < keep - 1 and chance < NEXT:
            chance /= NEXT
            rank += 1
        wanted = tables.candidates[direction, member_in(tables, indices, anchor), rank]
        if wanted < 0:
            continue
        source = np.int64(cells[wanted])
        if source in (goal, anchor):
            continue
        state += GAMMA
        bits = mix(state)
        way = (SWAP, SWAP, SLIDE, RECTANGLE)[np.int64(bits & np.uint64(3))]
        size = 0
        if way == SLIDE:
            size = plan_slide(tables, patches, source, goal, bits >> np.uint64(2), changed, coming)
        elif way == RECTANGLE:
            size = plan_rectangles(tables, patches, source, goal, bits >> np.uint64(2), changed, coming)
        if way == SWAP or (way == SLIDE and size == 0):
            changed[0], coming[0], changed[1], coming[1] = goal, wanted, source, patches[goal]
            size = 2
        if size == 0 or not suit_all(kinds, changed, coming, size, after):
            continue
        mark += 1
        for place in range(size):
            cell = changed[place]
            marks[cell] = mark
            before[place] = indices[cell]
            indices[cell] = after[place]
        state += GAMMA
        allowed = cost_before(tables, seams, changed, size, marks, mark) - heat * np.log(1 - unit(mix(state)))
        if cost_after(tables, indices, changed, size, marks, mark, allowed) <= allowed:
            for place in range(size):
                patches[changed[place]] = coming[place]
                cells[coming[place]] = changed[place]
            note_seams(tables, indices, seams, doubts, changed, size)
        else:
            for place in range(size):
                indices[changed[place]] = before[place]
    states[0] = state
