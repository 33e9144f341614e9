"""Beliefs: what lies in each cell of a region of which only the surroundings are sure.

Every cell has a belief, a chance for each of the units that may lie there. It tells its neighbours what they can expect
beside it, as far as it knows without them, and believes what they tell it: belief propagation. So what is sure around
a region grows into it from all sides, softly: a cell that cannot tell yet says nothing, and a wrong guess is taken back
when more is known. Each unit lies somewhere once, so one that many cells believe in counts less for each. The surest
cells get their units for good, and the others go on from there.
"""

from collections.abc import Generator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._jit import inlined, kernel
from ..threads import Threads

# How often all cells tell their neighbours what they believe before the first of them is settled, and after that.
FIRST_SWEEPS = 60
SWEEPS = 10
# How sure a cell is when it gets its unit for good; and the share of those left that do in any case, the surest.
SURE = 0.9
SHARE = 0.03
# What is settled is taken out when so much of a region is left. A region of more cells than that takes long.
LEFT = 0.7
LARGE = 500
# Waking threads for the cells of a smaller one takes longer than what they do.
SMALL = 128
# How much of a message is what the one before said: without it, neighbours can contradict each other for ever.
INERTIA = np.float32(0.3)
FRESH = np.float32(0.7)
# What is said of a unit at least: one seam never rules it out.
LEAST = np.float32(3e-4)
# A unit counts in a message if the cell gives it this chance at least; what is left says nothing. A cell with more
# such units than that knows nothing yet.
NOTABLE = np.float32(1e-3)
MOST_NOTABLE = 256
# By which power of its popularity a unit counts less after each sweep, and within which bounds.
SHARING = np.float32(-0.5)
LEAST_POPULAR = np.float32(0.01)
MOST_WEIGHT = np.float32(1e4)
# Cells are taken in so many slices on any number of threads: sums over them are always the same.
SLICES = 64


class Region(NamedTuple):
    """Cells, and as many units that are to lie there."""

    neighbours: NDArray[np.int64]
    """(cells, 4): the cell at each side of a cell, or -1."""
    colours: NDArray[np.int64]
    """(cells,): 0 or 1, no two neighbours the same."""
    likelihoods: NDArray[np.float32]
    """(4, units, units): how much more probable than usual it is that the second unit lies at a side of the first."""
    messages: NDArray[np.float32]
    """(4, cells, units): what each cell hears from each side, how much more probable than usual a unit is; ones at
    first, but for what the surroundings say."""
    informed: NDArray[np.bool_]
    """(cells,): whether a cell has heard anything."""
    expected: NDArray[np.float32]
    """(cells, units): how probable a unit is in a cell by what is known beforehand, or no cells if that is nothing."""


def settle(region: Region, threads: Threads) -> Generator[None, None, NDArray[np.int64]]:
    """Return the unit that each cell gets; -1 for those that nothing is known of. Yield now and then if large."""
    count = len(region.neighbours)
    units = np.full(count, -1, dtype=np.int64)
    # The numbers of the cells and units that are left in the region, as it becomes smaller.
    cells, names = np.arange(count), np.arange(count)
    weights = np.ones(count, dtype=np.float32)
    free = np.ones(count, dtype=np.bool_)
    sweeps = FIRST_SWEEPS
    while (free & region.informed).any():
        for _ in range(sweeps):
            _sweep(region, free, weights, threads)
        chosen, sure = choose(region.messages, region.expected, weights, free & region.informed)
        left = int((sure >= 0).sum())
        settled = np.argsort(-sure, kind="stable")[: max(int((sure > SURE).sum()), int(np.ceil(SHARE * left)))]
        for cell in settled:
            units[cells[cell]] = names[chosen[cell]]
            free[cell], weights[chosen[cell]] = False, 0
            _announce(region, cell, chosen[cell])
        sweeps = SWEEPS
        if free.sum() <= LEFT * len(free):
            if len(free) > LARGE:
                yield
            kept = weights > 0
            region = _reduced(region, free, kept)
            cells, names, weights = cells[free], names[kept], weights[kept]
            free = np.ones(len(cells), dtype=np.bool_)
    return units


def _sweep(region: Region, free: NDArray[np.bool_], weights: NDArray[np.float32], threads: Threads) -> None:
    """Let all cells tell their neighbours once, and weigh units by how popular they are."""
    popularity = np.zeros((SLICES, len(weights)), dtype=np.float32)
    for colour in (0, 1):
        cells = np.flatnonzero(free & region.informed & (region.colours == colour))
        bounds = np.array([len(cells) * i // SLICES for i in range(SLICES + 1)])
        tell = partial(tell_neighbours, region, cells, bounds, free, weights, popularity)
        if len(weights) > SMALL:
            threads.run(SLICES, tell)
        else:
            tell(0, SLICES)
    popular = np.maximum(popularity.sum(axis=0, dtype=np.float32), LEAST_POPULAR)
    kept = weights > 0
    weights[kept] = np.clip(weights[kept] * popular[kept] ** SHARING, 1 / MOST_WEIGHT, MOST_WEIGHT)


def _announce(region: Region, cell: int, unit: int) -> None:
    """Let a cell tell its neighbours what lies there for good."""
    for direction in range(4):
        neighbour = region.neighbours[cell, direction]
        if neighbour >= 0:
            region.messages[direction ^ 2, neighbour] = np.maximum(region.likelihoods[direction, unit], LEAST)
            region.informed[neighbour] = True


def _reduced(region: Region, free: NDArray[np.bool_], kept: NDArray[np.bool_]) -> Region:
    """Return what is left of a region: the free cells, and the units that are kept.

    `ix_` keeps the order in memory, unlike an index of one axis after the other: what belongs to a cell lies together.
    """
    numbers = np.where(free, np.cumsum(free) - 1, -1)
    neighbours = region.neighbours[free]
    return Region(
        np.where(neighbours >= 0, numbers[neighbours], -1),
        region.colours[free],
        np.stack([table[np.ix_(kept, kept)] for table in region.likelihoods]),
        np.stack([table[np.ix_(free, kept)] for table in region.messages]),
        region.informed[free],
        region.expected[np.ix_(free, kept)] if len(region.expected) else region.expected,
    )


@inlined
def mix_in(likelihoods, chances, total, message, said):
    """Mix what is said of a neighbour into the message to it, given the chances of what lies here, if that is known."""
    count = len(chances)
    least = NOTABLE * total
    notable = 0
    for unit in range(count):
        notable += chances[unit] > least
    if notable > MOST_NOTABLE:
        return False
    rest = np.float32(1)
    said[:] = 0
    for unit in range(count):
        if chances[unit] > least:
            chance = chances[unit] / total
            rest -= chance
            for other in range(count):
                said[other] += chance * likelihoods[unit, other]
    rest = max(rest, np.float32(0))
    for other in range(count):
        message[other] = INERTIA * message[other] + FRESH * max(said[other] + rest, LEAST)
    return True


@kernel
def tell_neighbours(region, cells, bounds, free, weights, popularity, begin, end):
    """Let the cells of some slices tell their neighbours what to expect, and note how popular each unit is in them.

    No two of the cells are neighbours, so none hears what another one of them says.
    Invariant: a message to a neighbour never depends on what that neighbour said.
    """
    neighbours, _, likelihoods, messages, informed, expected = region
    count = len(weights)
    belief, chances, said = np.empty(count, np.float32), np.empty(count, np.float32), np.empty(count, np.float32)
    for part in range(begin, end):
        for index in range(bounds[part], bounds[part + 1]):
            cell = cells[index]
            one, two, three, four = messages[0, cell], messages[1, cell], messages[2, cell], messages[3, cell]
            total = np.float32(0)
            for unit in range(count):
                belief[unit] = (weights[unit] * one[unit]) * (two[unit] * three[unit]) * four[unit]
            if len(expected) > 0:
                for unit in range(count):
                    belief[unit] *= expected[cell, unit]
            for unit in range(count):
                total += belief[unit]
            for unit in range(count):
                popularity[part, unit] += belief[unit] / total
            for direction in range(4):
                neighbour = neighbours[cell, direction]
                if neighbour >= 0 and free[neighbour]:
                    heard = messages[direction, cell]
                    total = np.float32(0)
                    for unit in range(count):
                        chances[unit] = belief[unit] / heard[unit]
                        total += chances[unit]
                    if mix_in(likelihoods[direction], chances, total, messages[direction ^ 2, neighbour], said):
                        informed[neighbour] = True


@inlined
def belief_in(messages, expected, weights, cell, unit):
    """How much a cell believes in a unit."""
    belief = np.float64(weights[unit])
    if len(expected) > 0:
        belief *= expected[cell, unit]
    for direction in range(4):
        belief *= messages[direction, cell, unit]
    return belief


@kernel
def choose(messages, expected, weights, asked):
    """Choose a unit for each cell that is asked, the surest first: that it believes in most of those that are left.

    Return the units, and how sure the cells are; -1 for those that are not asked. A cell whose first choice is taken is
    not sure.
    """
    count = len(weights)
    sure = np.full(count, -1.0)
    first = np.full(count, -1, np.int64)
    for cell in range(count):
        if asked[cell]:
            total, most = 0.0, -1.0
            for unit in range(count):
                if weights[unit] > 0:
                    belief = belief_in(messages, expected, weights, cell, unit)
                    total += belief
                    if belief > most:
                        most, first[cell] = belief, unit
            sure[cell] = most / total
    chosen = first.copy()
    taken = weights <= 0
    for cell in np.argsort(-sure, kind="mergesort"):
        if not asked[cell]:
            break
        if taken[first[cell]]:
            sure[cell] = 0.0
            most = -1.0
            for unit in range(count):
                if not taken[unit]:
                    belief = belief_in(messages, expected, weights, cell, unit)
                    if belief > most:
                        most, chosen[cell] = belief, unit
        taken[chosen[cell]] = True
    return chosen, sure


@kernel
def fill_likelihoods(costs, sharpness, likelihoods):
    """Tell how much more probable than usual pairs of units are, from what they cost beside and below each other.

    `costs` are (2, units, units). Usual is the mean of exp(-sharpness x cost) over all units, as both see it.
    """
    count = costs.shape[1]
    for axis in range(2):
        usual, other_usual = np.empty(count), np.empty(count)
        for one in range(count):
            usual[one] = usual_of(costs[axis, one], sharpness, one)
            other_usual[one] = usual_of(costs[axis, :, one], sharpness, one)
        for one in range(count):
            for two in range(count):
                said = 0.5 * (usual[one] + other_usual[two]) - sharpness * costs[axis, one, two]
                likelihood = np.float32(0 if one == two else np.exp(said))
                likelihoods[axis, one, two] = likelihoods[axis + 2, two, one] = likelihood


@kernel
def usual_of(costs, sharpness, itself):
    """The sharpness times the cost that says nothing: minus the logarithm of the mean of exp(-sharpness x cost)."""
    least = np.inf
    for other in range(len(costs)):
        if other != itself:
            least = min(least, np.float64(costs[other]))
    total = 0.0
    for other in range(len(costs)):
        if other != itself:
            total += np.exp(-sharpness * (costs[other] - least))
    return sharpness * least - np.log(total / len(costs))


@kernel
def swap_down(costs, outside, neighbours, units):
    """Swap the units of two cells as long as that makes the whole cheaper, whatever `units` of cells says first.

    `costs` are those of units beside each other, `outside` (cells, units) what the surroundings cost them.
    """
    count = len(units)
    gained = True
    while gained:
        gained = False
        for one in range(count):
            for two in range(one + 1, count):
                before = cost_in_cells(costs, outside, neighbours, units, one, two)
                units[one], units[two] = units[two], units[one]
                if cost_in_cells(costs, outside, neighbours, units, one, two) < before - 1e-3:
                    gained = True
                else:
                    units[one], units[two] = units[two], units[one]


@inlined
def cost_in_cells(costs, outside, neighbours, units, one, two):
    """What the units in two cells cost there, each pair once."""
    total = 0.0
    for turn in range(2):
        cell = one if turn == 0 else two
        unit = units[cell]
        total += outside[cell, unit]
        for direction in range(4):
            neighbour = neighbours[cell, direction]
            if neighbour >= 0 and (turn == 0 or neighbour != one):
                other = units[neighbour]
                first, second = (unit, other) if direction < 2 else (other, unit)
                total += costs[direction % 2, first, second]
    return total
