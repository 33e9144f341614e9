"""What kernels tell the machine that Numba has no words for. Python passes over it.

Sides are compared in a random order, so nearly all of the time goes by waiting for memory, or for a count of references
that all threads write to.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

CACHE_LINE = 64


def uncounted(value: Any) -> Any:
    """Return an array, or a tuple of such, of which kernels count no references.

    A kernel that Python calls says this of the arrays that it was given: they outlive it. Otherwise each kernel in turn
    counts every array of what it hands on.
    """
    return value


def prefetch(array: Any, row: Any, size: int) -> None:
    """Ask for so many bytes from a row of an array on, so that they are at hand when they are read a moment later."""


@overload(uncounted)
def _uncounted(value):  # pragma: no cover
    def without_counts(value):
        return _without_counts(value)  # type: ignore[call-arg]

    return without_counts


@intrinsic
def _without_counts(_, value):  # pragma: no cover
    def build(context, builder, signature, arguments):
        return _stripped(context, builder, signature.args[0], arguments[0])

    return value(value), build


def _stripped(context, builder, kind, value):  # pragma: no cover
    """What an array is made of, but without that which counts its references, nor what Python knows it by."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        for index, part in enumerate(kind.types):  # type: ignore[attr-defined]
            stripped = _stripped(context, builder, part, builder.extract_value(value, index))
            value = builder.insert_value(value, stripped, index)
    return value


@overload(prefetch)
def _choose_prefetch(array, row, size):  # pragma: no cover
    def prefetch_lines(array, row, size):
        for offset in range(0, size, CACHE_LINE):
            _prefetch_line(array, row, offset)  # type: ignore[call-arg]

    return prefetch_lines


@intrinsic
def _prefetch_line(_, array, row, offset):  # pragma: no cover
    def build(context, builder, signature, arguments):
        source, at, ahead = arguments
        parts = context.make_array(signature.args[0])(context, builder, source)
        data = builder.ptrtoint(parts.data, cgutils.intp_t)
        begin = builder.add(data, builder.mul(at, builder.extract_value(parts.strides, 0)))
        place = builder.inttoptr(builder.add(begin, ahead), cgutils.voidptr_t)
        whole = cgutils.int32_t
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, whole, whole, whole])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        to_read, keep, data_cache = whole(0), whole(3), whole(1)
        builder.call(function, [place, to_read, keep, data_cache])
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp), build
