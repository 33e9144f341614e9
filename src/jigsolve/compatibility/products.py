"""Costs of all pairs as a matrix product: estimates, and by how much they can be wrong.

The estimate of the squared cost of sides i and j is left[i] . right[j] + added[i] + added[j].
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .costs import Seams

# Far above what float32 rounds off the longest of sums, in which a side of 1,000 pixels has 3,000 terms.
RELATIVE_SLACK = 2.0**-8


class Product(NamedTuple):
    """The factors of every side, and how far its estimates can be off."""

    left: NDArray[Any]
    right: NDArray[Any]
    added: NDArray[Any]
    slack: NDArray[np.float64]


def distance_product(features: NDArray[np.int32]) -> Product:
    """Return |a|^2 + |b|^2 - 2ab, in float32.

    An inner product of m terms is off by at most m 2^-24 |a||b|; rounding and adding up, less than 8 more. A side b
    that is as near as the last candidate has |b| <= |a| + |a - last|, so the error is below
    (m + 8) 2^-24 (2 |a| + |a - last|)^2.
    """
    rounded = features.astype(np.float32)
    squares = np.einsum("sf,sf->s", rounded, rounded)
    slack = 8 * (features.shape[1] + 8) * 2.0**-24 * squares.astype(np.float64)
    return Product(-2 * rounded, rounded, squares, slack)


def seam_product(seams: Seams) -> Product:
    """Return the quadratic forms of `Seams`, multiplied out, in float64, which leaves nothing to doubt.

    A side's factor has two halves: what it does as the judge of another's line x (inverse covariances, linear term,
    constant), and what it is to another judge (x x', its differences, x, 1). One's first half meets the other's second.
    """
    sides, _, length = seams.lines.shape
    half = 3 * length + 13
    factors = np.zeros((sides, 2 * half))
    for facing in (0, 1):
        rows = np.arange(sides) % 2 == facing
        lines = seams.lines[rows, :, : seams.lengths[facing]].astype(np.float64)
        lines -= lines.mean(axis=(0, 2), keepdims=True)  # Changes no difference, and leaves less to round.
        judge, judged = factors[rows, :half], factors[rows, half:]
        line = slice(12, 12 + 3 * lines.shape[2])
        expected = lines + seams.means[rows, :, np.newaxis] if len(seams.means) else lines
        across = _full(seams.across[rows])
        pull = across @ expected
        judge[:, :6], judged[:, :6] = seams.across[rows], _moments(lines)
        judge[:, -1] = np.einsum("scp,scp->s", pull, expected)
        if len(seams.along):
            differences = np.diff(lines, axis=2)
            tension = _full(seams.along[rows]) @ differences
            judge[:, 6:12], judged[:, 6:12] = seams.along[rows], _moments(differences)
            judge[:, -1] += np.einsum("scp,scp->s", tension, differences)
            pull[:, :, 1:] += tension
            pull[:, :, :-1] -= tension
        judge[:, line], judged[:, line] = -2 * pull.reshape(len(lines), -1), lines.reshape(len(lines), -1)
        judged[:, -1] = 1
        factors[rows, :half], factors[rows, half:] = judge, judged
    swapped = np.concatenate([factors[:, half:], factors[:, :half]], axis=1)
    # Weights are tiny and moments huge: term by term the error is bounded far closer than by the factors' norms.
    slack = 16 * 2 * half * 2.0**-53 * (np.abs(factors) @ np.abs(swapped).max(axis=0))
    return Product(factors, swapped, np.zeros(sides), slack)


def _moments(lines: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums over pixels of products of channels 00 11 22 01 02 12."""
    channels = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    return np.stack([np.einsum("sp,sp->s", lines[:, u], lines[:, v]) for u, v in channels], axis=1)


def _full(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return symmetric matrices from their entries 00 11 22 01 02 12, of which those off the diagonal are doubled."""
    doubled = weights * np.array([1, 1, 1, 0.5, 0.5, 0.5])
    return doubled[:, [0, 3, 4, 3, 1, 5, 4, 5, 2]].reshape(-1, 3, 3)
