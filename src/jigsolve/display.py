"""What the command line shows while it works: live on a terminal, plain lines on a pipe, nothing when quiet."""

import os
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Column

from .history import Generation
from .solve import Progress as SolveProgress

# Plain lines come at most this often.
LINE_SECONDS = 2.0
# What takes longer than this is worth a word.
PATIENCE_SECONDS = 1.0
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
    def generations(self, total: int, pieces: int, max_seconds: float | None = None) -> Iterator["GenerationDisplay"]:
        """Show the generations of a solve as they come."""
        time_left = _TimeLeft(total, max_seconds)
        if self.console.is_terminal and not self.quiet:
            with _live_progress(self.console) as progress:
                task = progress.add_task("", total=None, text=_starting(pieces), left="", details="")
                yield _Live(progress, task, total, time_left)
        else:
            self.say(_starting(pieces))
            yield _Lines(self, total, time_left)


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
    """Shows one generation after the other; `show` is a callback for `solve`."""

    def show(self, progress: SolveProgress) -> None:
        """Show the generation just made."""


class _Live:
    def __init__(self, progress: Progress, task: TaskID, total: int, time_left: "_TimeLeft") -> None:
        self._progress, self._task, self._total, self._time_left = progress, task, total, time_left

    def show(self, progress: SolveProgress) -> None:
        generation = progress.generation
        self._progress.update(
            self._task,
            total=self._total,
            completed=generation.number,
            text=_count_of(generation, self._total),
            left=self._time_left.after(generation),
            details=_details(generation),
        )


class _Lines:
    def __init__(self, display: Display, total: int, time_left: "_TimeLeft") -> None:
        self._display, self._total, self._time_left = display, total, time_left
        self._said = monotonic()

    def show(self, progress: SolveProgress) -> None:
        generation = progress.generation
        left = self._time_left.after(generation)
        now = monotonic()
        if now - self._said < LINE_SECONDS and generation.number < self._total:
            return
        self._said = now
        said = [f"{_count_of(generation, self._total)}: {_details(generation)}", left]
        self._display.say(", ".join(part for part in said if part))


class _TimeLeft:
    """Estimates the time left from the last few generations: the first ones take several times as long as the rest."""

    def __init__(self, total: int, max_seconds: float | None) -> None:
        self._total, self._max_seconds = total, max_seconds
        self._ends: deque[float] = deque(maxlen=RECENT + 1)

    def after(self, generation: Generation) -> str:
        """Return the time left after a generation in words, or nothing while there is no telling."""
        self._ends.append(generation.seconds)
        if generation.number < RECENT or generation.number >= self._total:
            return ""
        pace = (self._ends[-1] - self._ends[0]) / (len(self._ends) - 1)
        left = pace * (self._total - generation.number)
        if self._max_seconds is not None:
            left = min(left, self._max_seconds - generation.seconds)
        return f"about {max(left, 0):.0f} s left"


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


def _count_of(generation: Generation, total: int) -> str:
    return f"generation {generation.number}/{total}"


def _details(generation: Generation) -> str:
    return (
        f"cost {generation.best_cost:,.1f}, agreed {generation.agreed_share:.0%}, "
        f"buddy {generation.buddy_share:.0%}, greedy {generation.greedy_share:.0%}"
    )
