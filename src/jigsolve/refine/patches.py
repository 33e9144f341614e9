"""Patches: rectangles of pieces that are right in themselves are put where they belong, by belief.

What is wrong in a sky after all else is not single pieces. In a picture that was a JPEG file seams through its blocks
are sure, and those along their borders are not: so what lies in a wrong place is a rectangle of pieces that is right in
itself, as large as a multiple of the blocks. Which cells of their lattice are in doubt is known, and what lies around
these is right. What belongs there is told by beliefs that spread from the surroundings (see `beliefs`). Where doubts
have no such lattice, each piece is a patch.
"""

from collections.abc import Generator, Iterator
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._access import uncounted
from .._jit import inlined, kernel
from ..compatibility.bearings import EVERY, Bearings, bearings_of, frame_numbers, moved_mask, phases_around
from ..compatibility.candidates import Compatibility, fair_costs
from ..compatibility.costs import Features, cost_of, squared_distance, squared_distance_in
from ..compatibility.likeness import worth_of
from ..compatibility.lists import Lists
from ..compatibility.partners import Partners
from ..compatibility.ramp_costs import NUMBERS
from ..compatibility.ramps import flatness
from ..compatibility.seam_costs import Seams
from ..compatibility.segments import SETTLED, sharpness
from ..compatibility.trace_costs import UNKNOWN
from ..threads import Threads
from .beliefs import LARGE, LEAST, Region, fill_likelihoods, settle, swap_down

# The sizes of patches that are tried along an axis, and the share of all doubts that lie on the borders of patches of
# the right size.
SIZES = (4, 2)
ON_BORDERS = 0.75
# The same where seams of flat pieces are judged by likeness: then some within patches are in doubt, too.
ON_BORDERS_BY_LIKENESS = 0.62
# What lies together beyond doubt is trusted if it has this part of all cells.
TRUSTED_PART = 16
# More cells than this are never rearranged at once.
MOST_CELLS = 2500
# How many patches that are alike are asked where they lie, within how many pieces of them one is expected, as a
# deviation, and up to where; what is expected of a flat patch elsewhere, and of others anywhere.
ALIKE = 20
NEARBY, FARTHEST = 6.0, 24.0
LEAST_EXPECTED, ANYWHERE = np.float32(1e-3), np.float32(1e-2)
# How much less a patch is expected in a cell whose phase does not suit it: phases are rarely told wrongly.
UNSUITED = np.float32(1e-3)
# How many patches are compared with all others at once: as many as the cache of a core can hold.
AT_HAND = 32


class Way(NamedTuple):
    """A way to rearrange."""

    near: int
    """Cells so far from a doubt are in question, too."""
    dullness: float
    """How much less sharp seams of patches in question are than those of settled partners."""
    strict: bool = False
    """Whether all but settled partners are in doubt if they fit worse than others."""
    single: bool = False
    """Whether every patch is one piece."""
    alike: bool = False
    """Whether flat patches are expected where those lie that are like them."""


class Grounds(NamedTuple):
    """What patches are judged by."""

    sharpness: float
    """Of the seams of settled partners (see `segments.sharpness`); zero if nothing tells."""
    fair_costs: NDArray[np.float32]
    """(sides,): what a partner costs that is taken for sure, else the first candidate."""
    strict_costs: NDArray[np.float32]
    """(sides,): the same if only settled partners are."""
    bearings: Bearings
    """Where in the frame pieces can lie."""
    on_borders: float = ON_BORDERS
    """The share of doubts on borders that makes a lattice."""


class Lattice(NamedTuple):
    """Where patches begin, and the end of the last one, along both axes."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]

    def in_cells(self, pieces: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which cells have one of these pieces."""
        by_row = np.logical_or.reduceat(pieces, self.rows[:-1], axis=0)
        return np.logical_or.reduceat(by_row, self.columns[:-1], axis=1)

    def in_pieces(self, cells: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which pieces lie in one of these cells."""
        return np.repeat(np.repeat(cells, np.diff(self.rows), axis=0), np.diff(self.columns), axis=1)


def grounds_of(compatibility: Compatibility) -> Grounds:
    """Return what the patches of a puzzle are judged by."""
    lists = Lists(compatibility.candidates, compatibility.costs)
    settled = Partners(compatibility.buddies, compatibility.partners, compatibility.doubt).up_to(SETTLED)
    strict_costs = fair_costs(compatibility.features, lists, settled)
    on_borders = ON_BORDERS_BY_LIKENESS if worth_of(compatibility.features) > 0 else ON_BORDERS
    return Grounds(
        sharpness(lists, settled), compatibility.fair_costs, strict_costs, compatibility.bearings, on_borders
    )


def rearranged(
    features: Features, grounds: Grounds, grid: NDArray[np.int32], way: Way, most_cells: int, threads: Threads
) -> Generator[None, None, NDArray[np.int32]]:
    """Return a grid of pieces, (rows, columns), with the patches in question where they belong by belief.

    It may well cost more than before. Patches cut off by the frame are of other sizes; they follow, size by size.
    At most `most_cells` are told at once, as all pairs of their patches are compared (see `_at_once`).
    Yield now and then if it takes long.
    """
    fair = grounds.strict_costs if way.strict else grounds.fair_costs
    numbers = frame_numbers(grounds.bearings, grid)
    lattice, at_doubts = doubted_lattice(features, numbers, fair, grid, () if way.single else SIZES, grounds.on_borders)
    question = in_question(lattice.in_cells(at_doubts), way.near)
    grid = grid.copy()
    # What is in question says nothing, until it has been told.
    known = np.where(lattice.in_pieces(question), np.int32(-1), grid)
    sharp = grounds.sharpness * way.dullness
    heights, widths = np.diff(lattice.rows), np.diff(lattice.columns)
    for height, width in product(np.unique(heights)[::-1], np.unique(widths)[::-1]):
        cells = question & (heights == height)[:, np.newaxis] & (widths == width)
        since = 0
        for region in _at_once(cells, most_cells):
            yield from _rearrange(
                features, grounds.bearings, numbers, lattice, region, grid, known, sharp, way.alike, threads
            )
            since += int(region.sum())
            if since > LARGE:
                since = 0
                yield
        told = lattice.in_pieces(cells)
        known[told] = grid[told]
    return grid


def doubted_lattice(
    features: Features,
    numbers: NDArray[np.int64],
    fair_costs: NDArray[np.float32],
    grid: NDArray[np.int32],
    sizes: tuple[int, ...],
    on_borders: float,
) -> tuple[Lattice, NDArray[np.bool_]]:
    """Return the lattice of the first of some sizes that doubts have, else of pieces; and which pieces are in doubt.

    `numbers` are those of the phases of the frame (see `frame_numbers`).
    """
    doubted = np.zeros((2, *grid.shape), dtype=np.bool_)
    find_doubted(features, numbers, fair_costs, grid, doubted)
    beside, below = doubted
    lattice = Lattice(*(_borders(doubts, axis, sizes, on_borders) for axis, doubts in enumerate((below, beside))))
    at_doubts = beside | below
    at_doubts[:, 1:] |= beside[:, :-1]
    at_doubts[1:] |= below[:-1]
    return lattice, at_doubts


class Places(NamedTuple):
    """Where cells of a lattice are, all of one size."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    """(cells,): in the lattice."""
    corners: NDArray[np.int64]
    """(cells, 2): the row and the column of their first pieces."""
    pieces: tuple[NDArray[np.int64], NDArray[np.int64]]
    """(cells, height, width): the rows and the columns of all of their pieces."""


def places_of(lattice: Lattice, cells: NDArray[np.bool_]) -> Places:
    """Return where some cells are."""
    rows, columns = np.nonzero(cells)
    tops, lefts = lattice.rows[rows], lattice.columns[columns]
    down, right = np.mgrid[: lattice.rows[rows[0] + 1] - tops[0], : lattice.columns[columns[0] + 1] - lefts[0]]
    pieces = tops[:, np.newaxis, np.newaxis] + down, lefts[:, np.newaxis, np.newaxis] + right
    return Places(rows, columns, np.stack([tops, lefts], axis=1), pieces)


def costs_among(
    features: Features, numbers: NDArray[np.int64], places: Places, patches: NDArray[np.int32], threads: Threads
) -> NDArray[np.float32]:
    """Return what patches cost to the right of each other, and below: (2, patches, patches).

    Given the `numbers` of the phases of the frame (see `frame_numbers`); these count if they are the same in all cells.
    """
    down, across = numbers.shape
    tops, lefts = np.unique(places.corners[:, 0] % down), np.unique(places.corners[:, 1] % across)
    height, width = patches.shape[1:]
    beside, below = np.full(height, UNKNOWN), np.full(width, UNKNOWN)
    if len(tops) == len(lefts) == 1:
        beside = numbers[(tops[0] + np.arange(height)) % down, (lefts[0] + width) % across]
        below = numbers[(tops[0] + height) % down, (lefts[0] + np.arange(width)) % across]
    costs = np.empty((2, len(patches), len(patches)), dtype=np.float32)
    threads.run(len(patches), partial(fill_costs, features, beside, below, patches, costs))
    return costs


def _at_once(cells: NDArray[np.bool_], most_cells: int) -> Iterator[NDArray[np.bool_]]:
    """Yield what is rearranged at once: all cells, or if those are too many each region of them, the smallest first.

    These take no more pairs of patches together than all cells may.
    """
    regions = np.where(cells, 0, -1) if cells.sum() <= most_cells else label(~cells)
    sizes = np.bincount(regions[cells])
    order = np.argsort(sizes, kind="stable")
    for region in order[np.cumsum(sizes[order] ** 2) <= most_cells**2]:
        if sizes[region] > 1:
            yield regions == region


def compile_patches(compatibility: Compatibility, columns: int, threads: Threads) -> None:
    """Compile what only puzzles need of which something is in question, with one in which a corner is."""
    fair = np.full_like(compatibility.fair_costs, np.inf)
    fair[:4] = -1
    grid = np.arange(len(compatibility.buddies), dtype=np.int32).reshape(-1, columns)
    grounds = Grounds(1.0, fair, fair, compatibility.bearings)
    list(rearranged(compatibility.features, grounds, grid, Way(2, 1.0), MOST_CELLS, threads))
    if len((bearings := bearings_of(compatibility.features, compatibility.told)).masks) > 0:
        own_phases(bearings, np.zeros((1, 1, 1), dtype=np.int32))
        phases_around(bearings, bearings.masks[0])
    corner = np.zeros(1, dtype=np.int64)
    numbers, expected = np.zeros((1, NUMBERS), dtype=np.float32), np.zeros((1, 1), dtype=np.float32)
    fill_expected(numbers, np.array([True]), corner, corner, expected, 0, 1)


def patches_bytes(pieces: int) -> int:
    """Return what rearranging takes at most: likelihoods, messages, expectations, what is left of them, and costs."""
    return 17 * 4 * min(pieces, MOST_CELLS) ** 2


def _borders(doubted: NDArray[np.bool_], axis: int, sizes: tuple[int, ...], on_borders: float) -> NDArray[np.int64]:
    """Return the lattice along an axis, given the pieces with a doubted seam behind them there."""
    length = doubted.shape[axis]
    doubts = doubted.sum(axis=1 - axis)[:-1]
    for size in sizes:
        by_place = np.bincount(np.arange(1, length) % size, weights=doubts, minlength=size)
        if by_place.max() >= on_borders * doubts.sum() > 0:
            inner = np.arange(int(by_place.argmax()) or size, length, size)
            return np.concatenate([[0], inner, [length]])
    return np.arange(length + 1)


def widened(cells: NDArray[np.bool_], steps: int) -> NDArray[np.bool_]:
    """Return the cells with all that are up to so many steps from one of them."""
    for _ in range(steps):
        wider = cells.copy()
        wider[1:] |= cells[:-1]
        wider[:-1] |= cells[1:]
        wider[:, 1:] |= cells[:, :-1]
        wider[:, :-1] |= cells[:, 1:]
        cells = wider
    return cells


def in_question(doubtful: NDArray[np.bool_], steps: int) -> NDArray[np.bool_]:
    """Return the cells near those in doubt, and those that are cut off from the large parts beyond doubt."""
    near = widened(doubtful, steps)
    parts = label(near)
    sizes = np.bincount(parts.ravel() + 1)
    sizes[0] = 0
    trusted = (sizes * TRUSTED_PART >= parts.size) | ((sizes == sizes.max()) & (sizes > 0))
    return ~trusted[parts + 1]


def _rearrange(
    features: Features,
    bearings: Bearings,
    numbers: NDArray[np.int64],
    lattice: Lattice,
    cells: NDArray[np.bool_],
    grid: NDArray[np.int32],
    known: NDArray[np.int32],
    sharp: float,
    alike: bool,
    threads: Threads,
) -> Generator[None, None, None]:
    """Rearrange the patches in some cells, all of one size, in `grid`."""
    places = places_of(lattice, cells)
    patches, (tops, lefts) = grid[places.pieces], places.corners.T
    count = len(patches)
    costs = costs_among(features, numbers, places, patches, threads)
    region = Region(
        _neighbours(cells, places.rows, places.columns),
        (places.rows + places.columns) % 2,
        np.empty((4, count, count), dtype=np.float32),
        np.ones((4, count, count), dtype=np.float32),
        np.zeros(count, dtype=np.bool_),
        _expected(features, patches, tops, lefts, threads) if alike else np.empty((0, count), dtype=np.float32),
    )
    region.informed[:] = len(region.expected) > 0
    if numbers[0, 0] != UNKNOWN:
        there = np.uint64(1) << numbers[tops % numbers.shape[0], lefts % numbers.shape[1]].astype(np.uint64)
        suited = np.where(there[:, np.newaxis] & own_phases(bearings, patches) != 0, np.float32(1), UNSUITED)
        region = region._replace(expected=region.expected * suited if len(region.expected) else suited)
    fill_likelihoods(costs, sharp, region.likelihoods)
    around = np.pad(known, 1, constant_values=-1)
    outside = np.zeros((count, count), dtype=np.float32)
    listen = partial(hear, features, numbers, around, places.corners, patches, sharp, outside)
    threads.run(count, partial(listen, region.messages, region.informed))
    units = yield from settle(region, threads)
    # Where nothing is known what lies there stays, or else what is left.
    kept = np.flatnonzero(units < 0)
    kept = kept[~np.isin(kept, units)]
    units[kept] = kept
    units[units < 0] = np.setdiff1d(np.arange(count), units)
    swap_down(costs, outside, region.neighbours, units)
    grid[places.pieces] = patches[units]


def _expected(
    features: Features,
    patches: NDArray[np.int32],
    tops: NDArray[np.int64],
    lefts: NDArray[np.int64],
    threads: Threads,
) -> NDArray[np.float32]:
    """Return where patches are expected: (cells, patches). Flat ones that are alike lie near each other.

    So where most of a sky is right, this tells where the rest of it belongs, however far away that is.
    """
    count = len(patches)
    if not isinstance(features, Seams) or len(features.ramps.variates) == 0:
        return np.empty((0, count), dtype=np.float32)
    flat = (flatness(features.ramps)[patches] > 0).all(axis=(1, 2))
    numbers = features.ramps.variates[4 * patches, :NUMBERS].mean(axis=(1, 2))
    expected = np.full((count, count), ANYWHERE, dtype=np.float32)
    threads.run(count, partial(fill_expected, numbers, flat, tops, lefts, expected))
    return np.ascontiguousarray(expected.T)


def own_phases(bearings: Bearings, patches: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return the phases that the corners of patches can have; all if their pieces contradict each other."""
    own = np.empty(len(patches), dtype=np.uint64)
    fill_phases(bearings, patches, own)
    return np.where(own > 0, own, EVERY)


def _neighbours(cells: NDArray[np.bool_], rows: NDArray[np.intp], columns: NDArray[np.intp]) -> NDArray[np.int64]:
    numbers = np.full((cells.shape[0] + 2, cells.shape[1] + 2), -1, dtype=np.int64)
    numbers[rows + 1, columns + 1] = np.arange(len(rows))
    beside = ((1, 2), (2, 1), (1, 0), (0, 1))
    return np.stack([numbers[rows + down, columns + right] for down, right in beside], axis=1)


@kernel
def fill_expected(numbers, flat, tops, lefts, expected, begin, end):
    """Tell in which cells each of the patches begin .. end-1 is expected, if it is flat: `expected` is by patch first.

    These are the cells around those in which the patches lie that are most like it, itself among them.
    """
    count = len(flat)
    distances = np.empty(count)
    for patch in range(begin, end):
        if not flat[patch]:
            continue
        for other in range(count):
            distances[other] = np.inf
            if flat[other]:
                distances[other] = ((numbers[patch] - numbers[other]) ** 2).sum()
        most_alike = np.argsort(distances, kind="mergesort")[:ALIKE]
        for cell in range(count):
            total = np.float32(0)
            for other in most_alike:
                down, right = tops[cell] - tops[other], lefts[cell] - lefts[other]
                apart = down * down + right * right
                if distances[other] < np.inf and apart < FARTHEST * FARTHEST:
                    total += np.exp(np.float32(-0.5 * apart / (NEARBY * NEARBY)))
            expected[patch, cell] = LEAST_EXPECTED + total / ALIKE


@kernel
def fill_phases(bearings, patches, own):
    """Find the phases that the corners of patches can have by all their pieces."""
    count, height, width = patches.shape
    for index in range(count):
        own[index] = EVERY
        for row in range(height):
            for column in range(width):
                own[index] &= moved_mask(bearings, bearings.masks[patches[index, row, column]], -row, -column)


@kernel
def find_doubted(features, numbers, fair_costs, grid, doubted):
    """Mark the pieces of a grid that have a doubted seam to the right, and below."""
    features = uncounted(features)
    rows, columns = grid.shape
    for row in range(rows):
        for column in range(columns):
            for direction in range(2):
                if (column if direction == 0 else row) + 1 < (columns if direction == 0 else rows):
                    piece = np.int64(grid[row, column])
                    other = np.int64(grid[row, column + 1] if direction == 0 else grid[row + 1, column])
                    phase = phase_at(numbers, row + direction, column + 1 - direction)
                    cost = np.float32(cost_of_pair_in(features, piece, direction, other, phase))
                    fair = min(fair_costs[4 * piece + direction], fair_costs[4 * other + direction + 2])
                    doubted[direction, row, column] = cost > fair


@kernel
def label(near):
    """Number the connected parts of what is not near, from 0; -1 elsewhere."""
    rows, columns = near.shape
    parts = np.full((rows, columns), -1, np.int64)
    stack = np.empty(rows * columns, np.int64)
    count = 0
    for start in range(rows * columns):
        if near[start // columns, start % columns] or parts[start // columns, start % columns] >= 0:
            continue
        stack[0] = start
        parts[start // columns, start % columns] = count
        left = 1
        while left > 0:
            left -= 1
            row, column = stack[left] // columns, stack[left] % columns
            for down, right in ((0, 1), (1, 0), (0, -1), (-1, 0)):
                y, x = row + down, column + right
                if 0 <= y < rows and 0 <= x < columns and not near[y, x] and parts[y, x] < 0:
                    parts[y, x] = count
                    stack[left] = y * columns + x
                    left += 1
        count += 1
    return parts


@kernel
def cost_of_pair(features, piece, direction, other):
    """What another piece costs at a side of a piece."""
    side, facing = 4 * np.int64(piece) + direction, 4 * np.int64(other) + (direction ^ 2)
    return np.float64(cost_of(features, squared_distance(features, side, facing)))


@inlined
def phase_at(numbers, row, column):
    """The number of the phase of a cell of the frame."""
    return numbers[row % numbers.shape[0], column % numbers.shape[1]]


@kernel
def cost_of_pair_in(features, piece, direction, other, phase):
    """The same where the right or lower piece of the two lies in a phase."""
    side, facing = 4 * np.int64(piece) + direction, 4 * np.int64(other) + (direction ^ 2)
    return np.float64(cost_of(features, squared_distance_in(features, side, facing, phase)))


@kernel
def fill_costs(features, numbers_beside, numbers_below, patches, costs, begin, end):
    """Find what each patch costs to the right of the patches begin .. end-1, and below them.

    Given the phases of the cells behind them, row by row, and below, column by column.
    A few are compared with all of these before the next few: what is known of their sides stays in the cache.
    """
    features = uncounted(features)
    count, height, width = patches.shape
    for first in range(0, count, AT_HAND):
        for one in range(begin, end):
            for two in range(first, min(first + AT_HAND, count)):
                beside, below = 0.0, 0.0
                if one != two:
                    for row in range(height):
                        beside += cost_of_pair_in(
                            features, patches[one, row, width - 1], 0, patches[two, row, 0], numbers_beside[row]
                        )
                    for column in range(width):
                        below += cost_of_pair_in(
                            features,
                            patches[one, height - 1, column],
                            1,
                            patches[two, 0, column],
                            numbers_below[column],
                        )
                costs[0, one, two], costs[1, one, two] = beside, below


@kernel
def add_known(features, numbers, around, top, left, direction, patches, costs):
    """Add to `costs` what the known pieces at a side of a cell cost with each patch there; tell if there are any.

    `around` has the pieces with a border of -1, which stands for what is not known, too.
    """
    count, height, width = patches.shape
    heard = False
    for index in range(height if direction % 2 == 0 else width):
        row = (index, height - 1, index, 0)[direction]
        column = (width - 1, index, 0, index)[direction]
        down, right = ((0, 1), (1, 0), (0, -1), (-1, 0))[direction]
        known = around[top + row + down, left + column + right]
        if known >= 0:
            heard = True
            # `around` has a border, so the cells of the frame are one up and one to the left.
            y, x = top + row - 1 + (direction == 1), left + column - 1 + (direction == 0)
            phase = phase_at(numbers, y, x)
            for patch in range(count):
                costs[patch] += cost_of_pair_in(features, patches[patch, row, column], direction, known, phase)
    return heard


@kernel
def hear(features, numbers, around, corners, patches, sharpness, outside, messages, informed, begin, end):
    """Tell the cells begin .. end-1 what the known pieces at each of their sides say of each patch, and what they cost.

    See `add_known` for `around`.
    """
    features = uncounted(features)
    count = len(patches)
    costs = np.empty(count)
    for cell in range(begin, end):
        for direction in range(4):
            costs[:] = 0
            if add_known(
                features, numbers, around, corners[cell, 0] + 1, corners[cell, 1] + 1, direction, patches, costs
            ):
                informed[cell] = True
                least, total = costs.min(), 0.0
                for patch in range(count):
                    outside[cell, patch] += costs[patch]
                    costs[patch] = np.exp(-sharpness * (costs[patch] - least))
                    total += costs[patch]
                for patch in range(count):
                    messages[direction, cell, patch] = max(np.float32(costs[patch] * count / total), LEAST)
