import numpy as np
import pytest

from jigsolve.compatibility.bearings import no_bearings
from jigsolve.compatibility.costs import cost_of
from jigsolve.compatibility.lab import lab_features
from jigsolve.compatibility.memory import cost_in, new_memory, recalled, remember, row_and_other, slot_of
from jigsolve.compatibility.seams import mgc_seams, midline_seams
from jigsolve.genetic.population import cost_of_grid, grid_cost
from tests import naive
from tests.puzzles import drawn_puzzle, squares_of

MEASURES = [lab_features, mgc_seams, midline_seams]


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("bits", [0, 1, 3, 10])
def test_any_size_gives_the_cost_without_memory(measure, bits):
    features = measure(drawn_puzzle(4, 5))
    memory = new_memory(20, bits)
    rng = np.random.default_rng(1)
    grids = [rng.permutation(20).astype(np.int32) for _ in range(6)]
    for grid in (*grids, *reversed(grids)):
        assert grid_cost(features, no_bearings(), 5, grid, memory) == cost_of_grid(features, 5, grid)


@pytest.mark.parametrize("bits", [0, 1, 2, 4])
def test_a_slot_and_its_entry_tell_the_pair(bits):
    features = midline_seams(drawn_puzzle(2, 3))
    squares, (entries, step) = squares_of(features), new_memory(6, bits)
    rows = {}
    for piece, direction, other in np.ndindex(squares.shape):
        row, second = row_and_other(piece, direction, other)
        assert (row, second) == row_and_other(other, direction ^ 2, piece)
        slot = slot_of(row, second, step, len(entries))
        assert 0 <= slot < len(entries)
        assert rows.setdefault((slot, second), row) == row
        entry = remember(features, entries, slot, row, second)
        assert entries[slot, 0] == entry
        assert entry >> 32 == second
        assert cost_in(entry) == cost_of(features, squares[piece, direction, other])
        assert recalled(features, entries, step, row, second) == cost_in(entry)
        entries[slot] = -1
        assert recalled(features, entries, step, row, second) == cost_in(entry)
        assert entries[slot, 0] == entry


@pytest.mark.parametrize(("bits", "places"), [(0, 1), (1, 2), (2, 4), (5, 4)])
def test_the_first_of_a_full_slot_gives_way(bits, places):
    features = midline_seams(drawn_puzzle(6, 8))
    entries, step = new_memory(48, bits)
    rows = {}  # Of the pairs of a slot: all that have one.
    for row, other in np.ndindex(96, 48):
        rows.setdefault(slot_of(row, other, step, len(entries)), []).append((row, other))
    slot, pairs = next((slot, pairs) for slot, pairs in rows.items() if len(pairs) > places + 1)
    for count, (row, other) in enumerate(pairs, 1):
        cost = recalled(features, entries, step, np.int64(row), np.int64(other))
        held = [int(entry >> 32) for entry in entries[slot]]
        assert held == [other for _, other in reversed(pairs[:count])][:places] + [-1] * (places - count)
        before = entries.copy()
        assert recalled(features, entries, step, np.int64(row), np.int64(other)) == cost
        for row_there, other_there in pairs[max(0, count - places) : count]:  # All that are held are found.
            recalled(features, entries, step, np.int64(row_there), np.int64(other_there))
        assert (entries == before).all()
    assert (np.delete(entries, slot, axis=0) == -1).all()


@pytest.mark.parametrize(("pieces", "bits"), [(6, 3), (6, 5), (16, 4), (16, 6), (17, 5), (17, 7)])
def test_where_there_is_room_for_all_pairs_none_takes_the_place_of_another(pieces, bits):
    entries, step = new_memory(pieces, bits)
    slots = [slot_of(row, other, step, len(entries)) for row in range(2 * pieces) for other in range(pieces)]
    assert np.bincount(slots).max() <= entries.shape[1]


def test_a_memory_of_one_place_a_row_keeps_what_came_last():
    entries, step = new_memory(100, 0)
    assert entries.shape == (256, 1)
    assert {slot_of(7, other, step, len(entries)) for other in range(100)} == {7}


def test_the_pairs_of_a_few_rows_spread_over_the_whole_memory():
    pieces, bits = 5000, 3
    entries, step = new_memory(pieces, bits)
    slots = [slot_of(row, other, step, len(entries)) for row in range(4) for other in range(pieces)]
    held = np.minimum(np.bincount(slots), entries.shape[1]).sum()
    assert held > 0.95 * 4 * pieces > 100 * 4 * 2**bits


@pytest.mark.parametrize("pieces", [1, 2, 24, 512, 513, 22755])
@pytest.mark.parametrize("bits", [0, 1, 2, 4])
def test_a_memory_is_less_than_twice_as_large_as_asked_for(pieces, bits):
    assert 2 * pieces << bits <= new_memory(pieces, bits).entries.size < 4 * pieces << bits


def test_a_pair_of_a_piece_and_the_one_to_its_right_is_not_the_one_below():
    assert row_and_other(3, naive.RIGHT, 5) != row_and_other(3, naive.DOWN, 5)
    assert row_and_other(3, naive.RIGHT, 5) != row_and_other(3, naive.LEFT, 5)
