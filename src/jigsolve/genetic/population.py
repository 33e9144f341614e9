"""Population: many arrangements as one array, with their costs."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from .._jit import inlined, kernel
from ..compatibility.candidates import Compatibility
from ..compatibility.costs import cost_of, squared_distance
from ..threads import Threads
from .random import random_below, seed_state


@dataclass(frozen=True)
class Population:
    """Arrangements of one frame, as rows of piece numbers, and what each of them costs."""

    grids: NDArray[np.int32]
    costs: NDArray[np.float64]

    @classmethod
    def empty(cls, size: int, pieces: int) -> Self:
        """Return room for `size` arrangements."""
        return cls(np.empty((size, pieces), dtype=np.int32), np.empty(size, dtype=np.float64))

    @classmethod
    def random(cls, size: int, compatibility: Compatibility, columns: int, seed: int, threads: Threads) -> Self:
        """Return arrangements drawn uniformly (section 3: "random placements")."""
        population = cls.empty(size, len(compatibility.buddies))
        key = np.uint64(seed)
        threads.run(
            size,
            lambda begin, end: fill_with_random_grids(
                compatibility, columns, key, population.grids, population.costs, begin, end
            ),
        )
        return population

    def best(self) -> int:
        """Return the index of the cheapest arrangement."""
        return int(np.argmin(self.costs))


@inlined
def side_cost(compatibility, side, other):
    """The cost of a pair of sides.

    Neighbours in a good arrangement are mostly each other's first candidates. Computing the rest is faster than
    searching them in the lists: a search that may end anywhere mispredicts its branches.
    """
    if compatibility.best[side] == other:
        return compatibility.best_costs[side]
    return cost_of(squared_distance(compatibility.features, side, other))


@kernel
def grid_cost(compatibility, columns, grid):
    """The cost of an arrangement: equation (2), the sum over all pairs to the right and down."""
    total = np.float64(0)
    for cell in range(len(grid)):
        side = 4 * grid[cell]
        if (cell + 1) % columns != 0:
            total += side_cost(compatibility, side, 4 * grid[cell + 1] + 2)
        if cell + columns < len(grid):
            total += side_cost(compatibility, side + 1, 4 * grid[cell + columns] + 3)
    return total


@kernel
def fill_with_random_grids(compatibility, columns, seed, grids, costs, begin, end):
    """Fill grids begin .. end-1 with random arrangements and their costs."""
    state = np.empty(1, np.uint64)
    for index in range(begin, end):
        seed_state(state, seed, 0, index)
        grid = grids[index]
        for cell in range(len(grid)):
            other = random_below(state, cell + 1)  # Fisher and Yates, inside out
            grid[cell] = grid[other]
            grid[other] = cell
        costs[index] = grid_cost(compatibility, columns, grid)
