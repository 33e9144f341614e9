"""The cost of a pair of sides, from their features: the one definition that every other number must equal.

Features are fixed-point integers and sums of their products are exact, so the order of additions is free: the compiler
may use vectors of any width, and every machine gets the same cost to the last bit from the same features.

There are two kinds of features, and Numba picks the kernels by their type: an array, whose rows are compared by
distance (the paper's measure), and `Seams`, whose lines are compared in units of their own gradients.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from .._jit import inlined

# Steps to one unit of a feature. Fine enough for the last of 16 bits; a side of 1,000 pixels stays far below 2^63.
SCALE = 2.0**16
# How many features are summed before `squared_distance_below` looks at the bound: half a cache line.
HEAD = 8


class Seams(NamedTuple):
    """Features of the measures by gradients. Sides are numbered 4 * piece + direction.

    Two sides i and j, whose lines differ by d (j's minus i's) at every pixel, cost

        sum of (d - m_i)' A_i (d - m_i) + (d + m_j)' A_j (d + m_j) + e' (B_i + B_j) e

    where e is the difference of d from one pixel to the next, m what a side expects d to be on average, and A and B are
    inverse covariances: how sure a side is of what comes across the seam, and along it.
    """

    lines: NDArray[np.int32]
    """(sides, 3, length): RGB along the side, in steps."""
    lengths: NDArray[np.int64]
    """(2,): how much of a line counts, for sides facing right and left, and down and up."""
    means: NDArray[np.float64]
    """(sides, 3): m, in steps; of no rows where it is zero everywhere."""
    across: NDArray[np.float64]
    """(sides, 6): A as its entries 00 11 22 01 02 12, those off the diagonal doubled, per squared step."""
    along: NDArray[np.float64]
    """(sides, 6): B likewise; of no rows where it is zero everywhere."""
    power: NDArray[np.int64]
    """(1,): eighths of the power of the sum that is the cost."""


Features = NDArray[np.int32] | Seams


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
def _distance_square(features, side, other):
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


@inlined
def _weighted(weights, side, m00, m11, m22, m01, m02, m12):
    """The sum of the entries of a symmetric matrix, weighted by the inverse covariance of a side."""
    diagonal = weights[side, 0] * m00 + weights[side, 1] * m11 + weights[side, 2] * m22
    return diagonal + (weights[side, 3] * m01 + weights[side, 4] * m02 + weights[side, 5] * m12)


@inlined
def _expected(weights, means, side, sign, length, moments, sums):
    """What a side's expectation takes off: the moments of d + sign * m instead of those of d."""
    m00, m11, m22, m01, m02, m12 = moments
    s0, s1, s2 = sums
    e0, e1, e2 = sign * means[side, 0], sign * means[side, 1], sign * means[side, 2]
    return _weighted(
        weights,
        side,
        m00 + e0 * (2 * s0 + length * e0),
        m11 + e1 * (2 * s1 + length * e1),
        m22 + e2 * (2 * s2 + length * e2),
        m01 + (e0 * s1 + e1 * s0 + length * e0 * e1),
        m02 + (e0 * s2 + e2 * s0 + length * e0 * e2),
        m12 + (e1 * s2 + e2 * s1 + length * e1 * e2),
    )


@inlined
def _seam_square(features, side, other):
    lines, means, across, along = features.lines, features.means, features.across, features.along
    length = features.lengths[side & 1]
    m00 = m11 = m22 = m01 = m02 = m12 = np.int64(0)
    for p in range(length):
        d0 = np.int64(np.int32(lines[other, 0, p] - lines[side, 0, p]))
        d1 = np.int64(np.int32(lines[other, 1, p] - lines[side, 1, p]))
        d2 = np.int64(np.int32(lines[other, 2, p] - lines[side, 2, p]))
        m00 += d0 * d0
        m11 += d1 * d1
        m22 += d2 * d2
        m01 += d0 * d1
        m02 += d0 * d2
        m12 += d1 * d2
    if len(means) > 0:
        s0 = s1 = s2 = np.int64(0)
        for p in range(length):
            s0 += lines[other, 0, p] - lines[side, 0, p]
            s1 += lines[other, 1, p] - lines[side, 1, p]
            s2 += lines[other, 2, p] - lines[side, 2, p]
        moments, sums = (m00, m11, m22, m01, m02, m12), (s0, s1, s2)
        # First the smaller side, whichever asks: floats are added in one order only.
        first, second, sign = (side, other, -1.0) if side < other else (other, side, 1.0)
        one = _expected(across, means, first, sign, length, moments, sums)
        total = one + _expected(across, means, second, -sign, length, moments, sums)
    else:
        first, second = min(side, other), max(side, other)
        one = _weighted(across, first, m00, m11, m22, m01, m02, m12)
        total = one + _weighted(across, second, m00, m11, m22, m01, m02, m12)
    if len(along) > 0:
        n00 = n11 = n22 = n01 = n02 = n12 = np.int64(0)
        for p in range(1, length):
            e0 = np.int64(
                np.int32((lines[other, 0, p] - lines[side, 0, p]) - (lines[other, 0, p - 1] - lines[side, 0, p - 1]))
            )
            e1 = np.int64(
                np.int32((lines[other, 1, p] - lines[side, 1, p]) - (lines[other, 1, p - 1] - lines[side, 1, p - 1]))
            )
            e2 = np.int64(
                np.int32((lines[other, 2, p] - lines[side, 2, p]) - (lines[other, 2, p - 1] - lines[side, 2, p - 1]))
            )
            n00 += e0 * e0
            n11 += e1 * e1
            n22 += e2 * e2
            n01 += e0 * e1
            n02 += e0 * e2
            n12 += e1 * e2
        total += _weighted(along, first, n00, n11, n22, n01, n02, n12) + _weighted(
            along, second, n00, n11, n22, n01, n02, n12
        )
    return max(total, 0.0)


@inlined
def _seam_cost(features, square):
    # Roots only: unlike a power they are rounded the same on every machine.
    root = np.sqrt(square)
    if features.power[0] == 4:
        return np.float32(root)
    quarter = np.sqrt(root)
    return np.float32(quarter * np.sqrt(quarter))


# The four that follow choose for the interpreter, when the compiler is off; the four after them for Numba.


def _square(features: Any, side: int, other: int) -> Any:
    square = _seam_square if isinstance(features, Seams) else _distance_square
    return square(features, side, other)


def _square_below(features: Any, side: int, other: int, bound: float) -> Any:
    if isinstance(features, Seams):
        return _seam_square(features, side, other)
    return _distance_square_below(features, side, other, bound)


def _head(features: Any, side: int, index: int) -> Any:
    return np.int32(0) if isinstance(features, Seams) else features[side, index]


def _cost(features: Any, square: float) -> Any:
    return _seam_cost(features, square) if isinstance(features, Seams) else _distance_cost(features, square)


@overload(_square, inline="always")
def _choose_square(features, side, other):  # pragma: no cover
    if isinstance(features, types.Array):
        return lambda features, side, other: _distance_square(features, side, other)
    return lambda features, side, other: _seam_square(features, side, other)


@overload(_square_below, inline="always")
def _choose_square_below(features, side, other, bound):  # pragma: no cover
    if isinstance(features, types.Array):
        return lambda features, side, other, bound: _distance_square_below(features, side, other, bound)
    return lambda features, side, other, bound: _seam_square(features, side, other)


@overload(_head, inline="always")
def _choose_head(features, side, index):  # pragma: no cover
    if isinstance(features, types.Array):
        return lambda features, side, index: features[side, index]
    return lambda features, side, index: np.int32(0)


@overload(_cost)
def _choose_cost(features, square):  # pragma: no cover
    if isinstance(features, types.Array):
        return lambda features, square: _distance_cost(features, square)
    return lambda features, square: _seam_cost(features, square)


@inlined
def squared_distance(features, side, other):
    """The exact sum that the cost of two sides is a root of."""
    return _square(features, side, other)


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
