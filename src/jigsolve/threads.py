"""Threads: slices of a loop, made side by side by kernels that release the interpreter's lock.

Ctrl-C and other signals may raise between any two steps of the main thread, also within the locks of Python's library,
which then stay closed for ever: a pool of concurrent.futures hangs when that happens. So the threads are fed and heard
through simple queues, which have no step in between.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import pairwise
from queue import Empty, SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Self, TypeVar

from .errors import InputError

Thing = TypeVar("Thing")

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
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads = [Thread(target=self._work, name=f"jigsolve_{i}", daemon=True) for i in range(self.count)]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            del job  # It may hold arrays, and the next one can be long in coming.

    def run(self, length: int, work: Callable[[int, int], object]) -> None:
        """Call work(begin, end) for slices that cover 0 .. length-1, in any order; return when all are done."""
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
                self._jobs.put(partial(attempt, index, *pair))
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


@contextmanager
def borrowed(pool: list[Thing], make: Callable[[], Thing]) -> Iterator[Thing]:
    """Lend a thing from a pool for a slice of work, or make one; it is then in the pool, unless the work raised.

    So there are at most as many as threads.
    """
    try:
        thing = pool.pop()
    except IndexError:
        thing = make()
    yield thing
    pool.append(thing)


def usable_cores() -> int:
    """Cores this process may run on, which a container can make fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
