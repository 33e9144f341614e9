"""What the command line shows while it works: live on a terminal, plain lines on a pipe, nothing when quiet."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from .history import Generation
from .solve import Progress as SolveProgress

# Plain lines come at most this often.
LINE_SECONDS = 2.0
# What takes longer than this is worth a word.
PATIENCE_SECONDS = 1.0


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
    def generations(self, total: int, pieces: int) -> Iterator["GenerationDisplay"]:
        """Show the generations of a solve as they come."""
        if self.console.is_terminal and not self.quiet:
            with _live_progress(self.console) as progress:
                yield _Live(progress, progress.add_task("", total=None, text=_starting(pieces)), total)
        else:
            self.say(_starting(pieces))
            yield _Lines(self, total)


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


class GenerationDisplay:
    """Shows one generation after the other; `show` is a callback for `solve`."""

    def show(self, progress: SolveProgress) -> None:
        """Show the generation just made."""
        raise NotImplementedError


class _Live(GenerationDisplay):
    def __init__(self, progress: Progress, task: TaskID, total: int) -> None:
        self._progress, self._task, self._total = progress, task, total

    def show(self, progress: SolveProgress) -> None:
        generation = progress.generation
        self._progress.update(
            self._task, total=self._total, completed=generation.number, text=_describe(generation, self._total)
        )


class _Lines(GenerationDisplay):
    def __init__(self, display: Display, total: int) -> None:
        self._display, self._total = display, total
        self._start = self._said = monotonic()

    def show(self, progress: SolveProgress) -> None:
        generation = progress.generation
        now = monotonic()
        if now - self._said < LINE_SECONDS and generation.number < self._total:
            return
        self._said = now
        left = ""
        if 0 < generation.number < self._total:
            rate = (now - self._start) / generation.number
            left = f", about {rate * (self._total - generation.number):.0f} s left"
        self._display.say(_describe(generation, self._total) + left)


def _live_progress(console: Console) -> Progress:
    # The text carries the counts, so that narrow terminals cut the bar and not the figures.
    return Progress(TextColumn("{task.fields[text]}"), BarColumn(bar_width=20), TimeRemainingColumn(), console=console)


def _starting(pieces: int) -> str:
    return f"finding candidates for {pieces} pieces"


def _describe(generation: Generation, total: int) -> str:
    return (
        f"generation {generation.number}/{total}: cost {generation.best_cost:,.1f}, "
        f"agreed {generation.agreed_share:.0%}, buddy {generation.buddy_share:.0%}, "
        f"greedy {generation.greedy_share:.0%}"
    )
