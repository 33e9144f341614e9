"""Loops: four pieces in a square, each of which fits its two neighbours. Two that agree by chance rarely close a loop.

Where many pieces look alike, such as in a sky, a side's best candidate is often wrong, but the true neighbour is mostly
among the first ones, and four seams that must fit all at once tell it from the rest far better than one does.
"""

import numpy as np
from numpy.typing import NDArray

from .._jit import inlined, kernel

# The first candidates of a side among which loops are looked for.
SOUGHT = 16
# A loop is sure if it is the cheapest in which each of its pieces has that corner, and costs less than this share of
# the next cheapest of every one of them.
SURE_RATIO = 0.95


def partners_in_loops(
    candidates: NDArray[np.int32], costs: NDArray[np.float32]
) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Return (pieces, 4): the piece that sure loops put at each side, or -1; and how many loops do, 0 to 2.

    `costs` are those of the candidates. Where two loops contradict each other the surer one counts.
    """
    pieces = len(candidates) // 4
    cheapest = np.full((pieces, 4), np.inf, dtype=np.float32)
    next_cheapest = np.full((pieces, 4), np.inf, dtype=np.float32)
    loops = np.full((pieces, 4, 4), -1, dtype=np.int32)
    find_loops(candidates, costs, cheapest, next_cheapest, loops)
    partners = np.full((pieces, 4), -1, dtype=np.int32)
    counts = np.zeros((pieces, 4), dtype=np.uint8)
    pair_up(_sure(cheapest, next_cheapest, loops), partners, counts)
    return partners, counts


def _sure(
    cheapest: NDArray[np.float32], next_cheapest: NDArray[np.float32], loops: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return the sure loops, surest first."""
    found = loops[loops[:, 0, 0] >= 0, 0]
    corners = np.arange(4)
    found = found[(loops[found, corners] == found[:, np.newaxis]).all(axis=(1, 2))]
    cost, rival = cheapest[found, corners], next_cheapest[found, corners]
    ratios = np.divide(cost, rival, out=np.ones_like(cost), where=rival > 0).max(axis=1)  # Of free ones, none is sure.
    order = np.argsort(ratios, kind="stable")
    return found[order[ratios[order] < np.float32(SURE_RATIO)]]


@inlined
def keep_cheapest(corners, corner, cost, cheapest, next_cheapest, loops):
    """Note a loop for the piece in one of its corners, if it is the cheapest or the next for that."""
    piece = corners[corner]
    if cost < cheapest[piece, corner]:
        next_cheapest[piece, corner] = cheapest[piece, corner]
        cheapest[piece, corner] = cost
        for index in range(4):
            loops[piece, corner, index] = corners[index]
    elif cost < next_cheapest[piece, corner]:
        next_cheapest[piece, corner] = cost


@kernel
def find_loops(candidates, costs, cheapest, next_cheapest, loops):
    """Find, for each piece in each corner of a loop, the cheapest one, and what the next cheapest costs.

    A loop is (top left, top right, bottom left, bottom right), of which each of the left two has the piece beside it,
    and each of the upper two the piece below it, among its candidates. Each is met once, from its top left piece.
    Invariant: `marks` of a piece is `mark` if it is a candidate below the top right piece of the moment; `fits` is then
    what it costs there.
    """
    pieces, sought = len(cheapest), min(candidates.shape[1], SOUGHT)
    marks, fits = np.zeros(pieces, np.int64), np.empty(pieces, np.float32)
    corners = np.empty(4, np.int64)
    mark = np.int64(0)
    for top_left in range(pieces):
        corners[0] = top_left
        for right in range(sought):
            top_right = np.int64(candidates[4 * top_left, right] >> 2)
            corners[1] = top_right
            top = costs[4 * top_left, right]
            mark += 1
            for rank in range(sought):
                other = candidates[4 * top_right + 1, rank] >> 2
                marks[other] = mark
                fits[other] = costs[4 * top_right + 1, rank]
            marks[top_left] = 0
            for down in range(sought):
                bottom_left = np.int64(candidates[4 * top_left + 1, down] >> 2)
                if bottom_left == top_right:
                    continue
                corners[2] = bottom_left
                two = top + costs[4 * top_left + 1, down]
                for rank in range(sought):
                    bottom_right = np.int64(candidates[4 * bottom_left, rank] >> 2)
                    if marks[bottom_right] != mark:
                        continue
                    corners[3] = bottom_right
                    cost = (two + costs[4 * bottom_left, rank]) + fits[bottom_right]
                    for corner in range(4):
                        keep_cheapest(corners, corner, cost, cheapest, next_cheapest, loops)


@kernel
def pair_up(loops, partners, counts):
    """Make the neighbours in loops partners, unless one of the two has another partner there by then."""
    # The four seams of a loop: (corner, direction, corner).
    seams = ((0, 0, 1), (2, 0, 3), (0, 1, 2), (1, 1, 3))
    for index in range(len(loops)):
        loop = loops[index]
        for first, direction, second in seams:
            one, other = loop[first], loop[second]
            now, then = partners[one, direction], partners[other, direction + 2]
            if (now < 0 and then < 0) or (now == other and then == one):
                partners[one, direction], partners[other, direction + 2] = other, one
                counts[one, direction] += 1
                counts[other, direction + 2] += 1
