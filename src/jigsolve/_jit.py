"""The one place where kernels get their compiler options."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def _kernels_stamp() -> tuple[tuple[str, int, int], ...]:
    """Return what changes when any source file with kernels does."""
    package = Path(__file__).parent
    rooms = ("compatibility", "genetic", "refine")
    sources = [Path(__file__), package / "_access.py"]
    sources += [source for room in rooms for source in sorted((package / room).glob("*.py"))]
    return tuple((source.name, source.stat().st_mtime_ns, source.stat().st_size) for source in sources)


_STAMP = _kernels_stamp()


def kernel(function: Function) -> Function:
    """Compile a function that is called from Python.

    nogil: slices of the work are done by plain threads. cache: compiled once a machine, not once a run.
    No fastmath: sums of floats keep the order they are written in, so that every machine computes the same.
    """
    return _compiled(function, inline="never")


def inlined(function: Function) -> Function:
    """Compile a small helper that belongs inside a kernel's loop."""
    return _compiled(function, inline="always")


def _compiled(function: Function, inline: Literal["never", "always"]) -> Function:
    dispatcher: Any = njit(nogil=True, cache=True, inline=inline)(function)
    # Numba's cache notices a change in the kernel's own file only, and would go on using kernels with a helper from
    # another file as it was. There is no public way to tell it; should its insides change, only this guard is lost.
    with contextlib.suppress(AttributeError):
        file = dispatcher._cache._cache_file
        file._source_stamp = (file._source_stamp, _STAMP)
    return cast(Function, dispatcher)
