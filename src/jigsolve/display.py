"""What the command line shows while it works: live on a terminal, plain lines on a pipe, nothing when quiet."""

import os
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Column

from .history import EVOLVE, REFINE, Generation
from .parameters import Parameters
from .solve import Progress as SolveProgress

# Plain lines come at most this often.
LINE_SECONDS = 2.0
# What takes longer than this is worth a word.
PATIENCE_SECONDS = 1.0
# From here on a time is told in minutes, and in hours.
LONG_SECONDS, LONG_MINUTES = 300, 120
# The part of the candidates from which the time for the rest can be told.
TELLING_SHARE = 0.01
# Generations that the time left is estimated from.
RECENT = 5


class Display:
    """Says what is going on, on standard error."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self.console = Console(stderr=True, quiet=quiet, highlight=False, soft_wrap=True)

    def say(self, text: str) -> None:
        """Say one thing."""
        self.console.print(text, markup=False)

    def warn(self, text: str) -> None:
        """Say what went wrong, even when quiet."""
        console = Console(stderr=True, highlight=False, soft_wrap=True) if self.quiet else self.console
        console.print(f"jigsolve: {text}", markup=False)

    @contextmanager
    def patiently(self, text: str) -> Iterator[None]:
        """Say `text` if what is done inside takes longer than a moment."""
        timer = threading.Timer(PATIENCE_SECONDS, self.say, (text,))
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    @contextmanager
    def generations(
        self,
        parameters: Parameters,
        pieces: int,
        max_seconds: float | None = None,
        *,
        stops_early: bool = False,
        past: Sequence[Generation] = (),
    ) -> Iterator["GenerationDisplay"]:
        """Show the generations of a solve, and the parts of its refinement, as they come.

        Parameters
        ----------
        max_seconds
            The limit of time, where there is one.
        stops_early
            Whether a rule can end the run at any time, so that what is left is an upper bound.
        past
            The generations of a run that is resumed.
        """
        words = _Words(parameters, max_seconds, stops_early, past)
        if self.console.is_terminal and not self.quiet:
            with _live_progress(self.console) as progress:
                task = progress.add_task("", total=None, text=_starting(pieces), left="", details="")
                live = _Live(progress, task, words)
                yield live
                live.end()
        else:
            self.say(_starting(pieces))
            lines = _Lines(self, words)
            yield lines
            lines.end()


@contextmanager
def decoders_silenced() -> Iterator[None]:
    """Keep what C libraries print about a damaged picture off standard error; the error raised says enough."""
    if sys.stderr is None:  # Closed: number 2 may be any file by now.
        yield
        return
    kept = os.dup(2)
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


class GenerationDisplay(Protocol):
    """Shows one generation after the other; `prepare` and `show` are `preparing` and `callback` for `solve`."""

    def prepare(self, share: float) -> None:
        """Show how far the search for candidates is."""

    def show(self, progress: SolveProgress) -> None:
        """Show the generation just made."""


class _Live:
    def __init__(self, progress: Progress, task: TaskID, words: "_Words") -> None:
        self._progress, self._task, self._words = progress, task, words

    def prepare(self, share: float) -> None:
        self._progress.update(self._task, total=1, completed=share, left=self._words.until_prepared(share))

    def show(self, progress: SolveProgress) -> None:
        generation = progress.generation
        count, details, left = self._words.about(generation)
        # Without a total the bar only moves to and fro.
        total = self._words.total if generation.stage != REFINE else None
        self._progress.update(
            self._task, total=total, completed=generation.number, text=count, left=left, details=details
        )

    def end(self) -> None:
        self._progress.update(self._task, total=1, completed=1, left="")


class _Lines:
    def __init__(self, display: Display, words: "_Words") -> None:
        self._display, self._words = display, words
        self._said = monotonic()
        self._stage = ""
        self._unsaid = ""

    def prepare(self, share: float) -> None:
        left = self._words.until_prepared(share)
        if left and monotonic() - self._said >= LINE_SECONDS:
            self._unsaid = f"candidates: {share:.0%}, {left}"
            self.end()

    def show(self, progress: SolveProgress) -> None:
        generation = progress.generation
        if generation.stage != self._stage:  # The last of a stage is worth a line, however quick it was.
            self.end()
            self._stage = generation.stage
        count, details, left = self._words.about(generation)
        self._unsaid = f"{count}: {details}"
        if monotonic() - self._said >= LINE_SECONDS:
            self._unsaid += f", {left}" if left else ""
            self.end()

    def end(self) -> None:
        if self._unsaid:
            self._display.say(self._unsaid)
            self._said = monotonic()
        self._unsaid = ""


class _Words:
    """Puts a generation or a part of the refinement into words: which one, what it costs, and the time left.

    How many generations patience allows nobody knows beforehand, only how many there are at most. How many rounds a
    refinement takes nobody knows at all: while it lasts, only a limit of time tells what is left.
    """

    def __init__(
        self,
        parameters: Parameters,
        max_seconds: float | None,
        stops_early: bool = False,
        past: Sequence[Generation] = (),
    ) -> None:
        self.total = parameters.generations if parameters.patience == 0 else None
        """The number of generations, where it is known."""
        self._most = parameters.generations
        self._about = "at most" if parameters.patience > 0 or stops_early else "about"
        self._what = " of evolution" if parameters.effort > 0 else ""
        self._max_seconds = max_seconds
        # The first generations take several times as long as the rest: only the last few count.
        self._ends: deque[float] = deque(maxlen=RECENT + 1)
        self._first_prepared: tuple[float, float] | None = None
        self._evolved = max((generation.number for generation in past if generation.stage == EVOLVE), default=0)

    def until_prepared(self, share: float) -> str:
        """Return the time until all candidates are found, which is empty while there is no telling."""
        now = monotonic()
        if self._first_prepared is None:
            # What came before, as describing the sides, is not part of the share: the clock of that begins here.
            self._first_prepared = now, share
        first, already = self._first_prepared
        if now - first < LINE_SECONDS or share < already + TELLING_SHARE:
            return ""
        left = (now - first) * (1 - share) / (share - already)
        return f"about {in_words(left)} until evolution begins"

    def about(self, generation: Generation) -> tuple[str, str, str]:
        """Return the count, the details and the time left, which is empty while there is no telling."""
        if generation.stage == REFINE:
            count = f"refining, part {generation.number - self._evolved}"
            details = f"cost {generation.best_cost:,.1f}, mean {generation.mean_cost:,.1f}"
            return count, details, self._limit_left(generation)
        self._evolved = generation.number
        self._ends.append(generation.seconds)
        of_total = "" if self.total is None else f"/{self.total}"
        details = (
            f"cost {generation.best_cost:,.1f}, agreed {generation.agreed_share:.0%}, "
            f"buddy {generation.buddy_share:.0%}, greedy {generation.greedy_share:.0%}"
        )
        return f"generation {generation.number}{of_total}", details, self._time_left(generation)

    def _time_left(self, generation: Generation) -> str:
        """Return what is left of evolution, unless the limit of time comes before its end."""
        if len(self._ends) <= RECENT or generation.number >= self._most:
            return self._limit_left(generation)
        pace = (self._ends[-1] - self._ends[0]) / RECENT
        left = max(0.0, pace * (self._most - generation.number))
        if self._max_seconds is not None and self._max_seconds - generation.seconds < left:
            return self._limit_left(generation)
        return f"{self._about} {in_words(left)}{self._what} left"

    def _limit_left(self, generation: Generation) -> str:
        if self._max_seconds is None:
            return ""
        return f"at most {in_words(max(0.0, self._max_seconds - generation.seconds))} left"


def in_words(seconds: float) -> str:
    """Return a time as people say it: "90 s", "12 min", "2 h 05 min"."""
    if seconds < LONG_SECONDS:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < LONG_MINUTES else f"{minutes // 60} h {minutes % 60:02} min"


def _live_progress(console: Console) -> Progress:
    # The details come last, so that narrow terminals cut them and not the count, the bar and the time.
    return Progress(
        TextColumn("{task.fields[text]}", table_column=Column(no_wrap=True, min_width=len("generation 100/100"))),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[left]}"),
        TextColumn("{task.fields[details]}", table_column=Column(no_wrap=True)),
        console=console,
    )


def _starting(pieces: int) -> str:
    return f"finding candidates for {pieces} pieces"
