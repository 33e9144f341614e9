"""What kernels tell the machine that Numba has no words for. Python passes over it.

Sides are compared in a random order, so much of the time goes by waiting for memory. And kernels hand on dozens of
arrays, of which Numba copies the descriptions and counts the references at every call, unless it is told not to.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    infer_getattr,
    intrinsic,
    lower_builtin,
    lower_getattr_generic,
    models,
    overload,
    register_model,
    type_callable,
)

CACHE_LINE = 64


def uncounted(value: Any) -> Any:
    """Return an array, or a named tuple of such, of which kernels count no references.

    A kernel that Python calls says this of what it was given, which outlives it, and which it only reads: Numba takes
    what is written to it for lost, and leaves it out. A named tuple is handed on by its address then, and has nothing
    but its attributes.
    """
    return value


def prefetch(array: Any, row: Any, size: int) -> None:
    """Ask for so many bytes from a row of an array on, so that they are at hand when they are read a moment later."""


class Reference(types.Type):
    """The address of a named tuple."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        super().__init__(f"Reference({kind})")

    @property
    def key(self) -> Any:
        """What tells types apart: the names of two may be the same."""
        return self.kind


@register_model(Reference)
class _ReferenceModel(models.PrimitiveModel):
    def __init__(self, manager, reference):
        super().__init__(manager, reference, manager.lookup(reference.kind).get_value_type().as_pointer())


@infer_getattr
class _ReferenceAttributes(AttributeTemplate):
    key = Reference

    def generic_resolve(self, reference, name):  # type: ignore[override]
        return _handed_on(reference.kind[reference.kind.fields.index(name)])


def _handed_on(value):
    return Reference(value) if isinstance(value, types.BaseNamedTuple) else value


@lower_getattr_generic(Reference)
def _get_attribute(_, builder, reference, address, name):
    index = reference.kind.fields.index(name)
    part = cgutils.gep_inbounds(builder, address, 0, index)
    return part if isinstance(reference.kind[index], types.BaseNamedTuple) else builder.load(part)


@type_callable(uncounted)
def _type_uncounted(_):
    return _handed_on


@lower_builtin(uncounted, types.Any)
def _without_counts(context, builder, signature, arguments):
    """What `uncounted` is in a kernel: no call, so that an address is that of something in the kernel itself."""
    kind = signature.args[0]
    stripped = _stripped(context, builder, kind, arguments[0])
    return stripped if signature.return_type == kind else cgutils.alloca_once_value(builder, stripped)


def _stripped(context, builder, kind, value):
    """What an array is made of, but without that which counts its references, nor what Python knows it by."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    if isinstance(kind, types.BaseNamedTuple):
        for index, part in enumerate(kind):  # type: ignore[arg-type, var-annotated]
            stripped = _stripped(context, builder, part, builder.extract_value(value, index))
            value = builder.insert_value(value, stripped, index)
    return value


@overload(prefetch)
def _choose_prefetch(array, row, size):
    def prefetch_lines(array, row, size):
        for offset in range(0, size + CACHE_LINE - 1, CACHE_LINE):  # Rows may begin anywhere in a line.
            _prefetch_line(array, row, min(offset, size - 1))  # type: ignore[call-arg]

    return prefetch_lines


@intrinsic
def _prefetch_line(_, array, row, offset):
    def build(context, builder, signature, arguments):
        source, at, ahead = arguments
        parts = context.make_array(array)(context, builder, source)
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
