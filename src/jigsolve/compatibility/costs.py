"""The cost of a pair of sides, from their features: the one definition that every other number must equal.

Features are fixed-point integers and sums of their products are exact, so the order of additions is free: the compiler
may use vectors of any width, and every machine gets the same cost to the last bit from the same features.

There are two kinds of features, and Numba picks the kernels by their type: an array, whose rows are compared by
distance (the paper's measure), and `Seams`, whose lines are compared in units of their own gradients.
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from .._jit import inlined
from .seam_costs import Seams, seam_cost, seam_square
from .trace_costs import UNKNOWN

# Steps to one unit of a feature. Fine enough for the last of 16 bits; a side of 1,000 pixels stays far below 2^63.
SCALE = 2.0**16
# How many features are summed before `squared_distance_below` looks at the bound: half a cache line.
HEAD = 8


Features = NDArray[np.int32] | Seams


def number_of_sides(features: Features) -> int:
    """Return how many sides there are features of."""
    return len(features.weights if isinstance(features, Seams) else features)


def to_fixed_point(features: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return features of shape (sides, length) as integers, in rows padded with zeros to at least HEAD of them."""
    sides, length = features.shape
    fixed = np.zeros((sides, max(length, HEAD)), dtype=np.int32)
    np.rint(features * SCALE, out=fixed[:, :length], casting="unsafe")
    return fixed


@inlined
def _partial_square(features, side, other, begin, end):
    total = np.int64(0)
    for f in range(begin, end):
        difference = np.int32(features[side, f] - features[other, f])
        total += np.int64(difference) * np.int64(difference)
    return total


@inlined
def _distance_square(features, side, other, phase):
    return np.float64(_partial_square(features, side, other, 0, features.shape[1]))


@inlined
def _distance_square_below(features, side, other, bound):
    head = _partial_square(features, side, other, 0, HEAD)
    if head >= bound:
        return np.float64(head)
    return np.float64(head + _partial_square(features, side, other, HEAD, features.shape[1]))


@inlined
def _distance_cost(features, square):
    return np.float32(np.sqrt(square) / SCALE)


# The four that follow choose for the interpreter, when the compiler is off; the four after them for Numba.


def _square(features: Any, side: int, other: int, phase: int) -> Any:
    square = seam_square if isinstance(features, Seams) else _distance_square
    return square(features, side, other, phase)


def _square_below(features: Any, side: int, other: int, bound: float) -> Any:
    if isinstance(features, Seams):
        return seam_square(features, side, other, UNKNOWN)
    return _distance_square_below(features, side, other, bound)


def _head(features: Any, side: int, index: int) -> Any:
    return np.int32(0) if isinstance(features, Seams) else features[side, index]


def _cost(features: Any, square: float) -> Any:
    return seam_cost(features, square) if isinstance(features, Seams) else _distance_cost(features, square)


@overload(_square, inline="always")
def _choose_square(features, side, other, phase):  # pragma: no cover
    if isinstance(features, types.Array):
        return lambda features, side, other, phase: _distance_square(features, side, other, phase)
    return lambda features, side, other, phase: seam_square(features, side, other, phase)


@overload(_square_below, inline="always")
def _choose_square_below(features, side, other, bound):  # pragma: no cover
    if isinstance(features, types.Array):
        return lambda features, side, other, bound: _distance_square_below(features, side, other, bound)
    return lambda features, side, other, bound: seam_square(features, side, other, UNKNOWN)


@overload(_head, inline="always")
def _choose_head(features, side, index):  # pragma: no cover
    if isinstance(features, types.Array):
        return lambda features, side, index: features[side, index]
    return lambda features, side, index: np.int32(0)


@overload(_cost)
def _choose_cost(features, square):  # pragma: no cover
    if isinstance(features, types.Array):
        return lambda features, square: _distance_cost(features, square)
    return lambda features, square: seam_cost(features, square)


@inlined
def squared_distance(features, side, other):
    """The exact sum that the cost of two sides is a root of."""
    return _square(features, side, other, UNKNOWN)


@inlined
def squared_distance_in(features, side, other, phase):
    """The same where the right or lower piece of the two is of a certain phase (see `phases`), if one is known."""
    return _square(features, side, other, phase)


@inlined
def squared_distance_below(features, side, other, bound):
    """The sum where it is below `bound`; anything from `bound` up where it is not."""
    return _square_below(features, side, other, bound)


@inlined
def head_of(features, side, index):
    """One of HEAD numbers such that no sum of two sides is below the squared distance of their numbers."""
    return _head(features, side, index)


@inlined
def cost_of(features, square):
    """The cost that a sum stands for."""
    return _cost(features, square)
