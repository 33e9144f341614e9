"""Runs of a bench: which are to be done, done in worker processes, and what of each is kept."""

import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import connection
from pathlib import Path
from time import perf_counter
from typing import Any

from .._version import __version__
from ..errors import JigsolveError
from ..history import EVOLVE, Generation
from ..machine import describe_machine, peak_memory_megabytes, reset_peak_memory
from ..metrics import ceiling, largest_component, score, score_identical
from ..parameters import parameters_of
from ..puzzle import Puzzle
from ..solve import arrangement_cost, solve, warm_up
from ..stop import MaxSeconds
from .results import COST_DIGITS, Run
from .sets import ImageFolder

# The generations whose best cost is kept for the chart.
CHARTED = (0, 1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50, 70, 100)


@dataclass(frozen=True)
class Task:
    """One run to be done."""

    set: str
    image: Path
    piece_width: int
    piece_height: int
    seed: int
    preset: str
    changes: tuple[tuple[str, Any], ...]
    time_limit: float | None
    threads: int
    jobs: int
    commit: str
    max_megapixels: float | None = None

    @property
    def parameters(self) -> str:
        """All that was chosen besides preset and seed, as sorted JSON."""
        chosen = parameters_of(self.preset, **dict(self.changes)).to_dict()
        piece = f"{self.piece_width}x{self.piece_height}"
        return json.dumps(chosen | {"piece": piece, "time_limit": self.time_limit}, sort_keys=True)

    @property
    def key(self) -> tuple[str, str, int, str, str]:
        """What makes two runs the same: see `Run.key`."""
        return self.set, self.image.name, self.seed, self.preset, self.parameters


@dataclass(frozen=True)
class Failure:
    """A run that gave no result, and why. It is tried again by the next bench on the same file."""

    task: Task
    reason: str


def plan(folders: list[ImageFolder], seeds: range, make_task: Callable[[str, Path, int], Task]) -> list[Task]:
    """Return every run of every image, set by set, one seed after the other, so that averages come early."""
    return [make_task(folder.name, image, seed) for folder in folders for seed in seeds for image in folder.images]


def run_task(task: Task) -> Run:
    """Do one run: read, cut, shuffle, solve, score."""
    warm_up(task.preset, dict(task.changes).get("measure"))
    reset_peak_memory()
    start = perf_counter()
    size = (task.piece_width, task.piece_height)
    whole = Puzzle.from_image(task.image, size, crop=True, max_megapixels=task.max_megapixels)
    puzzle, truth = whole.shuffled(task.seed)
    del whole  # Of a huge picture, one copy is enough.
    read_seconds = perf_counter() - start
    stop = MaxSeconds(task.time_limit) if task.time_limit is not None else None
    result = solve(puzzle, task.preset, seed=task.seed, stop=stop, threads=task.threads, **dict(task.changes))
    peak = peak_memory_megabytes()
    accuracy, identical = score(result.arrangement, truth), score_identical(puzzle.kinds, result.arrangement, truth)
    limit = ceiling(puzzle, truth)
    return Run(
        set=task.set,
        image=task.image.name,
        pieces=len(puzzle),
        rows=puzzle.rows,
        columns=puzzle.columns,
        seed=task.seed,
        preset=task.preset,
        parameters=task.parameters,
        neighbour=round(accuracy.neighbour, 6),
        direct=round(accuracy.direct, 6),
        perfect=int(accuracy.perfect),
        component=round(largest_component(result.arrangement, truth), 6),
        neighbour_identical=round(identical.neighbour, 6),
        direct_identical=round(identical.direct, 6),
        ceiling_neighbour=round(limit.neighbour, 6),
        ceiling_direct=round(limit.direct, 6),
        cost=round(result.cost, COST_DIGITS),
        true_cost=round(
            arrangement_cost(puzzle, truth, result.parameters.measure, result.parameters.greedy), COST_DIGITS
        ),
        read_seconds=round(read_seconds, 3),
        costs_seconds=round(result.seconds["costs"], 3),
        candidates_seconds=round(result.seconds["candidates"], 3),
        evolve_seconds=round(result.seconds["evolve"], 3),
        refine_seconds=round(result.seconds.get("refine", 0.0), 3),
        total_seconds=round(read_seconds + result.seconds["total"], 3),
        peak_megabytes=round(peak, 1),
        generations=result.generations,
        stopped=result.stopped,
        costs_by_generation=_charted(result.history),
        threads=task.threads,
        jobs=task.jobs,
        version=__version__,
        commit=task.commit,
        machine=describe_machine(),
    )


def _charted(history: tuple[Generation, ...]) -> str:
    charted = [one for one in history if one.stage == EVOLVE and one.number in CHARTED]
    return " ".join(f"{one.number}:{one.best_cost:.2f}" for one in charted)


def run_tasks(tasks: list[Task], jobs: int) -> Iterator[Run | Failure]:
    """Do the runs in `jobs` worker processes and yield them as they end.

    A worker that dies takes nothing with it: the runs under way are done again, each alone, and one that dies alone is
    a failure.
    """
    waiting = list(reversed(tasks))
    suspects: list[Task] = []
    while waiting or suspects:
        alone = bool(suspects)
        queue = [suspects.pop()] if alone else waiting
        with _Workers(1 if alone else jobs) as workers:
            for outcome in workers.work_off(queue):
                if isinstance(outcome, list):
                    if alone:
                        yield Failure(outcome[0], "the process died; was there enough memory?")
                    else:
                        suspects += outcome
                else:
                    yield outcome


class _Workers:
    """A pool of processes that ends with the block, whatever happens in it."""

    def __init__(self, count: int) -> None:
        self.count = count
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(count, mp_context=context, initializer=_start_worker)

    def __enter__(self) -> "_Workers":
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is not None:  # Nobody waits for the runs under way.
            for process in list((self._pool._processes or {}).values()):
                process.kill()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def work_off(self, queue: list[Task]) -> Iterator[Run | Failure | list[Task]]:
        """Yield outcomes; the tasks under way when a worker died come as one list, and end it."""
        running: dict[Future[Run], Task] = {}
        while queue or running:
            while queue and len(running) < self.count:
                task = queue.pop()
                try:
                    running[self._pool.submit(run_task, task)] = task
                except BrokenProcessPool:
                    yield [task, *running.values()]
                    return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                task = running.pop(future)
                try:
                    yield future.result()
                except BrokenProcessPool:
                    yield [task, *running.values()]
                    return
                except JigsolveError as error:
                    yield Failure(task, str(error))
                except Exception as error:  # Whatever one run meets, the others go on.
                    yield Failure(task, f"{type(error).__name__}: {error}")


def _start_worker() -> None:
    # Ctrl-C reaches the whole group of processes; only the first of them decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with_parent, daemon=True).start()


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
