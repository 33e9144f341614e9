"""SIGTERM, by which machines ask a process to end, taken as Ctrl-C is: what was done is kept."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Self

EXIT_TERMINATED = 128 + signal.SIGTERM


class Terminated(KeyboardInterrupt):
    """SIGTERM came."""


class Termination:
    """Within this block SIGTERM raises `Terminated`, once, and `came` tells afterwards whether it did."""

    came = False

    def __enter__(self) -> Self:
        self._here = threading.current_thread() is threading.main_thread()  # Others may not handle signals.
        if self._here:
            self._before = signal.signal(signal.SIGTERM, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._here:
            signal.signal(signal.SIGTERM, self._before)

    def check(self) -> None:
        """Raise what the signal raised if it came: there are places where an exception gets lost."""
        if self.came:
            raise Terminated

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if not self.came:  # Asking again is no reason to drop what is being saved.
            self.came = True
            raise Terminated
