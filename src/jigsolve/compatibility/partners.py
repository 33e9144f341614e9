"""Best buddies and partners: which piece most probably lies at a side, and how doubtful that is."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..threads import Threads
from .lists import Lists
from .loops import partners_in_loops

# Levels of doubt of partners: those in two sure loops, in one, and best buddies by the ratio of their cost to that of
# the next best candidate of either. Beyond the last ratio every second one is wrong, and a piece is better judged by
# all its neighbours.
LOOPS = 2
DOUBT_RATIOS = (0.65, 0.8, 0.9)
NO_PARTNER = LOOPS + len(DOUBT_RATIOS)
VAGUE = NO_PARTNER + 1
# A side is vague if its second candidate is at most this much dearer than the first.
VAGUE_RATIO = 1.01
TINY = np.finfo(np.float32).tiny


class Partners(NamedTuple):
    """Best buddies, the piece that most probably lies at each side, and how doubtful it is (see `Compatibility`)."""

    buddies: NDArray[np.int32]
    pieces: NDArray[np.int32]
    doubt: NDArray[np.uint8]

    def up_to(self, level: int) -> NDArray[np.int32]:
        """Return the partners up to a level of doubt, and -1 elsewhere: (pieces, 4)."""
        return np.where(self.doubt.reshape(-1, 4) <= level, self.pieces, np.int32(-1))


def best_buddies(candidates: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return (pieces, 4): the piece whose side is this side's first candidate as this is that one's, or -1."""
    if candidates.shape[1] == 0:  # A single piece.
        return np.full((1, 4), -1, dtype=np.int32)
    best = candidates[:, 0]
    mutual = (best >= 0) & (best[best] == np.arange(len(best)))
    return np.where(mutual, best >> 2, -1).reshape(-1, 4).astype(np.int32)


def buddied_share(buddies: NDArray[np.int32], grid: NDArray[np.integer[Any]]) -> float:
    """Return the share of adjacent pairs that are best buddies: of an arrangement that is right, most are."""
    right = buddies[grid[:, :-1], 0] == grid[:, 1:]
    down = buddies[grid[:-1], 1] == grid[1:]
    pairs = right.size + down.size
    return float((right.sum() + down.sum()) / pairs) if pairs else 1.0


def find_partners(lists: Lists, threads: Threads, settled: NDArray[np.int32] | None = None) -> Partners:
    """Return the partners of all sides; what is settled already stays.

    Sure loops say it first, and then best buddies that fit clearly better than the next best candidate of either.
    """
    candidates, costs = lists
    buddies = best_buddies(candidates)
    first, second = of_rank(costs, 0), of_rank(costs, 1)
    if settled is None:
        settled = np.full_like(buddies, -1)
    buddies = np.where(settled >= 0, settled, buddies)
    in_loops, counts = partners_in_loops(candidates, costs, settled, threads)
    partners = np.where(settled >= 0, settled, in_loops).ravel()
    loops = np.where(settled >= 0, LOOPS, counts).ravel()
    doubt = np.where(second <= VAGUE_RATIO * first, VAGUE, NO_PARTNER).astype(np.uint8)
    doubt[loops > 0] = LOOPS - loops[loops > 0]
    sides = np.flatnonzero((buddies.ravel() >= 0) & (loops == 0))
    sides = sides[loops[candidates[sides, 0]] == 0] if len(sides) else sides
    if len(sides):
        next_best = np.minimum(second[sides], second[candidates[sides, 0]])
        levels = LOOPS + np.searchsorted(DOUBT_RATIOS, first[sides] / np.maximum(next_best, TINY), side="right")
        doubt[sides] = np.where(next_best > 0, levels, VAGUE)  # Of pieces that all fit exactly, none is sure.
        partners[sides] = np.where(doubt[sides] < NO_PARTNER, buddies.ravel()[sides], -1)
    return Partners(buddies, partners.reshape(-1, 4), doubt)


def of_rank(costs: NDArray[np.float32], rank: int) -> NDArray[np.float32]:
    """Return what the candidate of a rank costs, for every side; infinite where there are not as many."""
    return costs[:, rank] if rank < costs.shape[1] else np.full(len(costs), np.inf, dtype=np.float32)
