"""The cost of a pair of sides, from their features: the one definition that every other number must equal.

Features are fixed-point integers and a squared distance is an exact integer, so the order of additions is free: the
compiler may use vectors of any width, and every machine gets the same cost to the last bit from the same features.
"""

import numpy as np
from numpy.typing import NDArray

from .._jit import inlined

# Steps to one unit of a feature. Fine enough for the last of 16 bits; a side of 1,000 pixels stays far below 2^63.
SCALE = 2.0**16
# How many features are summed before `squared_distance_below` looks at the bound: half a cache line.
HEAD = 8


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
def squared_distance(features, side, other):
    """The exact squared distance of two rows of features, in steps."""
    return _partial_square(features, side, other, 0, features.shape[1])


@inlined
def squared_distance_below(features, side, other, bound):
    """The exact squared distance where it is below `bound`; anything from `bound` up where it is not."""
    head = _partial_square(features, side, other, 0, HEAD)
    if head >= bound:
        return head
    return head + _partial_square(features, side, other, HEAD, features.shape[1])


@inlined
def cost_of(square):
    """The cost that a squared distance stands for."""
    return np.float32(np.sqrt(np.float64(square)) / SCALE)
