"""Lower bounds of the costs of all pairs, as a matrix product in single precision.

The product left[i] . right[j] estimates the squared cost of sides i and j; what rounding can add to it is taken off
beforehand, so that no entry is above the true sum. So a side's best candidates are among those with the lowest bounds,
and once some sums are computed exactly, every side with a bound above them is out.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .costs import Seams, line_array

# How far a product of m terms can be off, in parts of the sum of the terms' sizes: m roundings of the sum, and a few of
# the factors themselves.
ROUNDING = 2.0**-24
MORE_ROUNDINGS = 16


class Product(NamedTuple):
    """The factors of every side, in float32."""

    left: NDArray[np.float32]
    right: NDArray[np.float32]


def distance_product(features: NDArray[np.int32]) -> Product:
    """Return |a|^2 + |b|^2 - 2ab, less the error of at most r (|a|^2 + |b|^2 + 2|a||b|) <= 2r (|a|^2 + |b|^2)."""
    exact = features.astype(np.float64)
    sides, length = exact.shape
    squares = np.einsum("sf,sf->s", exact, exact)
    squares -= 2 * _relative_error(length + 2) * squares
    left = np.empty((sides, length + 2), dtype=np.float32)
    right = np.empty_like(left)
    left[:, :length], left[:, length], left[:, length + 1] = -2 * exact, squares, 1
    right[:, :length], right[:, length], right[:, length + 1] = exact, 1, squares
    return Product(left, right)


def seam_product(seams: Seams) -> Product:
    """Return the quadratic forms of `Seams`, multiplied out, less the error.

    A side's factor has two halves: what it does as the judge of another's line x (inverse covariances, linear term,
    constant), and what it is to another judge (x x', its differences, x, 1). One's first half meets the other's second.
    So the terms of a pair are bounded by what either judge could make of the largest line of all, and each side's part
    of the error can be taken off its own constant.
    """
    sides, _, length = line_array(seams).shape
    half = 3 * length + 13
    left = np.zeros((sides, 2 * half), dtype=np.float32)
    for facing in (0, 1):
        for begin in range(facing, facing + 4, 2):
            judge, judged = _halves(seams, slice(begin, None, 4), facing, half)
            left[begin::4, :half], left[begin::4, half:] = judge, judged
        rows = np.arange(sides) % 2 == facing
        largest = np.abs(left[rows, half:]).max(axis=0).astype(np.float64)
        # A part of a line that is too short for the other kind of side is zero in both factors.
        left[rows, half - 1] -= _relative_error(2 * half) * (np.abs(left[rows, :half]) @ largest)
    right = np.concatenate([left[:, half:], left[:, :half]], axis=1)
    return Product(left, right)


def _relative_error(terms: int) -> float:
    return (terms + MORE_ROUNDINGS) * ROUNDING


def _halves(seams: Seams, rows: slice, facing: int, half: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what the sides of some rows are as judges, and to other judges."""
    all_lines = line_array(seams)[:, :, : seams.lengths[facing]]
    lines = all_lines[rows] - all_lines[facing::2].mean(axis=(0, 2))[:, np.newaxis]
    across, along = seams.weights[rows, :6].astype(np.float64), seams.weights[rows, 6:].astype(np.float64)
    judge, judged = np.zeros((len(lines), half)), np.zeros((len(lines), half))
    line = slice(12, 12 + 3 * lines.shape[2])
    expected = lines + seams.means[rows, :, np.newaxis] if len(seams.means) else lines
    pull = _full(across) @ expected
    judge[:, :6], judged[:, :6] = across, _moments(lines)
    judge[:, -1] = np.einsum("scp,scp->s", pull, expected)
    if along.shape[1] > 0:
        differences = np.diff(lines, axis=2)
        tension = _full(along) @ differences
        judge[:, 6:12], judged[:, 6:12] = along, _moments(differences)
        judge[:, -1] += np.einsum("scp,scp->s", tension, differences)
        pull[:, :, 1:] += tension
        pull[:, :, :-1] -= tension
    judge[:, line], judged[:, line] = -2 * pull.reshape(len(lines), -1), lines.reshape(len(lines), -1)
    judged[:, -1] = 1
    return judge, judged


def _moments(lines: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums over pixels of products of channels 00 11 22 01 02 12."""
    channels = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    return np.stack([np.einsum("sp,sp->s", lines[:, u], lines[:, v]) for u, v in channels], axis=1)


def _full(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return symmetric matrices from their entries 00 11 22 01 02 12, of which those off the diagonal are doubled."""
    doubled = weights * np.array([1, 1, 1, 0.5, 0.5, 0.5])
    return doubled[:, [0, 3, 4, 3, 1, 5, 4, 5, 2]].reshape(-1, 3, 3)
