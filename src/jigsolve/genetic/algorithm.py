"""The paper's main loop (algorithm 1): evaluate, keep the elites, fill up with children."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..compatibility.candidates import Compatibility
from ..compatibility.memory import Memory, empty_memory
from ..parameters import Parameters
from ..threads import Threads, borrowed
from .crossover import breed
from .population import Population
from .selection import select_parents

# Places a side in the memory of costs, as a power of two, where pieces are judged by all neighbours of a cell.
CELL_MEMORY_BITS = 4


@dataclass(frozen=True)
class Evolution:
    """The population after a generation and how many placements each phase made for it."""

    number: int
    population: Population
    phases: NDArray[np.int64]


def evolve(
    compatibility: Compatibility,
    columns: int,
    parameters: Parameters,
    seed: int,
    threads: Threads,
    start: Evolution | None = None,
) -> Iterator[Evolution]:
    """Yield the random population, then one generation after the other, for ever; or those that come after `start`.

    Two populations take turns: what is yielded stays as it is until the generation after the next is asked for.
    """
    if start is None:
        population = Population.random(parameters.population, compatibility, columns, seed, threads)
        start = Evolution(0, population, np.zeros(3, dtype=np.int64))
        yield start
    number, population = start.number, start.population
    spare = Population.empty(parameters.population, len(compatibility.buddies))
    memories: list[Memory] = []
    while True:
        number += 1
        phases = _next_generation(
            population, spare, compatibility, columns, parameters, seed, number, threads, memories
        )
        population, spare = spare, population
        yield Evolution(number, population, phases)


def _next_generation(
    old: Population,
    new: Population,
    compatibility: Compatibility,
    columns: int,
    parameters: Parameters,
    seed: int,
    number: int,
    threads: Threads,
    memories: list[Memory],
) -> NDArray[np.int64]:
    """Fill `new` from `old`: the elites first, then children. Return the placements in each phase.

    Each slice of the children borrows one of the `memories`: what one generation computed the next need not.
    """
    elites = np.argsort(old.costs, kind="stable")[: parameters.elites]
    new.grids[: len(elites)] = old.grids[elites]
    new.costs[: len(elites)] = old.costs[elites]
    parents = select_parents(old.costs, parameters.selection, parameters.population - len(elites), seed, number)
    by_child = parameters.mutation_unit == "child"
    mutants = parameters.mutation_rate if by_child else 0.0
    mutation_rate = 0.0 if by_child else parameters.mutation_rate
    bits = CELL_MEMORY_BITS if parameters.greedy == "cell" else 0
    key, generation = np.uint64(seed), np.uint64(number)
    before = (old.grids, old.costs)
    after = (new.grids[len(elites) :], new.costs[len(elites) :])
    phases: list[NDArray[np.int64]] = []

    def breed_slice(begin: int, end: int) -> None:
        with borrowed(memories, lambda: empty_memory(old.grids.shape[1], bits)) as memory:
            phases.append(
                breed(
                    compatibility,
                    columns,
                    before,
                    parents,
                    mutants,
                    mutation_rate,
                    memory,
                    key,
                    generation,
                    after,
                    begin,
                    end,
                )
            )

    threads.run(len(parents), breed_slice)
    return np.sum(phases, axis=0)
