"""Rounds of refinement: what is in question is rearranged by belief, and annealed, until longer rounds bring nothing.

What belief says is merged into the best arrangement: of every region, the cheaper version. Then several chains anneal,
half of them from there and half from what belief said, which is often nearly right where it is not cheaper yet. They
are merged in the same way: so chains that mend different regions do not compete, and what one spoils elsewhere does no
harm. When a round brings nothing for the first time, when the last one brought something, and when nothing is left in
doubt, all that is cheaper at once is swapped.
"""

from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..compatibility.bearings import fill_codes, frame_phases
from ..compatibility.candidates import Compatibility
from ..compatibility.likeness import worth_of
from ..compatibility.memory import Memory, empty_memory
from ..genetic.population import grid_cost
from ..threads import Threads, borrowed
from .anneal import Chain, anneal, copy_grid, new_chain
from .exchanges import HEATS, exchanged, exchanges_bytes
from .merge import merge
from .patches import MOST_CELLS, Grounds, Way, grounds_of, patches_bytes, rearranged
from .shifts import PLACES, segments_in, shifted
from .swaps import swapped

# The chains of a round, by their first temperature in units of `cost_unit`.
TEMPERATURES = (0.8, 1.0, 1.0, 1.2)
# How patches are rearranged by belief, before each annealing and after the last: in one way after the other. What one
# does not find the next may, so refinement ends when all have been tried in vain.
WAYS = (
    Way(2, 0.33, alike=True),
    Way(1, 0.33),
    Way(0, 0.33),
    Way(1, 0.5, alike=True),
    Way(0, 0.5, strict=True),
    Way(3, 0.33, alike=True),
    Way(0, 0.33, single=True),
    Way(0, 0.33, strict=True),
)
# After how many rounds patches are exchanged, if the round before gained something, and segments shifted, if one of the
# last two did: by turns, as each gives the other something to do. Neither is done again once it gains less than this
# share of the cost, as it takes long.
EXCHANGING = (0, 2, 4, 6)
SHIFTING = (1, 3, 5, 7)
IDLE = 2
PAYING_SHARE = 1e-4
# How many segments are shifted at most at a time, and moves of a chain that mends what a shift left, at effort 0. As
# many chains mend as in a round, but no more than this divided by the number of pieces, and two in any case.
MOST_SHIFTED = 6
MENDING_MOVES = 3_000
MENDING_CHAINS_BY_PIECES = 60_000
# How often many cells are rearranged at once, and how many at most after that: it takes their number's cube.
LONG_TURNS = 2
CELLS_AFTER = 1250
# In how many rounds they are rearranged at most, and this divided by the square of the number of pieces, but twice in
# any case: there is always something to gain in a very large puzzle.
MOST_TURNS = 32
MOST_TURNS_BY_SQUARE = 4_500_000_000
# A round that gains less than this share of the cost was in vain.
LEAST_SHARE = 1e-5
# Moves of a chain for every side in doubt, in the first rounds and in the last, at effort 0; each step of effort
# doubles them. A round that brings nothing is followed by one twice as long.
FIRST_MOVES = 4
LAST_MOVES = 32
# But no chain makes more than this in a round, nor more than that in all, at effort 0: so that a large puzzle with wide
# skies, which would gain a little in every round for hours, ends.
MOST_MOVES = 16_000
MOST_MOVES_IN_ALL = 96_000
# Nor more than this divided by the number of pieces, in all: evolution leaves little to mend in a large puzzle but its
# skies, where each move gains less and takes longer.
MOST_MOVES_BY_PIECES = 2_100_000_000
# A round that gains less than this for every side in doubt, in units of `cost_unit`, counts as one that brings nothing.
LEAST_GAIN_PER_DOUBT = 0.001
# Moves of a chain after which the best so far is shown and the run can be stopped.
PART_MOVES = 250_000
# What counts as cheaper, beyond the rounding of sums.
LEAST_GAIN = 1e-6
# The rank whose cost, above that of the first, makes the unit of temperature: what a plausible mistake costs.
PLAUSIBLE = 10
# By how much less likely a plausible mistake of flat pieces is at most, in natural logarithms, if that is known.
LIKELY = 4.0
# The memory of pair costs of one thread has about this many entries of 8 bytes at most, as a power of two.
MEMORY_BITS = 23


Value = TypeVar("Value")


@dataclass(frozen=True)
class RoundStart:
    """Where a round starts from: all that is needed to go on from there."""

    rounds: int
    """How many rounds came before."""
    moves_per_doubt: int
    moves_in_all: int
    """How many moves each chain made in them."""
    in_vain: int
    """How many of them, in a row, were in vain."""
    exchanges_pay: bool
    shifts_pay: bool
    """Whether exchanges, and shifts, gained enough the last time to be worth another."""
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


class Setting(NamedTuple):
    """What is the same in all rounds."""

    compatibility: Compatibility
    columns: int
    effort: int
    seed: int
    threads: Threads
    grounds: Grounds
    unit: float
    memories: list[Memory]
    """Of costs, one for each thread that has asked for one. All rounds ask for much the same."""

    def memory(self) -> AbstractContextManager[Memory]:
        """Lend a memory of costs."""
        pieces = len(self.compatibility.partners)
        return borrowed(self.memories, partial(empty_memory, pieces, _memory_bits(pieces)))

    def cost_of(self, grid: NDArray[np.int32]) -> float:
        """Return what an arrangement costs."""
        with self.memory() as memory:
            features, bearings = self.compatibility.features, self.compatibility.bearings
            return float(grid_cost(features, bearings, self.columns, grid, memory))

    def codes_of(self, grid: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return what pairs are called by where they lie in an arrangement (see `memory.pair_in`)."""
        codes = np.empty(len(grid), dtype=np.int32)
        fill_codes(self.compatibility.bearings, self.columns, grid, codes)
        return codes

    def anneals(self, start: RoundStart) -> bool:
        """Return whether a round that starts like this has moves left."""
        most_in_all = most_moves(len(start.grid), self.effort)[1]
        return start.moves_per_doubt <= LAST_MOVES * 2**self.effort and start.moves_in_all < most_in_all

    def rearranges(self, start: RoundStart) -> bool:
        """Return whether a round that starts like this has a way left that may not be in vain."""
        most_turns = max(LONG_TURNS, min(MOST_TURNS, MOST_TURNS_BY_SQUARE // len(start.grid) ** 2))
        return self.grounds.sharpness > 0 and start.in_vain < len(WAYS) and start.rounds < most_turns

    def goes_on(self, start: RoundStart) -> bool:
        """Return whether there is a round that starts like this."""
        return self.anneals(start) or self.rearranges(start)


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
    unit = cost_unit(compatibility)
    setting = Setting(compatibility, columns, effort, seed, threads, grounds_of(compatibility), unit, [])
    start = start or RoundStart(0, FIRST_MOVES * 2**effort, 0, 0, True, True, np.array(grid, dtype=np.int32))
    while unit > 0 and setting.goes_on(start):
        cost = setting.cost_of(start.grid)
        now = Refinement(start.grid, cost, cost, start.rounds + 1, start)
        other, moves_per_doubt, moves = start.grid, start.moves_per_doubt, 0
        exchanges_pay, shifts_pay = start.exchanges_pay, start.shifts_pay
        if setting.rearranges(start):
            if start.rounds in EXCHANGING and start.in_vain == 0 and exchanges_pay:
                now = yield from _exchanged(setting, now)
                exchanges_pay = cost - now.cost > PAYING_SHARE * cost
            if start.rounds in SHIFTING and start.in_vain < IDLE and shifts_pay:
                now = yield from _shifted(setting, now)
                shifts_pay = cost - now.cost > PAYING_SHARE * cost
            other = yield from _rearranged(setting, now)
            now = _merged(setting, now, [other])
            yield now
        if setting.anneals(start):
            chains = _new_chains(setting, (now.grid, other), now.round)
            doubts = int(chains[0].doubts.number[0])
            if doubts == 0:  # What is doubted in strict ways alone is not worth more rounds.
                yield from _swapped(setting, now)
                return
            most, in_all = most_moves(len(now.grid), effort)
            moves = min(moves_per_doubt * doubts, most, in_all - start.moves_in_all)
            now = yield from _annealed(setting, now, chains, moves)
            del chains  # Before the next round makes its own.
            if cost - now.cost <= max(LEAST_GAIN, LEAST_GAIN_PER_DOUBT * doubts * unit):
                # No round is longer than `most`: if this one was, no other follows.
                moves_per_doubt = 2 * (moves_per_doubt if moves < most else LAST_MOVES * 2**effort)
        in_vain = start.in_vain + 1 if cost - now.cost <= LEAST_SHARE * cost else 0
        after = RoundStart(
            now.round, moves_per_doubt, start.moves_in_all + moves, in_vain, exchanges_pay, shifts_pay, now.grid
        )
        if in_vain == 1 or (in_vain == 0 and not setting.goes_on(after)):
            now = yield from _swapped(setting, now)
            in_vain = 0 if cost - now.cost > LEAST_SHARE * cost else in_vain
        start = replace(after, in_vain=in_vain, grid=now.grid)


def _exchanged(setting: Setting, now: Refinement) -> Generator[Refinement, None, Refinement]:
    """Return the arrangement of the moment with patches exchanged, size by size, and yield it while that takes."""
    for size, temperatures in HEATS.items():
        heats = [temperature * setting.unit for temperature in temperatures]
        grid, key = now.grid.reshape(-1, setting.columns), (setting.seed, now.round)
        told, grounds = setting.compatibility.told, setting.grounds
        steps = exchanged(told, grounds, grid, size, heats, setting.effort, key, setting.threads)
        others = yield from _meanwhile(now, steps)
        if others:
            now = _merged(setting, now, [other.ravel() for other in others])
    return now


def _shifted(setting: Setting, now: Refinement) -> Generator[Refinement, None, Refinement]:
    """Return the arrangement of the moment with segments shifted, those for which it pays; yield while that takes."""
    in_vain: set[int] = set()
    for turn in range(MOST_SHIFTED):
        grid = now.grid.reshape(-1, setting.columns)
        segments = segments_in(setting.compatibility, grid)
        segment = next((one for one in segments if one.name not in in_vain), None)
        if segment is None:
            break
        in_vain.add(segment.name)
        for place, other in enumerate(shifted(setting.compatibility, grid, segment, setting.threads)):
            now = yield from _mended(setting, now, other.ravel(), 1 + turn * PLACES + place)
            if segment.is_moved(grid, now.grid.reshape(grid.shape)):  # It may have further to go.
                in_vain.remove(segment.name)
                break
    return now


def _swapped(setting: Setting, now: Refinement) -> Generator[Refinement, None, Refinement]:
    """Return the arrangement of the moment with all swaps made that are cheaper at once, and yield it if any are."""
    grid, codes = now.grid.reshape(-1, setting.columns), setting.codes_of(now.grid)
    other = swapped(setting.compatibility, grid, codes, setting.memory, LEAST_GAIN, setting.threads)
    better = _merged(setting, now, [other.ravel()])
    if better.cost >= now.cost:
        return now
    yield better
    return better


def _mended(
    setting: Setting, now: Refinement, other: NDArray[np.int32], series: int
) -> Generator[Refinement, None, Refinement]:
    """Return the arrangement of the moment with what is cheaper in another one, once that was annealed for a while."""
    trial = replace(now, grid=other, cost=setting.cost_of(other))
    count = min(len(TEMPERATURES), max(2, MENDING_CHAINS_BY_PIECES // len(other)))
    chains = _new_chains(setting, (other,), now.round, series, count)
    trial = yield from _meanwhile(now, _annealed(setting, trial, chains, MENDING_MOVES * 2**setting.effort))
    return _merged(setting, now, [trial.grid])


def _meanwhile(now: Refinement, steps: Generator[object, None, Value]) -> Generator[Refinement, None, Value]:
    """Return what some steps return, and yield the arrangement of the moment after each of them."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value
        yield now


def _rearranged(setting: Setting, now: Refinement) -> Generator[Refinement, None, NDArray[np.int32]]:
    """Return the arrangement of the moment, rearranged, and yield it as it is while that takes."""
    turn = now.round - 1
    way, most_cells = WAYS[turn % len(WAYS)], MOST_CELLS if turn < LONG_TURNS else CELLS_AFTER
    grid = now.grid.reshape(-1, setting.columns)
    steps = rearranged(setting.compatibility.told, setting.grounds, grid, way, most_cells, setting.threads)
    other = yield from _meanwhile(now, steps)
    return other.ravel()


def _annealed(
    setting: Setting, now: Refinement, chains: list[Chain], moves: int
) -> Generator[Refinement, None, Refinement]:
    """Return the best arrangement after so many moves of each chain, and yield that after each part of them."""
    phases = frame_phases(setting.compatibility.bearings, now.grid.reshape(-1, setting.columns))
    for bounds in _parts(moves):
        _advance(setting, phases, chains, bounds, moves)
        now = _merged(setting, now, [_grid_of(chain, setting.columns) for chain in chains])
        yield now
    return now


def _merged(setting: Setting, now: Refinement, others: list[NDArray[np.int32]]) -> Refinement:
    """Return the arrangement of the moment with the regions that are cheaper in others."""
    best, codes = now.grid.copy(), setting.codes_of(now.grid)
    features, several = setting.compatibility.features, setting.compatibility.bearings.several
    with setting.memory() as memory:
        for other in others:
            merge(features, codes, several, setting.columns, best, other, memory, LEAST_GAIN)
    mean_cost = float(np.mean([setting.cost_of(other) for other in others]))
    return replace(now, grid=best, cost=setting.cost_of(best), mean_cost=mean_cost)


def most_moves(pieces: int, effort: int) -> tuple[int, int]:
    """Return how many moves a chain makes at most, in a round and in all."""
    in_all = min(MOST_MOVES_IN_ALL, MOST_MOVES_BY_PIECES // pieces) * 2**effort
    return min(MOST_MOVES * 2**effort, in_all), in_all


def _new_chains(
    setting: Setting,
    grids: tuple[NDArray[np.int32], ...],
    number: int,
    series: int = 0,
    count: int = len(TEMPERATURES),
) -> list[Chain]:
    """Return chains that start from one of the grids after the other; each series of a round is another."""
    seeds, codes = (np.uint64(setting.seed), np.uint64(number)), setting.codes_of(grids[0])
    with setting.memory() as memory:
        return [
            new_chain(
                setting.compatibility,
                setting.columns,
                codes,
                grids[index % len(grids)],
                memory,
                *seeds,
                np.uint64(series * len(TEMPERATURES) + index),
            )
            for index in range(count)
        ]


def _memory_bits(pieces: int) -> int:
    bits = (pieces - 1).bit_length()
    return max(1, min(MEMORY_BITS - 1 - bits, bits))


def refinement_bytes(pieces: int, columns: int, threads: int) -> int:
    """Return what refinement takes: memories of costs, and the boards and lists of chains, or patches."""
    cells = (pieces // columns + 2) * (columns + 2)
    memories = threads * (32 * pieces << _memory_bits(pieces))
    return memories + max(
        len(TEMPERATURES) * (36 * pieces + 40 * cells), patches_bytes(pieces), exchanges_bytes(pieces)
    )


def _advance(
    setting: Setting, phases: NDArray[np.uint64], chains: list[Chain], bounds: tuple[int, int], moves: int
) -> None:
    def advance(begin: int, end: int) -> None:
        with setting.memory() as memory:
            for chain, temperature in zip(chains[begin:end], TEMPERATURES[begin:end], strict=True):
                heat = setting.unit * temperature
                anneal(setting.compatibility, setting.columns, phases, chain, memory, *bounds, moves, heat)

    setting.threads.run(len(chains), advance)


def _parts(moves: int) -> Iterator[tuple[int, int]]:
    parts = ceil(moves / PART_MOVES)
    for part in range(parts):
        yield moves * part // parts, moves * (part + 1) // parts


def _grid_of(chain: Chain, columns: int) -> NDArray[np.int32]:
    grid = np.empty(len(chain.board.places), dtype=np.int32)
    copy_grid(chain.board, columns, grid)
    return grid


def cost_unit(compatibility: Compatibility) -> float:
    """Return what a plausible mistake costs: how much dearer than the first candidate of a side the tenth is."""
    costs = compatibility.costs
    last = min(PLAUSIBLE, costs.shape[1]) - 1
    if last < 1:
        return 0.0
    differences = costs[:, last] - costs[:, 0]
    unit = float(np.median(differences[differences > 0])) if (differences > 0).any() else 0.0
    worth = worth_of(compatibility.features)
    return min(unit, LIKELY * worth) if worth > 0 else unit
