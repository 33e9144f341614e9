"""The one place where kernels get their compiler options."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function that is called from Python.

    nogil: slices of the work are done by plain threads. cache: compiled once a machine, not once a run.
    No fastmath: sums of floats keep the order they are written in, so that every machine computes the same.
    """
    return cast(Function, njit(nogil=True, cache=True)(function))


def inlined(function: Function) -> Function:
    """Compile a small helper that belongs inside a kernel's loop."""
    return cast(Function, njit(nogil=True, cache=True, inline="always")(function))
