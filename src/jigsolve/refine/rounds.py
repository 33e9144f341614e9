"""Rounds of refinement: what is in question is rearranged by belief, and annealed, until longer rounds bring nothing.

In a round of annealing several chains start from the best arrangement. After it they are merged: of every region, the
cheapest version that any of them found. So chains that mend different regions do not compete, and what one spoils
elsewhere does no harm. What is rearranged by belief is merged in the same way.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from ..compatibility.candidates import Compatibility
from ..compatibility.costs import Features
from ..compatibility.memory import empty_memory
from ..genetic.population import cost_of_grid
from ..threads import Threads
from .anneal import Chain, anneal, copy_grid, new_chain
from .merge import merge
from .patches import MOST_CELLS, Grounds, Way, grounds_of, rearranged

# The chains of a round, by their first temperature in units of `cost_unit`.
TEMPERATURES = (0.8, 1.0, 1.0, 1.2)
# How patches are rearranged by belief, before each annealing and after the last: in one way after the other. What one
# does not find the next may, so refinement ends when all have been tried in vain.
WAYS = (
    Way(2, 0.33),
    Way(1, 0.33),
    Way(0, 0.33),
    Way(1, 0.5),
    Way(0, 0.5, strict=True),
    Way(3, 0.33),
    Way(0, 0.33, single=True),
    Way(0, 0.33, strict=True),
)
# How often many cells are rearranged at once, and how many at most after that: it takes their number's cube.
LONG_TURNS = 2
CELLS_AFTER = 1250
# In how many rounds they are rearranged at most, and this divided by the number of pieces: there is always something to
# gain in a very large puzzle.
MOST_TURNS = 32
MOST_TURNS_BY_PIECES = 750_000
# To gain less than this share of the cost is to rearrange in vain.
LEAST_SHARE = 1e-5
# Moves of a chain for every side in doubt, in the first rounds and in the last, at effort 0; each step of effort
# doubles them. A round that brings nothing is followed by one twice as long.
FIRST_MOVES = 4
LAST_MOVES = 32
# But no chain makes more than this in a round, nor more than that in all, at effort 0: so that a large puzzle with wide
# skies, which would gain a little in every round for hours, ends.
MOST_MOVES = 16_000
MOST_MOVES_IN_ALL = 96_000
# Nor more than this divided by the cube of the number of pieces, in all: evolution leaves little to mend in a large
# puzzle but its skies, where each move gains less and takes longer. From some 420,000 pieces on there are none.
MOST_MOVES_BY_CUBE = 75_000_000_000_000_000
# A round that gains less than this for every side in doubt, in units of `cost_unit`, counts as one that brings nothing.
LEAST_GAIN_PER_DOUBT = 0.001
# Moves of a chain after which the best so far is shown and the run can be stopped.
PART_MOVES = 250_000
# What counts as cheaper, beyond the rounding of sums.
LEAST_GAIN = 1e-6
# The rank whose cost, above that of the first, makes the unit of temperature: what a plausible mistake costs.
PLAUSIBLE = 10
# The memory of pair costs of one chain has at most this many entries of 8 bytes.
MOST_ENTRIES = 2**23


@dataclass(frozen=True)
class RoundStart:
    """Where a round starts from: all that is needed to go on from there."""

    rounds: int
    """How many rounds came before."""
    moves_per_doubt: int
    moves_in_all: int
    """How many moves each chain made in them."""
    in_vain: int
    """How many of them, in a row, have rearranged to no avail."""
    grid: NDArray[np.int32]


@dataclass(frozen=True)
class Refinement:
    """The best arrangement after a part of a round."""

    grid: NDArray[np.int32]
    cost: float
    mean_cost: float
    """Of what the chains hold at the moment."""
    round: int
    start: RoundStart
    """Of this round."""


def refine(
    compatibility: Compatibility,
    columns: int,
    grid: NDArray[np.int32],
    effort: int,
    seed: int,
    threads: Threads,
    start: RoundStart | None = None,
) -> Iterator[Refinement]:
    """Yield ever better arrangements, until the longest round finds nothing better; from `start` on, if it is given."""
    features = compatibility.features
    start = start or RoundStart(0, FIRST_MOVES * 2**effort, 0, 0, grid)
    best = np.array(start.grid, dtype=np.int32)
    cost = cost_of_grid(features, columns, best)
    unit = cost_unit(compatibility)
    number, moves_per_doubt, moves_in_all, in_vain = (
        start.rounds,
        start.moves_per_doubt,
        start.moves_in_all,
        start.in_vain,
    )
    most, most_in_all = most_moves(len(best), effort)
    most_turns = min(MOST_TURNS, MOST_TURNS_BY_PIECES // len(best))
    grounds = grounds_of(compatibility)
    while unit > 0:
        start = RoundStart(number, moves_per_doubt, moves_in_all, in_vain, best)
        before, other = cost, best
        anneals = moves_per_doubt <= LAST_MOVES * 2**effort and moves_in_all < most_in_all
        rearranges = grounds.sharpness > 0 and in_vain < len(WAYS) and number < most_turns
        if not anneals and not rearranges:
            return
        number += 1
        if rearranges:
            now = Refinement(best, cost, cost, number, start)
            other = yield from _rearranged(features, grounds, columns, threads, now)
            best = _merged(compatibility, columns, best, [other])
            cost = cost_of_grid(features, columns, best)
            yield Refinement(best, cost, cost_of_grid(features, columns, other), number, start)
            in_vain = in_vain + 1 if before - cost <= LEAST_SHARE * cost else 0
        if not anneals:
            continue
        chains = _new_chains(compatibility, columns, (best, other), seed, number)
        doubts = int(chains[0].doubts.number[0])
        if doubts == 0:
            return
        moves = min(moves_per_doubt * doubts, most)
        moves_in_all += moves
        for bounds in _parts(moves):
            _advance(compatibility, columns, chains, bounds, moves, unit, threads)
            found = [_grid_of(chain, columns) for chain in chains]
            best = _merged(compatibility, columns, best, found)
            annealed = cost_of_grid(features, columns, best)
            in_vain = 0 if cost - annealed > LEAST_SHARE * cost else in_vain
            cost = annealed
            mean_cost = float(np.mean([cost_of_grid(features, columns, one) for one in found]))
            yield Refinement(best, cost, mean_cost, number, start)
        del chains  # Before the next round makes its own: their memories are large.
        if before - cost <= max(LEAST_GAIN, LEAST_GAIN_PER_DOUBT * doubts * unit):
            # No round is longer than `most`: if this one was, no other follows.
            moves_per_doubt = 2 * (moves_per_doubt if moves < most else LAST_MOVES * 2**effort)


def _rearranged(
    features: Features, grounds: Grounds, columns: int, threads: Threads, now: Refinement
) -> Generator[Refinement, None, NDArray[np.int32]]:
    """Return the arrangement of the moment, rearranged, and yield it as it is while that takes."""
    turn = now.round - 1
    way, most_cells = WAYS[turn % len(WAYS)], MOST_CELLS if turn < LONG_TURNS else CELLS_AFTER
    steps = rearranged(features, grounds, now.grid.reshape(-1, columns), way, most_cells, threads)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value.ravel()
        yield now


def most_moves(pieces: int, effort: int) -> tuple[int, int]:
    """Return how many moves a chain makes at most, in a round and in all."""
    in_all = min(MOST_MOVES_IN_ALL, MOST_MOVES_BY_CUBE // pieces**3) * 2**effort
    return min(MOST_MOVES * 2**effort, in_all), in_all


def _new_chains(
    compatibility: Compatibility, columns: int, grids: tuple[NDArray[np.int32], ...], seed: int, number: int
) -> list[Chain]:
    """Return chains that start from one of the grids after the other."""
    bits = _memory_bits(len(grids[0]))
    return [
        new_chain(
            compatibility,
            columns,
            grids[index % len(grids)],
            bits,
            np.uint64(seed),
            np.uint64(number),
            np.uint64(index),
        )
        for index in range(len(TEMPERATURES))
    ]


def _memory_bits(pieces: int) -> int:
    return max(0, min((MOST_ENTRIES // (2 * pieces)).bit_length() - 1, (pieces - 1).bit_length()))


def chains_bytes(pieces: int, columns: int) -> int:
    """Return what the chains of a round take: their memories of costs, boards and lists."""
    cells = (pieces // columns + 2) * (columns + 2)
    return len(TEMPERATURES) * ((16 * pieces << _memory_bits(pieces)) + 36 * pieces + 40 * cells)


def _advance(
    compatibility: Compatibility,
    columns: int,
    chains: list[Chain],
    bounds: tuple[int, int],
    moves: int,
    unit: float,
    threads: Threads,
) -> None:
    def advance(begin: int, end: int) -> None:
        for chain, temperature in zip(chains[begin:end], TEMPERATURES[begin:end], strict=True):
            anneal(compatibility, columns, chain, *bounds, moves, unit * temperature)

    threads.run(len(chains), advance)


def _parts(moves: int) -> Iterator[tuple[int, int]]:
    parts = ceil(moves / PART_MOVES)
    for part in range(parts):
        yield moves * part // parts, moves * (part + 1) // parts


def _grid_of(chain: Chain, columns: int) -> NDArray[np.int32]:
    grid = np.empty(len(chain.board.places), dtype=np.int32)
    copy_grid(chain.board, columns, grid)
    return grid


def _merged(
    compatibility: Compatibility, columns: int, grid: NDArray[np.int32], others: list[NDArray[np.int32]]
) -> NDArray[np.int32]:
    best, memory = grid.copy(), empty_memory(len(grid), 0)
    for other in others:
        merge(compatibility.features, columns, best, other, memory, LEAST_GAIN)
    return best


def cost_unit(compatibility: Compatibility) -> float:
    """Return what a plausible mistake costs: how much dearer than the first candidate of a side the tenth is."""
    costs = compatibility.costs
    last = min(PLAUSIBLE, costs.shape[1]) - 1
    if last < 1:
        return 0.0
    differences = costs[:, last] - costs[:, 0]
    return float(np.median(differences[differences > 0])) if (differences > 0).any() else 0.0
