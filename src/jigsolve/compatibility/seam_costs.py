"""Measures that judge a seam in units of each side's own gradients: what they know of a side, and the cost of a pair.

How sides come by it is in `seams`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._access import prefetch
from .._jit import inlined, kernel
from .likeness_costs import Likeness, fetch_sheet, share_of_likeness, unlikeness, vagueness
from .ramp_costs import Ramps, apart, fetch_ramp
from .trace_costs import (
    MASK,
    UNKNOWN,
    Traces,
    broken_between,
    changed_between,
    fetch_keys,
    fetch_shares,
    misfit,
    number_of,
)

# Lines are as long as a multiple of this: a vector.
LANES = 16
# Pixels whose products are added up in 32 bits. No difference of two lines, nor of two neighbours in one, is above the
# limit, so no sum overflows.
BLOCK = 32
LIMIT = 8191
# The power that is a square root, in eighths.
SQUARE_ROOT = 4


class Seams(NamedTuple):
    """Features of the measures by gradients. Sides are numbered 4 * piece + direction.

    Two sides i and j, whose lines differ by d (j's minus i's) at every pixel, cost

        sum of (d - m_i)' A_i (d - m_i) + (d + m_j)' A_j (d + m_j) + e' (B_i + B_j) e

    where e is the difference of d from one pixel to the next, m what a side expects d to be on average, and A and B are
    inverse covariances: how sure a side is of what comes across the seam, and along it.

    A cost is mostly asked for of pieces that are far away in memory, so a side is kept small: what counts is how many
    cache lines it takes.
    """

    lines: NDArray[np.int16]
    """RGB along the side, in steps, three lines a side: side after side, with zeros around each line (see
    `line_stride`)."""
    lengths: NDArray[np.int64]
    """(2,): how much of a line counts, for sides facing right and left, and down and up."""
    means: NDArray[np.float64]
    """(sides, 3): m, in steps; of no rows where it is zero everywhere."""
    weights: NDArray[np.float32]
    """(sides, 6) or (sides, 12): A, then B unless it is zero everywhere, as their entries 00 11 22 01 02 12, those off
    the diagonal doubled, per squared step."""
    power: NDArray[np.int64]
    """(1,): eighths of the power of the sum that is the cost."""
    fair: NDArray[np.float32]
    """(1,): up to which cost a root counts in full; what is beyond counts half."""
    traces: Traces
    """What compression left at the sides; what it adds to the sum comes on top of the above."""
    ramps: Ramps
    """What pieces are without their details; what it adds comes on top, too."""
    likeness: Likeness
    """What flat pieces are like; where it is known, it decides what two of them cost instead of the sum, the more the
    flatter they are."""


@inlined
def line_stride(length: int) -> int:
    """Return how much room a line of so many pixels takes: there is a zero before it and one behind it at least.

    So lines can be compared by whole vectors: the differences of zeros add nothing.
    """
    return (length + 2 + LANES - 1) // LANES * LANES


def line_array(seams: Seams) -> NDArray[np.int16]:
    """Return the lines as (sides, 3, length), the longer of both lengths; what is behind a shorter one is zero."""
    length = int(seams.lengths.max())
    stride = line_stride(length)
    sides = len(seams.weights)
    return seams.lines[: sides * 3 * stride].reshape(sides, 3, stride)[:, :, 1 : 1 + length]


@inlined
def _weighted(w00, w11, w22, w01, w02, w12, moments):
    """The sum of the entries of a symmetric matrix, weighted."""
    m00, m11, m22, m01, m02, m12 = moments
    return (w00 * m00 + w11 * m11 + w22 * m22) + (w01 * m01 + w02 * m02 + w12 * m12)


@inlined
def _weighted_by(weights, side, moments):
    """The same by the weights of a side across the seam."""
    w = weights[side]
    return _weighted(
        np.float64(w[0]),
        np.float64(w[1]),
        np.float64(w[2]),
        np.float64(w[3]),
        np.float64(w[4]),
        np.float64(w[5]),
        moments,
    )


@inlined
def _sum_of(weights, side, other, index):
    return np.float64(weights[side, index]) + np.float64(weights[other, index])


@inlined
def _weighted_by_both(weights, side, other, begin, moments):
    """The same by six weights of two sides, summed, which gives the same from either side."""
    return _weighted(
        _sum_of(weights, side, other, begin),
        _sum_of(weights, side, other, begin + 1),
        _sum_of(weights, side, other, begin + 2),
        _sum_of(weights, side, other, begin + 3),
        _sum_of(weights, side, other, begin + 4),
        _sum_of(weights, side, other, begin + 5),
        moments,
    )


@inlined
def _shifted(means, side, sign, length, moments, sums):
    """The moments of d + sign * m instead of those of d."""
    m00, m11, m22, m01, m02, m12 = moments
    s0, s1, s2 = sums
    e0, e1, e2 = sign * means[side, 0], sign * means[side, 1], sign * means[side, 2]
    return (
        m00 + e0 * (2 * s0 + length * e0),
        m11 + e1 * (2 * s1 + length * e1),
        m22 + e2 * (2 * s2 + length * e2),
        m01 + (e0 * s1 + e1 * s0 + length * e0 * e1),
        m02 + (e0 * s2 + e2 * s0 + length * e0 * e2),
        m12 + (e1 * s2 + e2 * s1 + length * e1 * e2),
    )


@kernel
def _moments(lines, side, other, stride):
    """The sums over pixels of the products of d in two channels, 00 11 22 01 02 12, exactly.

    The compiler turns 16 bits at unsigned places, multiplied in 32 and added up in 32, into vector instructions.
    """
    a, b, q = np.uint64(3 * stride * side), np.uint64(3 * stride * other), np.uint64(stride)
    m00 = m11 = m22 = m01 = m02 = m12 = np.int64(0)
    for begin in range(0, stride, BLOCK):
        s00 = s11 = s22 = s01 = s02 = s12 = np.int32(0)
        for p in range(begin, min(begin + BLOCK, stride)):
            i = np.uint64(p)
            d0 = np.int16(lines[b + i] - lines[a + i])
            d1 = np.int16(lines[b + q + i] - lines[a + q + i])
            d2 = np.int16(lines[b + q + q + i] - lines[a + q + q + i])
            s00 = np.int32(s00 + np.int32(d0) * np.int32(d0))
            s11 = np.int32(s11 + np.int32(d1) * np.int32(d1))
            s22 = np.int32(s22 + np.int32(d2) * np.int32(d2))
            s01 = np.int32(s01 + np.int32(d0) * np.int32(d1))
            s02 = np.int32(s02 + np.int32(d0) * np.int32(d2))
            s12 = np.int32(s12 + np.int32(d1) * np.int32(d2))
        m00, m11, m22, m01, m02, m12 = m00 + s00, m11 + s11, m22 + s22, m01 + s01, m02 + s02, m12 + s12
    return m00, m11, m22, m01, m02, m12


@kernel
def _moments_along(lines, side, other, stride, length):
    """The same of e. What the zeros around the lines add, which is d at the first and the last pixel, is taken off."""
    a, b, q, n = np.uint64(3 * stride * side), np.uint64(3 * stride * other), np.uint64(stride), np.uint64(1)
    m00 = m11 = m22 = m01 = m02 = m12 = np.int64(0)
    for begin in range(0, stride, BLOCK):
        s00 = s11 = s22 = s01 = s02 = s12 = np.int32(0)
        for p in range(begin, min(begin + BLOCK, stride)):
            i = np.uint64(p)
            e0 = np.int16((lines[b + i + n] - lines[a + i + n]) - (lines[b + i] - lines[a + i]))
            e1 = np.int16((lines[b + q + i + n] - lines[a + q + i + n]) - (lines[b + q + i] - lines[a + q + i]))
            e2 = np.int16(
                (lines[b + q + q + i + n] - lines[a + q + q + i + n]) - (lines[b + q + q + i] - lines[a + q + q + i])
            )
            s00 = np.int32(s00 + np.int32(e0) * np.int32(e0))
            s11 = np.int32(s11 + np.int32(e1) * np.int32(e1))
            s22 = np.int32(s22 + np.int32(e2) * np.int32(e2))
            s01 = np.int32(s01 + np.int32(e0) * np.int32(e1))
            s02 = np.int32(s02 + np.int32(e0) * np.int32(e2))
            s12 = np.int32(s12 + np.int32(e1) * np.int32(e2))
        m00, m11, m22, m01, m02, m12 = m00 + s00, m11 + s11, m22 + s22, m01 + s01, m02 + s02, m12 + s12
    for end in (np.int64(1), length):
        i = np.uint64(end)
        d0 = np.int64(lines[b + i]) - np.int64(lines[a + i])
        d1 = np.int64(lines[b + q + i]) - np.int64(lines[a + q + i])
        d2 = np.int64(lines[b + q + q + i]) - np.int64(lines[a + q + q + i])
        m00, m11, m22 = m00 - d0 * d0, m11 - d1 * d1, m22 - d2 * d2
        m01, m02, m12 = m01 - d0 * d1, m02 - d0 * d2, m12 - d1 * d2
    return m00, m11, m22, m01, m02, m12


@kernel
def _sums(lines, side, other, stride):
    """The sums over pixels of d in the three channels."""
    a, b, q = 3 * stride * side, 3 * stride * other, stride
    s0 = s1 = s2 = np.int64(0)
    for p in range(stride):
        s0 += np.int64(lines[b + p]) - np.int64(lines[a + p])
        s1 += np.int64(lines[b + q + p]) - np.int64(lines[a + q + p])
        s2 += np.int64(lines[b + q + q + p]) - np.int64(lines[a + q + q + p])
    return s0, s1, s2


@inlined
def fetch_lines(features, side):
    """Ask for a side's lines and weights."""
    size = 3 * line_stride(max(features.lengths[0], features.lengths[1]))
    prefetch(features.weights, side, 4 * features.weights.shape[1])
    prefetch(features.lines, size * side, 2 * size)
    if len(features.means) > 0:
        prefetch(features.means, side, 3 * 8)


@kernel
def seam_square(features, side, other, phase):
    """What the cost of two sides is a root of (see `Seams`); where likeness is known, the square of the cost.

    If they meet where the right or lower piece of the two is of a certain phase, blocks are judged by that, else it is
    UNKNOWN.

    Everything that it is computed from is asked for before any of it is read, so that it comes at once.
    """
    brightness, colour = features.traces.brightness, features.traces.colour
    fetch_keys(brightness, side, other)
    fetch_keys(colour, side, other)
    fetch_lines(features, side)
    fetch_lines(features, other)
    fetch_sheet(features.likeness, side)
    fetch_sheet(features.likeness, other)
    fetch_ramp(features.ramps, side)
    fetch_ramp(features.ramps, other)
    fetch_shares(brightness, side, other)
    fetch_shares(colour, side, other)
    square = square_of_lines(features.lines, features.lengths, features.means, features.weights, side, other)
    share, alike = share_of_likeness(features.likeness, side, other), 0.0
    if share > 0:
        of_brightness, of_colour = number_of(features.traces, 0, phase), number_of(features.traces, 1, phase)
        broken = broken_between(brightness, side, other, of_brightness)
        broken_colour = broken_between(colour, side, other, of_colour)
        changed = changed_between(colour, side, other, of_colour)
        alike = unlikeness(features.likeness, side, other, square, broken, broken_colour, changed)
        if features.likeness.vague[0] > 0 and len(colour.keys) > 0 and phase == UNKNOWN:
            alike += features.likeness.worth[0] * vagueness(colour.keys[side, MASK], colour.keys[other, MASK])
        alike *= share
    if share < 1:
        square += apart(features.ramps, side, other) + misfit(features.traces, side, other, phase)
        if len(features.likeness.sheets) == 0:
            return square
        alike += (1 - share) * np.float64(root_of(features.power[0], square))
    cost = np.float64(np.float32(alike))
    return cost * cost


@kernel
def square_of_lines(lines, lengths, means, weights, side, other):
    """What the lines of two sides say, the first part of the sum."""
    length = lengths[side & 1]
    stride = line_stride(max(lengths[0], lengths[1]))
    moments = _moments(lines, side, other, stride)
    if len(means) > 0:
        sums = _sums(lines, side, other, stride)
        # First the smaller side, whichever asks: floats are added in one order only.
        first, second, sign = (side, other, -1.0) if side < other else (other, side, 1.0)
        one = _weighted_by(weights, first, _shifted(means, first, sign, length, moments, sums))
        total = one + _weighted_by(weights, second, _shifted(means, second, -sign, length, moments, sums))
    else:
        total = _weighted_by_both(weights, side, other, 0, moments)
    if weights.shape[1] > 6:
        total += _weighted_by_both(weights, side, other, 6, _moments_along(lines, side, other, stride, length))
    return max(total, 0.0)


@inlined
def seam_cost(features, square):
    """The cost that a sum stands for."""
    root = root_of(features.power[0] if len(features.likeness.sheets) == 0 else SQUARE_ROOT, square)
    return min(root, np.float32(0.5) * (root + features.fair[0]))


@inlined
def root_of(power: int, square: float) -> np.float32:
    """The root of a sum that so many eighths stand for. Unlike a power it is rounded the same on every machine."""
    root = np.sqrt(square)
    if power == SQUARE_ROOT:
        return np.float32(root)
    quarter = np.sqrt(root)
    return np.float32(quarter * np.sqrt(quarter))
