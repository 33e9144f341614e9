"""Loops: four pieces in a square, each of which fits its two neighbours. Two that agree by chance rarely close a loop.

Where many pieces look alike, such as in a sky, a side's best candidate is often wrong, but the true neighbour is mostly
among the first ones, and four seams that must fit all at once tell it from the rest far better than one does.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._jit import inlined, kernel
from ..threads import Threads, borrowed

# The first candidates of a side among which loops are looked for.
SOUGHT = 16
# A loop is sure if it is the cheapest in which each of its pieces has that corner, and costs less than this share of
# the next cheapest of every one of them.
SURE_RATIO = 0.95


class Loops(NamedTuple):
    """For each piece in each corner of a loop, the cheapest such loop that was found so far."""

    cheapest: NDArray[np.float32]
    """(pieces, 4): what it costs."""
    next_cheapest: NDArray[np.float32]
    """(pieces, 4): what the next cheapest costs."""
    corners: NDArray[np.int32]
    """(pieces, 4, 4): its pieces, or -1."""


def no_loops(pieces: int) -> Loops:
    """Return what is known before any was found."""
    costs = np.full((2, pieces, 4), np.inf, dtype=np.float32)
    return Loops(costs[0], costs[1], np.full((pieces, 4, 4), -1, dtype=np.int32))


def partners_in_loops(
    candidates: NDArray[np.int32], costs: NDArray[np.float32], settled: NDArray[np.int32], threads: Threads
) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Return (pieces, 4): the piece that sure loops put at each side, or -1; and how many loops do, 0 to 2.

    `costs` are those of the candidates. `settled` is the same as is returned, of what is known already: loops that
    contradict it do not count. Where two loops contradict each other the surer one counts.
    """
    pieces = len(settled)
    found: list[Loops] = []

    def find(begin: int, end: int) -> None:
        with borrowed(found, partial(no_loops, pieces)) as own:
            find_loops(candidates, costs, settled, own, begin, end)

    threads.run(pieces, find)
    loops = no_loops(pieces)
    for more in found:
        join_loops(loops, more)
    partners = np.full((pieces, 4), -1, dtype=np.int32)
    counts = np.zeros((pieces, 4), dtype=np.uint8)
    pair_up(_sure(loops), partners, counts)
    return partners, counts


def _sure(loops: Loops) -> NDArray[np.int32]:
    """Return the sure loops, surest first.

    Of loops that cost the same none is sure, so it makes no difference which was found first.
    """
    cheapest, next_cheapest, found = loops
    sure = found[found[:, 0, 0] >= 0, 0]
    corners = np.arange(4)
    sure = sure[(found[sure, corners] == sure[:, np.newaxis]).all(axis=(1, 2))]
    cost, rival = cheapest[sure, corners], next_cheapest[sure, corners]
    ratios = np.divide(cost, rival, out=np.ones_like(cost), where=rival > 0).max(axis=1)  # Of free ones, none is sure.
    order = np.argsort(ratios, kind="stable")
    return sure[order[ratios[order] < np.float32(SURE_RATIO)]]


@kernel
def keep_cheapest(corners, corner, cost, cheapest, next_cheapest, found):
    """Note a loop for the piece in one of its corners, if it is the cheapest or the next for that."""
    piece = corners[corner]
    if cost < cheapest[piece, corner]:
        next_cheapest[piece, corner] = cheapest[piece, corner]
        cheapest[piece, corner] = cost
        for index in range(4):
            found[piece, corner, index] = corners[index]
    elif cost < next_cheapest[piece, corner]:
        next_cheapest[piece, corner] = cost


@kernel
def join_loops(loops, more):
    """Take over what is cheaper among more loops, found by others."""
    cheapest, next_cheapest, found = loops
    for piece in range(len(cheapest)):
        for corner in range(4):
            if more.corners[piece, corner, 0] >= 0:
                corners = more.corners[piece, corner]
                keep_cheapest(corners, corner, more.cheapest[piece, corner], cheapest, next_cheapest, found)
                rival = more.next_cheapest[piece, corner]
                next_cheapest[piece, corner] = min(next_cheapest[piece, corner], rival)


@inlined
def is_open(settled, piece, direction, other):
    """Whether there is another piece, and what is settled allows the two to lie side by side."""
    if other < 0:
        return False
    one, two = settled[piece, direction], settled[other, direction ^ 2]
    return (one < 0 or one == other) and (two < 0 or two == piece)


@kernel
def find_loops(candidates, costs, settled, loops, begin, end):
    """Find the loops whose top left pieces are begin .. end-1, and keep the cheapest in `loops`.

    A loop is (top left, top right, bottom left, bottom right), of which each of the left two has the piece beside it,
    and each of the upper two the piece below it, among its candidates. Each is met once, from its top left piece. Those
    with a seam that is settled otherwise are left out.
    Invariants: of the pieces that may lie below the top left one and beside those, `below` and `beyond` hold those that
    are open, with what they cost there. `marks` of a piece is `mark` if it is a candidate below the top right piece of
    the moment; `fits` is then what it costs there.
    """
    cheapest, next_cheapest, found = loops
    pieces, sought = len(settled), min(candidates.shape[1], SOUGHT)
    marks, fits = np.zeros(pieces, np.int32), np.empty(pieces, np.float32)
    below, below_costs = np.empty(sought, np.int64), np.empty(sought, np.float32)
    beyond, beyond_costs = np.empty((sought, sought), np.int64), np.empty((sought, sought), np.float32)
    counts = np.empty(sought, np.int64)
    corners = np.empty(4, np.int64)
    mark = np.int32(0)
    for top_left in range(begin, end):
        corners[0] = top_left
        count = gather_open(candidates, costs, settled, 4 * top_left + 1, below, below_costs)
        for down in range(count):
            counts[down] = gather_open(candidates, costs, settled, 4 * below[down], beyond[down], beyond_costs[down])
        for right in range(sought):
            top_right = np.int64(candidates[4 * top_left, right] >> 2)
            if not is_open(settled, top_left, 0, top_right):
                continue
            corners[1] = top_right
            top = costs[4 * top_left, right]
            mark += np.int32(1)
            for rank in range(sought):
                other = candidates[4 * top_right + 1, rank] >> 2
                if is_open(settled, top_right, 1, other):
                    marks[other] = mark
                    fits[other] = costs[4 * top_right + 1, rank]
            marks[top_left] = 0
            for down in range(count):
                if below[down] == top_right:
                    continue
                corners[2] = below[down]
                two = top + below_costs[down]
                for index in range(counts[down]):
                    bottom_right = beyond[down, index]
                    if marks[bottom_right] != mark:
                        continue
                    corners[3] = bottom_right
                    cost = (two + beyond_costs[down, index]) + fits[bottom_right]
                    for corner in range(4):
                        if cost < next_cheapest[corners[corner], corner]:  # It rarely is, and a call takes its time.
                            keep_cheapest(corners, corner, cost, cheapest, next_cheapest, found)


@inlined
def gather_open(candidates, costs, settled, side, others, their_costs):
    """Gather the first candidates of a side that may lie there, with what they cost, and return how many they are."""
    count = 0
    for rank in range(len(others)):
        other = np.int64(candidates[side, rank] >> 2)
        if is_open(settled, side >> 2, side & 3, other):
            others[count], their_costs[count] = other, costs[side, rank]
            count += 1
    return count


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
