"""Population: many arrangements as one array, with their costs."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from .._access import uncounted
from .._jit import kernel
from ..compatibility.candidates import Compatibility
from ..compatibility.costs import Features
from ..compatibility.memory import empty_memory, new_memory, recalled
from ..threads import Threads
from .random import GAMMA, below, first_state, mix


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
                compatibility.features, columns, key, population.grids, population.costs, begin, end
            ),
        )
        return population

    def best(self) -> int:
        """Return the index of the cheapest arrangement."""
        return int(np.argmin(self.costs))


def cost_of_grid(features: Features, columns: int, grid: NDArray[np.int32]) -> float:
    """Return the cost of a single arrangement."""
    return float(grid_cost(features, columns, grid, empty_memory(len(grid), 0)))


@kernel
def grid_cost(features, columns, grid, memory):
    """The cost of an arrangement: equation (2), the sum over all pairs to the right and down."""
    features = uncounted(features)
    entries, step = memory
    total = np.float64(0)
    for cell in range(len(grid)):
        row = 2 * np.int64(grid[cell])
        if (cell + 1) % columns != 0:
            other = np.int64(grid[cell + 1])
            total += recalled(features, entries, step, row, other)
        if cell + columns < len(grid):
            other = np.int64(grid[cell + columns])
            total += recalled(features, entries, step, row + 1, other)
    return total


@kernel
def fill_with_random_grids(features, columns, seed, grids, costs, begin, end):
    """Fill grids begin .. end-1 with random arrangements and their costs."""
    features, memory = uncounted(features), new_memory(grids.shape[1], 0)
    for index in range(begin, end):
        state = first_state(seed, 0, index)
        grid = grids[index]
        for cell in range(len(grid)):
            state += GAMMA
            other = below(mix(state), cell + 1)  # Fisher and Yates, inside out
            grid[cell] = grid[other]
            grid[other] = cell
        costs[index] = grid_cost(features, columns, grid, memory)
