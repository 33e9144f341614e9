"""Context: a seam is judged together with those that continue it.

Where sure partners lie above or below two pieces, what they cost beside each other says as much about the two as their
own seam does: a seam of several pieces tells what a short one leaves open. And the candidates of such a partner, as far
as they have sure partners of their own, are candidates that the short seam may have missed.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from .._access import uncounted
from .._jit import inlined, kernel
from ..threads import Threads, borrowed
from .costs import Features
from .lists import NOBODY, Lists, Tell, insert_by_number
from .memory import Memory, empty_memory, recalled, row_and_other
from .partners import LOOPS, Partners, find_partners

# How often all candidates are judged: each time there are more sure partners, which say more of others.
ROUNDS = 3
# How many partners on either side of a seam are asked.
REACH = 3
# Up to which level of doubt partners are sure, those in loops, and up to which they stay: those in two.
SURE, SETTLED = LOOPS - 1, 0
# Places a side in the memory of costs, as a power of two.
MEMORY_BITS = 4


def partners_in_context(features: Features, lists: Lists, partners: Partners, threads: Threads, tell: Tell) -> Partners:
    """Return better partners than those that the lists tell by themselves."""
    memories: list[Memory] = []
    pieces = len(partners.pieces)
    for number in range(ROUNDS):
        sure, settled = partners.up_to(SURE), partners.up_to(SETTLED)
        judged = Lists(np.empty_like(lists.candidates), np.empty_like(lists.costs))
        threads.run(4 * pieces, partial(_judge, features, lists, sure, settled, memories, judged))
        lists, partners = judged, find_partners(judged, threads, settled)
        tell((number + 1) / ROUNDS)
    return partners


def _judge(
    features: Features,
    lists: Lists,
    sure: NDArray[np.int32],
    settled: NDArray[np.int32],
    memories: list[Memory],
    judged: Lists,
    begin: int,
    end: int,
) -> None:
    with borrowed(memories, partial(empty_memory, len(settled), MEMORY_BITS)) as memory:
        judge_in_context(features, lists, sure, settled, memory, judged, begin, end)


@inlined
def pair_cost(features, entries, step, piece, direction, other):
    """What two pieces cost beside each other."""
    row, second = row_and_other(piece, direction, other)
    return recalled(features, entries, step, row, second)


@kernel
def cost_in_context(features, entries, step, sure, piece, direction, other):
    """The mean cost of two pieces beside each other, and of their sure partners along the seam, as far as both have."""
    total = np.float64(pair_cost(features, entries, step, piece, direction, other))
    count = 1
    for turn in range(2):
        along = direction ^ 1 if turn == 0 else direction ^ 3
        one, two = piece, other
        for _ in range(REACH):
            one, two = np.int64(sure[one, along]), np.int64(sure[two, along])
            if one < 0 or two < 0 or one == two:
                break
            total += pair_cost(features, entries, step, one, direction, two)
            count += 1
    return np.float32(total / count)


@kernel
def judge_in_context(features, lists, sure, settled, memory, judged, begin, end):
    """Judge the candidates of the sides begin .. end-1 in context, with those that their partners' candidates imply.

    `sure` and `settled` are (pieces, 4): the partner of each side, or -1. `judged` gets the best of both kinds, as many
    as there are in `lists`, without those that contradict what is settled; the lists of settled sides stay as they are.
    Invariant: a piece that is `met` was judged for the side of the moment, or is out of the question.
    """
    candidates, costs = lists
    new_candidates, new_costs = judged
    features, sure = uncounted(features), uncounted(sure)
    entries, step = memory
    last = candidates.shape[1] - 1
    met = np.full(len(settled), -1, np.int64)
    for side in range(begin, end):
        piece, direction = side >> 2, side & 3
        if settled[piece, direction] >= 0:
            new_candidates[side], new_costs[side] = candidates[side], costs[side]
            continue
        new_candidates[side], new_costs[side] = NOBODY, np.inf
        met[piece] = side
        for turn in range(3):
            # Its own candidates; then those beside its partners, one way along the seam and the other.
            along = direction ^ 1 if turn == 1 else direction ^ 3
            beside = piece if turn == 0 else np.int64(sure[piece, along])
            for rank in range(last + 1 if beside >= 0 else 0):
                other = np.int64(candidates[4 * beside + direction, rank] >> 2)
                if turn > 0 and other >= 0:
                    other = np.int64(sure[other, along ^ 2])
                if other < 0 or met[other] == side or settled[other, direction ^ 2] >= 0:
                    continue
                met[other] = side
                cost = cost_in_context(features, entries, step, sure, piece, direction, other)
                if cost <= new_costs[side, last]:
                    insert_by_number(new_costs[side], new_candidates[side], cost, 4 * other + (direction ^ 2))
