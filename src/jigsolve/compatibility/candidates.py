"""The exact best candidates of every side, best first, and best buddies; never a table of all pairs."""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._jit import inlined, kernel
from ..threads import Threads
from .costs import Features, Seams, cost_of, squared_distance, squared_distance_below
from .products import RELATIVE_SLACK, Product, distance_product, seam_product

# Rows of one matrix product: enough for its speed, but no more than the memory below.
BLOCK_ROWS = 512
BLOCK_BYTES = 2**26
# How many more than asked for are taken from the rounded product, so that rounding rarely costs a second look.
MARGIN = 8
# Best buddies are sorted by the ratio of their cost to that of the next best candidate of either.
DOUBT_RATIOS = (0.5, 0.65, 0.8, 0.9)
NO_BUDDY = len(DOUBT_RATIOS) + 1
VAGUE = NO_BUDDY + 1
# A side is vague if its second candidate is at most this much dearer than the first.
VAGUE_RATIO = 1.01
TINY = np.finfo(np.float32).tiny


class Compatibility(NamedTuple):
    """All that the search knows of the pieces. Sides are numbered 4 * piece + direction."""

    candidates: NDArray[np.int32]
    """(sides, k): for every side the k sides that fit it best, best first, ties by number."""
    buddies: NDArray[np.int32]
    """(pieces, 4): the piece whose side is this side's best buddy, or -1."""
    doubt: NDArray[np.uint8]
    """(sides,): how doubtful a side's first candidate is, from 0 up: below NO_BUDDY for best buddies, by how much
    better they fit than the next best candidate of either; VAGUE where the first two fit about equally well."""
    first_costs: NDArray[np.float32]
    """(sides,): what a side's first candidate costs: no other can be cheaper."""
    features: Features
    """What any other cost is computed from (see `costs`)."""


def find_candidates(features: Features, keep: int, threads: Threads) -> Compatibility:
    """Find the `keep` cheapest candidates of every side.

    Costs are estimated block by block with a matrix product whose rounding error is bounded; the best are then computed
    exactly, and a side whose list the error could touch is searched whole.
    """
    product = seam_product(features) if isinstance(features, Seams) else distance_product(features)
    pieces = len(product.slack) // 4
    keep = min(keep, pieces - 1)
    candidates = np.empty((4 * pieces, keep), dtype=np.int32)
    if keep > 0:
        for direction, first, estimates in _blocks_of_estimates(product):
            select = partial(select_candidates, features, estimates, direction, first, product.slack, candidates)
            threads.run(len(estimates), select)
    buddies = _best_buddies(candidates)
    first_costs = costs_of_rank(candidates, features, 0)
    doubt = _doubt(candidates, buddies, first_costs, costs_of_rank(candidates, features, 1))
    return Compatibility(candidates, buddies, doubt, first_costs, features)


def _blocks_of_estimates(product: Product) -> Iterator[tuple[int, int, NDArray[Any]]]:
    """Yield (direction, first piece, estimated squared costs of its block of pieces against all pieces)."""
    left, right, added = (part.reshape(-1, 4, *part.shape[1:]).swapaxes(0, 1).copy() for part in product[:3])
    for direction in range(4):
        own, other = left[direction], right[direction ^ 2]
        height = max(1, min(BLOCK_ROWS, BLOCK_BYTES // other[:, 0].nbytes))
        for first in range(0, len(own), height):
            rows = slice(first, first + height)
            estimates = own[rows] @ other.T
            estimates += added[direction, rows, np.newaxis]
            estimates += added[direction ^ 2]
            yield direction, first, estimates


def _best_buddies(candidates: NDArray[np.int32]) -> NDArray[np.int32]:
    if candidates.shape[1] == 0:  # A single piece.
        return np.full((1, 4), -1, dtype=np.int32)
    best = candidates[:, 0]
    mutual = best[best] == np.arange(len(best))
    return np.where(mutual, best >> 2, -1).reshape(-1, 4).astype(np.int32)


def buddied_share(buddies: NDArray[np.int32], grid: NDArray[np.integer[Any]]) -> float:
    """Return the share of adjacent pairs that are best buddies: of an arrangement that is right, most are."""
    right = buddies[grid[:, :-1], 0] == grid[:, 1:]
    down = buddies[grid[:-1], 1] == grid[1:]
    pairs = right.size + down.size
    return float((right.sum() + down.sum()) / pairs) if pairs else 1.0


def _doubt(
    candidates: NDArray[np.int32],
    buddies: NDArray[np.int32],
    first: NDArray[np.float32],
    second: NDArray[np.float32],
) -> NDArray[np.uint8]:
    doubt = np.where(second <= VAGUE_RATIO * first, VAGUE, NO_BUDDY).astype(np.uint8)
    mutual = buddies.ravel() >= 0
    if mutual.any():
        next_best = np.minimum(second[mutual], second[candidates[mutual, 0]])
        levels = np.searchsorted(DOUBT_RATIOS, first[mutual] / np.maximum(next_best, TINY), side="right")
        doubt[mutual] = np.where(next_best > 0, levels, VAGUE)  # Of pieces that all fit exactly, none is sure.
    return doubt


@kernel
def costs_of_rank(candidates, features, rank):
    """What the candidate of a rank costs, for every side; infinite where there are not as many."""
    costs = np.full(len(candidates), np.inf, np.float32)
    for side in range(len(candidates) if rank < candidates.shape[1] else 0):
        costs[side] = cost_of(features, squared_distance(features, side, candidates[side, rank]))
    return costs


@inlined
def insert(values, sides, count, value, side):
    """Insert into a sorted list of at most len(values), behind equals; return the new count.

    The caller has made sure that there is room or that `value` is below the last.
    """
    position = min(count, len(values) - 1)
    while position > 0 and values[position - 1] > value:
        values[position] = values[position - 1]
        sides[position] = sides[position - 1]
        position -= 1
    values[position] = value
    sides[position] = side
    return min(count + 1, len(values))


@kernel
def select_candidates(features, estimates, direction, first, slack, candidates, begin, end):
    """Fill the candidates of one direction of the pieces first+begin .. first+end-1 from their estimates.

    An estimate of a side that belongs into the list is off by at most `slack[side]` and RELATIVE_SLACK of itself.

    Invariant: what the short list leaves out is estimated at its last entry or above. If the last candidate kept is
    nearer than that by more than the error, the list is exact; if not, all pieces are looked at.
    """
    pieces = estimates.shape[1]
    keep = candidates.shape[1]
    opposite = direction ^ 2
    short = min(keep + MARGIN, pieces - 1)
    rough = np.empty(short, estimates.dtype)
    rough_sides = np.empty(short, np.int32)
    squares = np.empty(keep, np.float64)
    for row in range(begin, end):
        piece = first + row
        side = 4 * piece + direction
        count = 0
        for other in range(pieces):
            estimate = estimates[row, other]
            if (count < short or estimate < rough[short - 1]) and other != piece:
                count = insert(rough, rough_sides, count, estimate, 4 * other + opposite)
        # Equal distances go by number: insert() keeps the order in which equals come.
        kept = 0
        for other_side in np.sort(rough_sides):
            square = squared_distance(features, side, other_side)
            if kept < keep or square < squares[keep - 1]:
                kept = insert(squares, candidates[side], kept, square, other_side)
        last = squares[keep - 1]
        if short < pieces - 1 and last + slack[side] + RELATIVE_SLACK * last >= rough[short - 1]:
            kept = 0
            for other in range(pieces):
                if other != piece:
                    bound = squares[keep - 1] if kept == keep else np.inf
                    square = squared_distance_below(features, side, 4 * other + opposite, bound)
                    if square < bound:
                        kept = insert(squares, candidates[side], kept, square, 4 * other + opposite)
