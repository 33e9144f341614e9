"""solve(): from a puzzle to a result. It only wires; every step is a module of its own."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from ._version import __version__
from .arrangement import Arrangement
from .budget import fitted, half_of_free_memory
from .checkpoint import Checkpoint, Checkpoints, Saver, State, Warn, check_every, read_checkpoint, write_checkpoint
from .checks import one_of, seed_number, whole_number
from .compatibility.bearings import bearings_of, no_bearings
from .compatibility.candidates import Compatibility, compile_segments, find_candidates, learn
from .compatibility.costs import Features
from .compatibility.lab import lab_features
from .compatibility.partners import buddied_share
from .compatibility.patterns import compile_patterns
from .compatibility.seams import mgc_seams, midline_seams, traced_seams
from .errors import InputError, OutputError
from .genetic.algorithm import Evolution, evolve
from .genetic.population import cost_of_grid
from .history import EVOLVE, REFINE, Generation
from .parameters import (
    DEFAULT_PRESET,
    SMALL_PUZZLE,
    Greedy,
    Measure,
    MutationUnit,
    Parameters,
    Selection,
    parameters_of,
)
from .puzzle import Puzzle
from .refine.exchanges import compile_exchanges
from .refine.patches import compile_patches
from .refine.rounds import Refinement, RoundStart, refine
from .refine.shifts import compile_shifts
from .result import Result
from .samples import compressed_noise
from .stop import AnyOf, MaxGenerations, NoImprovement, StoppingRule
from .threads import Threads, usable_cores

MEASURES: dict[str, Callable[[Puzzle], Features]] = {
    "lab": lab_features,
    "lab-raw": partial(lab_features, normalized=False),
    "mgc": mgc_seams,
    "midline": midline_seams,
    "traces": traced_seams,
}


@dataclass(frozen=True)
class Progress:
    """What a callback sees: the generation just made and the best arrangement so far."""

    generation: Generation
    best: Arrangement
    parameters: Parameters


Callback = Callable[[Progress], bool | None]
"""Called after every generation, the random one included, and every part of the refinement; True stops the run."""

Preparing = Callable[[float], object]
"""Called while candidates are searched, before the first generation, with the share that is done, 0 to 1."""


def solve(
    puzzle: Puzzle,
    preset: str = DEFAULT_PRESET,
    *,
    seed: int = 1,
    stop: StoppingRule | None = None,
    callback: Callback | None = None,
    preparing: Preparing | None = None,
    threads: int | None = None,
    checkpoint: str | Path | Checkpoints | None = None,
    memory: int | None = None,
    population: int | None = None,
    generations: int | None = None,
    elites: int | None = None,
    mutation_rate: float | None = None,
    mutation_unit: MutationUnit | None = None,
    selection: Selection | None = None,
    greedy: Greedy | None = None,
    measure: Measure | None = None,
    candidates: int | None = None,
    patience: int | None = None,
    effort: int | None = None,
) -> Result:
    """Put the pieces of a puzzle back together.

    Ctrl-C ends the run and returns the best of what is complete.

    Parameters
    ----------
    puzzle
        What to solve. The order of its pieces tells the solver nothing.
    preset
        A named set of parameters: "best", the most accurate, or "paper", the algorithm of Sholomon, David and Netanyahu
        (CVPR 2013) as they ran it.
    seed
        The same puzzle, parameters and seed give the same result, on any number of threads. 0 to 2^64 - 1.
    stop
        A rule that ends the run early, such as `MaxSeconds(10) | NoImprovement(20)`. It is asked after every generation
        and every part of the refinement.
    callback
        Called with a `Progress` after every generation and every part of the refinement; returning True stops the run.
    preparing
        Called with the share that is done, 0 to 1, while candidates are searched, before the first generation.
    threads
        Threads that make children; all usable cores when None.
    checkpoint
        A file to save the run to, every minute and when it is stopped, so that `resume` can go on with it; or
        `Checkpoints`, to say how often. It stays when the run is done: remove it once you have kept the result.
    memory
        Bytes that the solve may take; half of what is free when None. A preset's population is made smaller where that
        helps; a solve that cannot fit is refused before it starts.
    population, generations, elites, mutation_rate, mutation_unit, selection, greedy, measure, candidates, patience, \
effort
        Change one parameter of the preset; see `Parameters`.

    Returns
    -------
    Result
        The best arrangement, its cost, the history and the times.

    Raises
    ------
    InputError
        If a parameter makes no sense.
    OutputError
        If the checkpoint is there already or cannot be written.

    Examples
    --------
    >>> puzzle, truth = Puzzle.from_image("photo.jpg", 28, crop=True).shuffled(seed=7)  # doctest: +SKIP
    >>> result = solve(puzzle)  # doctest: +SKIP
    >>> write_picture("solved.png", result.to_image())  # doctest: +SKIP
    """
    if not isinstance(puzzle, Puzzle):
        raise InputError(f"solve takes a Puzzle, such as Puzzle.from_image(path, 28), not {type(puzzle).__name__}")
    _check_rule(stop)
    parameters = parameters_of(
        preset,
        population=population,
        generations=generations,
        elites=elites,
        mutation_rate=mutation_rate,
        mutation_unit=mutation_unit,
        selection=selection,
        greedy=greedy,
        measure=measure,
        candidates=candidates,
        patience=patience,
        effort=effort,
    )
    if population is None:
        parameters = parameters.for_pieces(len(puzzle))
    parameters = _within_memory(puzzle, parameters, threads, memory, population_is_free=population is None)
    run = Checkpoint(puzzle, preset, parameters, seed_number(seed))
    if checkpoint is None:
        return _run(run, warnings.warn, stop, callback, preparing, threads)
    options = checkpoint if isinstance(checkpoint, Checkpoints) else Checkpoints(checkpoint)
    options.check()
    path = Path(options.path)
    run = replace(run, every=options.every, trail=options.trail, notes=options.notes, path=path)
    # From now on there is something to go on with, and a disk without room for it is found out.
    write_checkpoint(path, run, overwrite=options.overwrite)
    return _run(run, options.warn, stop, callback, preparing, threads)


def resume(
    checkpoint: str | Path | Checkpoint,
    *,
    stop: StoppingRule | None = None,
    callback: Callback | None = None,
    preparing: Preparing | None = None,
    threads: int | None = None,
    every: float | None = None,
    warn: Warn = warnings.warn,
) -> Result:
    """Go on with a run that was saved, and save it to the same file from time to time.

    The result is the one of a run that was never stopped: the arrangement, its cost, and the history but for its
    seconds. These go on from those spent before, as far as they were saved.

    Parameters
    ----------
    checkpoint
        The file, or what `read_checkpoint` read from it.
    stop, callback, preparing
        As for `solve`. They are code, which is not saved: pass them again. The callback sees what is new.
    threads
        As for `solve`; it need not be the same number.
    every
        Seconds between saves; as before when None.
    warn
        Told when a save fails; see `Checkpoints`.

    Raises
    ------
    InputError
        If the file is no checkpoint, is damaged, or was saved by another version of jigsolve.

    Examples
    --------
    >>> result = solve(puzzle, checkpoint="run.checkpoint")  # doctest: +SKIP
    >>> result = resume("run.checkpoint")  # in another process, when the first was killed  # doctest: +SKIP
    """
    _check_rule(stop)
    run = checkpoint if isinstance(checkpoint, Checkpoint) else read_checkpoint(checkpoint)
    if every is not None:
        run = replace(run, every=check_every(every))
    return _run(run, warn, stop, callback, preparing, threads)


def arrangement_cost(
    puzzle: Puzzle, arrangement: Arrangement, measure: Measure | None = None, greedy: Greedy | None = None
) -> float:
    """Return what an arrangement costs, as `solve` would count it; by the default preset's parameters when None.

    In a large puzzle of several pictures that were JPEG files this can be more, as it is taken for one picture.
    """
    puzzle.check_fits(arrangement)
    preset = parameters_of(DEFAULT_PRESET)
    measure, greedy = measure or preset.measure, greedy or preset.greedy
    one_of("measure", measure, tuple(MEASURES))
    one_of("greedy", greedy, get_args(Greedy))
    with Threads(None) as pool:
        features, told = learn(MEASURES[measure](puzzle), pool)
    in_cells = greedy == "cell" and len(puzzle) > SMALL_PUZZLE
    bearings = bearings_of(features, told) if in_cells else no_bearings()
    grid = np.ascontiguousarray(arrangement.grid, dtype=np.int32).ravel()
    return cost_of_grid(features, puzzle.columns, grid, bearings)


def warm_up(preset: str = DEFAULT_PRESET, measure: Measure | None = None) -> None:
    """Compile the kernels of a preset, or load them compiled, so that the next solve does not pay for it.

    The first time on a machine this takes a minute or two; the compiled kernels are kept beside the package.

    Raises
    ------
    OutputError
        If there is no room to keep them.
    """
    # Pieces that are alike need a second look, and pieces with traces of JPEG are compared by them: all have kernels.
    tiny = Puzzle.from_array(compressed_noise(), 12)
    parameters = parameters_of(preset)
    effort = min(1, parameters.effort)
    try:
        result = solve(
            tiny, preset, population=6, generations=1, effort=effort, measure=measure, candidates=2, threads=1
        )
        if parameters.greedy == "cell":
            with Threads(1) as pool:
                features = MEASURES[measure or parameters.measure](tiny)
                compile_segments(features, (tiny.rows, tiny.columns), pool)
                compile_patterns(tiny.pieces)
                compatibility = find_candidates(features, 2, pool)
                compile_patches(compatibility, tiny.columns, pool)
                compile_exchanges(compatibility, tiny.columns, pool)
                compile_shifts(compatibility, tiny.columns, pool)
    except OSError as error:
        raise OutputError(
            f"cannot keep the compiled kernels: {error.strerror or error}; "
            "make room, or set NUMBA_CACHE_DIR to a folder elsewhere"
        ) from error
    if result.stopped == "interrupted":  # Ctrl-C was not meant for this puzzle.
        raise KeyboardInterrupt


def _check_rule(stop: StoppingRule | None) -> None:
    if stop is not None and not callable(stop):
        raise InputError(f"stop takes a rule, such as MaxSeconds(10) or NoImprovement(20), not {stop!r}")


def _within_memory(
    puzzle: Puzzle, parameters: Parameters, threads: int | None, memory: int | None, *, population_is_free: bool
) -> Parameters:
    budget = half_of_free_memory() if memory is None else whole_number("memory", memory, 1)
    if budget is None:
        return parameters
    return fitted(puzzle, parameters, threads or usable_cores(), budget, population_is_free=population_is_free)


def _run(
    run: Checkpoint,
    warn: Warn,
    stop: StoppingRule | None,
    callback: Callback | None,
    preparing: Preparing | None,
    threads: int | None,
) -> Result:
    """Begin a run, or go on with it, to its end."""
    puzzle, parameters = run.puzzle, run.parameters
    clock = _Clock(run.seconds)
    with Threads(threads) as pool:
        features = MEASURES[parameters.measure](puzzle)
        clock.lap("costs")
        frame = (puzzle.rows, puzzle.columns) if parameters.greedy == "cell" else None
        compatibility = find_candidates(features, parameters.candidates, pool, preparing, frame=frame)
        clock.lap("candidates")

        def watch(generation: Generation, best: Arrangement) -> None:
            """Show a record to the callback and to the caller's rule, which may end the run."""
            if callback is not None and callback(Progress(generation, best, parameters)):
                raise _Stop("stopped by the callback")
            if stop is not None and (reason := stop(generation)):
                raise _Stop(reason)

        recorder = _Recorder(run, clock, watch)
        saver = Saver(run.path, run.every, warn, recorder.checkpoint)
        stopped = _search(compatibility, run, pool, recorder, saver)
        clock.lap(recorder.records[-1][0].stage)
    best = recorder.records[-1][1]
    return Result(
        puzzle=puzzle,
        arrangement=best,
        cost=recorder.records[-1][0].best_cost,
        certain_share=buddied_share(compatibility.buddies, best.grid),
        history=tuple(generation for generation, _ in recorder.records),
        seconds=clock.seconds(),
        seed=run.seed,
        preset=run.preset,
        parameters=parameters,
        stopped=stopped,
        version=__version__,
    )


def _search(
    compatibility: Compatibility, run: Checkpoint, threads: Threads, recorder: "_Recorder", saver: Saver
) -> str:
    """Evolve and refine, from where the run stands, and return why it ended."""
    stopped = ""
    try:
        if not isinstance(run.state, RoundStart):
            stopped = _evolve(compatibility, run, run.state, threads, recorder, saver)
        if run.parameters.effort > 0:
            start = run.state if isinstance(run.state, RoundStart) else None
            stopped = _refine(compatibility, run, start, threads, recorder, saver) or stopped
    except _Stop as reason:
        saver.save()
        stopped = str(reason)
    except KeyboardInterrupt:
        saver.save()
        if not recorder.records:
            raise
        stopped = "interrupted"
    return stopped


def _evolve(
    compatibility: Compatibility,
    run: Checkpoint,
    start: Evolution | None,
    threads: Threads,
    recorder: "_Recorder",
    saver: Saver,
) -> str:
    """Make generations until there are enough, and return why they are."""
    parameters = run.parameters
    limit: StoppingRule = MaxGenerations(parameters.generations)
    if parameters.patience > 0:
        limit = AnyOf((NoImprovement(parameters.patience), limit))
    # A run may have been saved when its evolution was over and its refinement not begun.
    stopped = limit(recorder.records[-1][0]) if recorder.records else None
    if not stopped:
        for evolution in evolve(compatibility, run.puzzle.columns, parameters, run.seed, threads, start):
            stopped = limit(recorder.evolved(evolution))
            saver.reached(evolution, len(recorder.records))
            if stopped:
                break
    recorder.clock.lap(EVOLVE)
    return stopped or ""


def _refine(
    compatibility: Compatibility,
    run: Checkpoint,
    start: RoundStart | None,
    threads: Threads,
    recorder: "_Recorder",
    saver: Saver,
) -> str:
    """Refine the best arrangement to the end, and return why it is; nothing where there is nothing to refine."""
    columns, effort = run.puzzle.columns, run.parameters.effort
    stopped, begun = "", start.rounds + 1 if start else 0  # The round that was saved is known already.
    for refinement in refine(compatibility, columns, recorder.best(), effort, run.seed, threads, start):
        if refinement.round != begun:  # In the middle of a round there is more to keep than is worth it.
            saver.reached(refinement.start, len(recorder.records))
            begun = refinement.round
        recorder.refined(refinement)
        stopped = "no improvement in a round of refinement"
    return stopped


class _Stop(Exception):  # noqa: N818
    """Ends a solve from within, with the reason."""


class _Clock:
    """Seconds by stage, on top of those that the run took before it was resumed."""

    def __init__(self, before: Mapping[str, float]) -> None:
        self._lap = perf_counter()
        self._start = self._lap - before.get("total", 0.0)
        self._stages = {stage: seconds for stage, seconds in before.items() if stage != "total"}

    def lap(self, stage: str) -> None:
        now = perf_counter()
        self._stages[stage] = self._stages.get(stage, 0.0) + now - self._lap
        self._lap = now

    def elapsed(self) -> float:
        return perf_counter() - self._start

    def seconds(self) -> Mapping[str, float]:
        return {**self._stages, "total": self._lap - self._start}


class _Recorder:
    """Turns generations into a history, keeps the best arrangement of all, and shows each to a watcher."""

    def __init__(self, run: Checkpoint, clock: _Clock, watch: Callable[[Generation, Arrangement], None]) -> None:
        # Pairs, appended in one step: wherever Ctrl-C strikes, a cost has its arrangement.
        self.records: list[tuple[Generation, Arrangement]] = run.records()
        self.clock = clock
        self._run, self._puzzle, self._watch = run, run.puzzle, watch

    def checkpoint(self, state: State, records: int) -> Checkpoint:
        """Return what is needed to go on from a state that was reached after so many records."""
        kept = self.records[:records]
        bests = [best for generation, best in kept if generation.stale == 0] if self._run.trail else [kept[-1][1]]
        self.clock.lap(kept[-1][0].stage)
        history = tuple(generation for generation, _ in kept)
        return replace(self._run, state=state, history=history, bests=tuple(bests), seconds=self.clock.seconds())

    def best(self) -> NDArray[np.int32]:
        """Return the best arrangement of all as a row of piece numbers."""
        return np.ascontiguousarray(self.records[-1][1].grid, dtype=np.int32).ravel()

    def evolved(self, evolution: Evolution) -> Generation:
        """Record a generation."""
        costs = evolution.population.costs
        index = evolution.population.best()
        shares = evolution.phases / max(1, int(evolution.phases.sum()))
        return self._record(
            EVOLVE, evolution.population.grids[index], float(costs[index]), float(np.mean(costs)), shares
        )

    def refined(self, refinement: Refinement) -> Generation:
        """Record a part of the refinement."""
        return self._record(REFINE, refinement.grid, refinement.cost, refinement.mean_cost, np.zeros(3))

    def _record(
        self, stage: str, grid: NDArray[np.int32], cost: float, mean_cost: float, shares: NDArray[np.float64]
    ) -> Generation:
        number, stale = len(self.records), 0
        if self.records and cost >= self.records[-1][0].best_cost:
            # Without elites a generation can fall behind; the best of all is what counts.
            last, best = self.records[-1]
            cost, stale = last.best_cost, last.stale + 1
        else:
            best = Arrangement(grid.reshape(self._puzzle.rows, self._puzzle.columns))
        generation = Generation(
            number=number,
            stage=stage,
            best_cost=cost,
            mean_cost=mean_cost,
            agreed_share=float(shares[0]),
            buddy_share=float(shares[1]),
            greedy_share=float(shares[2]),
            seconds=self.clock.elapsed(),
            stale=stale,
        )
        self.records.append((generation, best))
        self._watch(generation, best)
        return generation
