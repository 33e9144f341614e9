import numpy as np
import pytest

from jigsolve import Puzzle, solve
from jigsolve.compatibility.candidates import SEVERAL, find_candidates
from jigsolve.compatibility.phases import CLEAR, COMPLETE, MOSTLY_WHOLE, narrowed, share_of_several
from jigsolve.compatibility.seams import traced_seams
from jigsolve.compatibility.trace_costs import LEGIBLE, MASK, NUMBERS, UNKNOWN, broken_between, byte_of
from jigsolve.threads import Threads
from tests.puzzles import compressed_colours

ROWS, COLUMNS = 8, 10


@pytest.fixture(scope="module")
def features():
    return traced_seams(Puzzle.from_array(compressed_colours(ROWS, COLUMNS, flat=5), 28))


def true_partners():
    grid = np.arange(ROWS * COLUMNS, dtype=np.int32).reshape(ROWS, COLUMNS)
    partners = np.full((ROWS * COLUMNS, 4), -1, dtype=np.int32)
    partners[grid[:, :-1], 0], partners[grid[:, 1:], 2] = grid[:, 1:], grid[:, :-1]
    partners[grid[:-1], 1], partners[grid[1:], 3] = grid[1:], grid[:-1]
    return partners


def plausible(traces):
    return traces.colour.keys[2::4, MASK]


def true_phases(traces):
    """The bit of each piece's phase in blocks of colour."""
    possible = traces.colour.phases.tolist()
    row, column = np.divmod(np.arange(ROWS * COLUMNS), COLUMNS)
    phases = np.stack([14 * row % 8, 14 * column % 8], axis=1).tolist()
    return np.uint64(1) << np.array([possible.index(phase) for phase in phases], dtype=np.uint64)


def test_groups_tell_phases_that_pieces_do_not(features):
    before, after = features.traces, narrowed(features.traces, true_partners())
    assert share_of_several(before) > SEVERAL
    assert share_of_several(after) < 2 / 3 * share_of_several(before)
    assert (plausible(after) & ~plausible(before) == 0).all()
    assert (plausible(after) & true_phases(before) != 0).all()


def test_a_phase_goes_when_the_pieces_of_a_group_speak_against_it_together(features):
    """What the obvious way refutes clearly, without the blocks that seams within a group cut, is gone."""
    traces = features.traces
    partners = true_partners()
    after, colour = narrowed(traces, partners), traces.colour
    possible = colour.phases.tolist()
    groups = {}
    for piece in range(len(partners)):
        row, column = divmod(piece, COLUMNS)
        groups.setdefault((row // 2, column // 2), []).append((piece, row % 2, column % 2))
    compared = 0
    for members in groups.values():
        linked = all(linking(traces, piece, direction) for piece, *_ in members for direction in inner(piece))
        if len(members) < 4 or not linked:
            continue
        totals = {}
        for y, x in possible:
            numbers = [(piece, possible.index([(y + 14 * r) % 8, (x + 14 * c) % 8])) for piece, r, c in members]
            totals[y, x] = sum(colour.evidence[0, piece, number] for piece, number in numbers)
            blocks = sum(colour.evidence[1, piece, number] for piece, number in numbers)
        least = min(totals.values())
        if least > MOSTLY_WHOLE * blocks or least >= sum(colour.evidence[0, p].min() for p, *_ in members) + CLEAR:
            continue
        for (y, x), total in totals.items():
            if total >= least + CLEAR + 0.5:
                first = np.uint64(1) << np.uint64(possible.index([y, x]))
                assert plausible(after)[members[0][0]] & first == 0
                compared += 1
    assert compared > 50


def inner(piece):
    """The directions in which a piece has one of its square of 2 x 2 right of it or below it."""
    row, column = divmod(piece, COLUMNS)
    return [direction for direction, last in ((0, column % 2 == 1), (1, row % 2 == 1)) if not last]


def linking(traces, piece, direction):
    plane, side = traces.brightness, 4 * piece + direction
    facing = 4 * (piece + (1, COLUMNS)[direction]) + direction + 2
    legible = plane.keys[side, LEGIBLE] != 0 and plane.keys[facing, LEGIBLE] != 0
    return legible and broken_between(plane, side, facing, UNKNOWN) < COMPLETE


def test_partners_that_contradict_each_other_tell_nothing_wrong(features):
    rng = np.random.default_rng(4)
    count = ROWS * COLUMNS
    partners = np.full((count, 4), -1, dtype=np.int32)
    for direction in (0, 1):
        others = rng.permutation(count).astype(np.int32)
        partners[:, direction], partners[others, direction + 2] = others, np.arange(count)
    after = narrowed(features.traces, partners)
    assert (plausible(after) & true_phases(after) != 0).mean() > 0.97


def test_numbers_that_are_no_longer_plausible_are_dropped(features):
    after = narrowed(features.traces, true_partners())
    keys, before = after.colour.keys, features.traces.colour.keys
    dropped = 0
    for side in range(len(keys)):
        left = {byte_of(keys[side, NUMBERS], index) for index in range(4)} - {254, 255}
        had = {byte_of(before[side, NUMBERS], index) for index in range(4)} - {255}
        mask = int(keys[side, MASK])
        assert left == {number for number in had if mask >> number & 1}
        dropped += len(had) - len(left)
    assert dropped > 20
    # What is broken between two sides is told without them.
    assert broken_between(after.colour, 0, 6, UNKNOWN) >= broken_between(features.traces.colour, 0, 6, UNKNOWN)


def test_candidates_are_found_among_fewer(features):
    with Threads(2) as threads:
        found = find_candidates(features, 4, threads)
    assert share_of_several(found.told.traces) < share_of_several(features.traces)


def test_the_result_is_the_same_on_any_number_of_threads(features):
    puzzle, _ = Puzzle.from_array(compressed_colours(ROWS, COLUMNS, flat=5), 28).shuffled(seed=3)
    one, two = (solve(puzzle, seed=1, effort=1, population=20, threads=threads) for threads in (1, 2))
    assert one.arrangement.grid.tolist() == two.arrangement.grid.tolist()
    assert one.cost == two.cost
