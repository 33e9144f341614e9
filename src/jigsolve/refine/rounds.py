"""Rounds of annealing: several chains from the best arrangement, over and over, until a round brings nothing."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._jit import kernel
from ..compatibility.candidates import Compatibility
from ..compatibility.costs import cost_of, squared_distance
from ..genetic.population import cost_of_grid
from ..threads import Threads
from .anneal import LEAST_GAIN, Chain, anneal, best_grid, new_chain

# Chains of a round, by their first temperature in units of `cost_unit`: no temperature suits every puzzle.
TEMPERATURES = (0.6, 0.9, 1.3, 1.8)
# Moves of a chain for every side in doubt, at effort 0; each step of effort doubles them.
MOVES_PER_DOUBT = 150
LEAST_MOVES = 10_000
# Parts of a round, after each of which the best so far is shown and the run can be stopped.
PARTS = 10
# The rank whose cost, above that of the first, makes the unit of temperature: what a plausible mistake costs.
PLAUSIBLE = 10
# The memory of pair costs of one chain has at most this many entries of 8 bytes.
MOST_ENTRIES = 2**22


@dataclass(frozen=True)
class Refinement:
    """The best arrangement after a part of a round."""

    grid: NDArray[np.int32]
    cost: float
    mean_cost: float
    """Of what the chains hold at the moment."""
    round: int
    part: int


def refine(
    compatibility: Compatibility, columns: int, grid: NDArray[np.int32], effort: int, seed: int, threads: Threads
) -> Iterator[Refinement]:
    """Yield ever better arrangements, until a whole round has found no better one."""
    best, cost = np.ascontiguousarray(grid, dtype=np.int32).copy(), cost_of_grid(compatibility.features, columns, grid)
    unit = cost_unit(compatibility)
    number, gained = 0, True
    while gained and unit > 0:
        number += 1
        start, start_cost = best, cost
        chains = _new_chains(compatibility, columns, start, seed, number)
        doubts = int(chains[0].doubts.count[0])
        if doubts == 0:
            return
        moves = max(LEAST_MOVES, MOVES_PER_DOUBT * doubts * 2**effort)
        for part in range(PARTS):
            bounds = (moves * part // PARTS, moves * (part + 1) // PARTS)

            def advance(begin: int, end: int, bounds: tuple[int, int] = bounds) -> None:
                for index in range(begin, end):
                    heat = unit * TEMPERATURES[index]
                    anneal(compatibility, columns, chains[index], *bounds, moves, heat)

            threads.run(len(chains), advance)
            gains = np.array([chain.costs for chain in chains])
            index = int(np.argmin(gains[:, 1]))
            if start_cost + gains[index, 1] < cost - LEAST_GAIN:
                best = np.empty_like(start)
                best_grid(chains[index], columns, best)
                cost = cost_of_grid(compatibility.features, columns, best)
            yield Refinement(best, cost, float(start_cost + gains[:, 0].mean()), number, part + 1)
        gained = cost < start_cost - LEAST_GAIN


def _new_chains(
    compatibility: Compatibility, columns: int, grid: NDArray[np.int32], seed: int, number: int
) -> list[Chain]:
    pieces = len(grid)
    bits = max(0, min(int(MOST_ENTRIES / (2 * pieces)).bit_length() - 1, (pieces - 1).bit_length()))
    return [
        new_chain(compatibility.buddies, columns, grid, bits, np.uint64(seed), np.uint64(number), np.uint64(index))
        for index in range(len(TEMPERATURES))
    ]


def cost_unit(compatibility: Compatibility) -> float:
    """Return what a plausible mistake costs: how much dearer than the first candidate of a side the tenth is."""
    last = min(PLAUSIBLE, compatibility.candidates.shape[1]) - 1
    if last < 1:
        return 0.0
    differences = costs_of_rank(compatibility, last) - costs_of_rank(compatibility, 0)
    return float(np.median(differences[differences > 0])) if (differences > 0).any() else 0.0


@kernel
def costs_of_rank(compatibility, rank):
    """What the candidate of a rank costs, for every side."""
    candidates, _, features = compatibility
    costs = np.empty(len(candidates), np.float32)
    for side in range(len(candidates)):
        costs[side] = cost_of(features, squared_distance(features, side, candidates[side, rank]))
    return costs
