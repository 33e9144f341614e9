"""Population: many arrangements as one array, with their costs."""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .._jit import inlined, kernel
from ..compatibility.candidates import Compatibility
from ..compatibility.costs import cost_of, squared_distance
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


def cost_of_grid(features: NDArray[np.int32], columns: int, grid: NDArray[np.int32]) -> float:
    """Return the cost of a single arrangement."""
    return float(grid_cost(features, columns, grid, new_memory(len(grid))))


class Memory(NamedTuple):
    """What last lay right of and below every piece (2 * piece, 2 * piece + 1), and its cost; one for each thread.

    It is handed from child to child: the arrangements of a population are alike, so most pairs of one were in the one
    before.
    """

    others: NDArray[np.int32]
    costs: NDArray[np.float32]


@inlined
def new_memory(pieces):
    """A memory of nothing."""
    return Memory(np.full(2 * pieces, -1, np.int32), np.zeros(2 * pieces, np.float32))


@kernel
def remember(features, side, other_side, place, other, others, costs):
    """Compute the cost of a pair that is not in memory, and keep it at its place."""
    others[place] = other
    costs[place] = cost_of(squared_distance(features, side, other_side))


@kernel
def grid_cost(features, columns, grid, memory):
    """The cost of an arrangement: equation (2), the sum over all pairs to the right and down."""
    others, costs = memory
    total = np.float64(0)
    for cell in range(len(grid)):
        piece = grid[cell]
        place = 2 * piece
        if (cell + 1) % columns != 0:
            right = grid[cell + 1]
            if others[place] != right:
                remember(features, 4 * piece, 4 * right + 2, place, right, others, costs)
            total += costs[place]
        if cell + columns < len(grid):
            below_it = grid[cell + columns]
            if others[place + 1] != below_it:
                remember(features, 4 * piece + 1, 4 * below_it + 3, place + 1, below_it, others, costs)
            total += costs[place + 1]
    return total


@kernel
def fill_with_random_grids(features, columns, seed, grids, costs, begin, end):
    """Fill grids begin .. end-1 with random arrangements and their costs."""
    memory = new_memory(grids.shape[1])
    for index in range(begin, end):
        state = first_state(seed, 0, index)
        grid = grids[index]
        for cell in range(len(grid)):
            state += GAMMA
            other = below(mix(state), cell + 1)  # Fisher and Yates, inside out
            grid[cell] = grid[other]
            grid[other] = cell
        costs[index] = grid_cost(features, columns, grid, memory)
