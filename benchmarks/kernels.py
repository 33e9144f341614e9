"""Where the time of a child goes: the three kernels apart, in nanoseconds a placement, on one core.

python -m benchmarks.kernels PHOTO [PHOTO ...]
"""

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import click
import numpy as np

from jigsolve import Parameters, Puzzle
from jigsolve._jit import kernel
from jigsolve.compatibility.candidates import find_candidates
from jigsolve.compatibility.lab import lab_features
from jigsolve.compatibility.memory import new_memory
from jigsolve.genetic.algorithm import Evolution, evolve
from jigsolve.genetic.crossover import consult, grow, new_workspace
from jigsolve.genetic.population import grid_cost
from jigsolve.genetic.random import first_state
from jigsolve.genetic.selection import select_parents
from jigsolve.threads import Threads

GENERATIONS = (1, 2, 5, 20)
PLACEMENTS = 500_000
REPEATS = 7


@kernel
def consult_all(compatibility: Any, columns: int, grids: Any, parents: Any, work: Any) -> None:
    for first, second in parents:
        consult(grids[first], grids[second], columns, compatibility.buddies, work.neighbours, work.advice)


@kernel
def grow_all(compatibility: Any, columns: int, grids: Any, parents: Any, work: Any, child: Any, phases: Any) -> None:
    pieces = grids.shape[1]
    memory = new_memory(pieces, 0)
    for index in range(len(parents)):
        first, second = parents[index]
        consult(grids[first], grids[second], columns, compatibility.buddies, work.neighbours, work.advice)
        state = first_state(0, 0, index)
        grow(compatibility, pieces // columns, columns, first % pieces, pieces, 0.0, state, work, memory, child, phases)


@kernel
def cost_all(compatibility: Any, columns: int, grids: Any, parents: Any) -> float:
    total = 0.0
    memory = new_memory(grids.shape[1], 0)
    for first, _ in parents:
        total += grid_cost(compatibility.features, compatibility.bearings, columns, grids[first], memory)
    return total


@click.command(help=__doc__)
@click.argument("photos", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--piece-size", default=28, show_default=True)
def main(photos: tuple[Path, ...], piece_size: int) -> None:
    for photo in photos:
        puzzle = Puzzle.from_image(photo, piece_size, crop=True).shuffled(1)[0]
        with Threads() as threads:
            compatibility = find_candidates(lab_features(puzzle), Parameters().candidates, threads)
            for evolution in evolve(compatibility, puzzle.columns, Parameters(), 1, threads):
                if evolution.number in GENERATIONS:
                    print(
                        f"{photo.name}, {len(puzzle)} pieces: {measure(puzzle, compatibility, evolution)}", flush=True
                    )
                if evolution.number == max(GENERATIONS):
                    break


def measure(puzzle: Puzzle, compatibility: Any, evolution: Evolution) -> str:
    """Return what the children of a generation take, kernel by kernel."""
    pieces, columns, population = len(puzzle), puzzle.columns, evolution.population
    children = max(1, PLACEMENTS // pieces)
    parents = select_parents(population.costs, "inverse", children, 1, evolution.number)
    work = new_workspace(pieces, puzzle.rows, columns)
    child, phases = np.empty(pieces, dtype=np.int32), np.zeros(3, dtype=np.int64)
    given = (compatibility, columns, population.grids, parents)
    consulting = fastest(lambda: consult_all(*given, work)) / (children * pieces)
    growing = fastest(lambda: grow_all(*given, work, child, phases)) / (children * pieces) - consulting
    adding_up = fastest(lambda: cost_all(*given)) / (children * pieces)
    shares = " / ".join(f"{share:.0%}" for share in phases / phases.sum())
    return (
        f"children of generation {evolution.number} (agreed / buddy / greedy {shares}): "
        f"consult {consulting:.1f}, grow {growing:.1f}, cost {adding_up:.1f} ns"
    )


def fastest(work: Callable[[], object]) -> float:
    """Return the nanoseconds of the fastest of several runs, which is the one least disturbed."""
    work()
    times = []
    for _ in range(REPEATS):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return 1e9 * min(times)


if __name__ == "__main__":
    main()
