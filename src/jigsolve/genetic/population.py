"""Population: many arrangements as one array, with their costs."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from .._access import uncounted
from .._jit import kernel
from ..compatibility.bearings import Bearings, fill_codes, no_bearings
from ..compatibility.candidates import Compatibility
from ..compatibility.costs import Features
from ..compatibility.memory import empty_memory, new_memory, pair_in, recalled
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
                compatibility.features,
                compatibility.bearings,
                columns,
                key,
                population.grids,
                population.costs,
                begin,
                end,
            ),
        )
        return population

    def best(self) -> int:
        """Return the index of the cheapest arrangement."""
        return int(np.argmin(self.costs))


def cost_of_grid(features: Features, columns: int, grid: NDArray[np.int32], bearings: Bearings | None = None) -> float:
    """Return the cost of a single arrangement, wherever it lies in blocks if no bearings are known."""
    return float(grid_cost(features, bearings or no_bearings(), columns, grid, empty_memory(len(grid), 0)))


@kernel
def grid_cost(features, bearings, columns, grid, memory):
    """The cost of an arrangement: equation (2), the sum over all pairs to the right and down.

    Pairs are judged by the phases of their cells, if most pieces agree on these.
    """
    features, bearings = uncounted(features), uncounted(bearings)
    entries, step = memory
    codes, several = np.empty(len(grid), np.int32), bearings.several
    fill_codes(bearings, columns, grid, codes)
    total = np.float64(0)
    for cell in range(len(grid)):
        for direction in range(2):
            beside = cell + columns if direction == 1 else cell + 1
            if beside < len(grid) and (direction == 1 or beside % columns != 0):
                piece, other = np.int64(grid[cell]), np.int64(grid[beside])
                row, second = pair_in(codes, several, piece, direction, other, cell, beside)
                total += recalled(features, entries, step, row, second)
    return total


@kernel
def fill_with_random_grids(features, bearings, columns, seed, grids, costs, begin, end):
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
        costs[index] = grid_cost(features, bearings, columns, grid, memory)
