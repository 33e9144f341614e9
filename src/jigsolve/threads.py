"""Threads: slices of a loop, made side by side by kernels that release the interpreter's lock."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from types import TracebackType
from typing import Self

from .errors import InputError

# Slices a thread gets, so that one slow slice does not keep the other threads waiting.
SLICES_PER_THREAD = 4


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
        """Call work(begin, end) for slices that cover 0 .. length-1, in any order; return when all are done."""
        slices = min(length, SLICES_PER_THREAD * self.count)
        bounds = [length * i // slices for i in range(slices + 1)] if slices else []
        futures = [self._pool.submit(work, *pair) for pair in pairwise(bounds)]
        try:
            wait(futures)
        except BaseException:
            for future in futures:
                future.cancel()
            wait(futures)
            raise
        for future in futures:
            future.result()


def usable_cores() -> int:
    """Cores this process may run on, which a container can make fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
