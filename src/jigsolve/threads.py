"""Threads: slices of a loop, made side by side by kernels that release the interpreter's lock."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import pairwise
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Self

from .errors import InputError

# Slices a thread gets, so that one slow slice does not keep the other threads waiting.
SLICES_PER_THREAD = 4
# How often to look whether the slices under way are done when a run is given up.
POLL_SECONDS = 0.05


class Threads:
    """A pool of threads that belongs to one solve."""

    def __init__(self, count: int | None = None) -> None:
        if count is not None and count < 1:
            raise InputError(f"threads must be at least 1, not {count}")
        self.count = count or usable_cores()
        self._pool = ThreadPoolExecutor(self.count, thread_name_prefix="jigsolve")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def run(self, length: int, work: Callable[[int, int], object]) -> None:
        """Call work(begin, end) for slices that cover 0 .. length-1, in any order; return when all are done.

        Ctrl-C and other signals may raise at any point in here, also while a future's lock is held: so nobody waits for
        futures, whose locks would then stay closed for ever, but for marks that the slices leave.
        """
        slices = min(length, SLICES_PER_THREAD * self.count)
        bounds = [length * i // slices for i in range(slices + 1)] if slices else []
        done = [False] * slices
        errors: list[BaseException] = []
        one_more: SimpleQueue[int] = SimpleQueue()
        given_up = False

        def attempt(index: int, begin: int, end: int) -> None:
            try:
                if not given_up:
                    work(begin, end)
            except BaseException as error:
                errors.append(error)
            finally:
                done[index] = True
                one_more.put(index)

        submitted = 0
        try:
            for index, pair in enumerate(pairwise(bounds)):
                self._pool.submit(attempt, index, *pair)
                submitted += 1
            for _ in range(slices):
                one_more.get()
        except BaseException:
            given_up = True
            while not all(done[:submitted]):
                with suppress(Empty):  # What came may have been lost on its way: the marks count.
                    one_more.get(timeout=POLL_SECONDS)
            raise
        if errors:
            raise errors[0]


def usable_cores() -> int:
    """Cores this process may run on, which a container can make fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
