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
def test_a_place_and_its_entry_tell_the_pair(bits):
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
        assert entries[slot] == entry
        assert entry >> 32 == second
        assert cost_in(entry) == cost_of(features, squares[piece, direction, other])
        assert recalled(features, entries, step, row, second) == cost_in(entry)
        entries[slot] = -1
        assert recalled(features, entries, step, row, second) == cost_in(entry)
        assert entries[slot] == entry


@pytest.mark.parametrize(("pieces", "bits"), [(6, 3), (16, 4), (17, 5)])
def test_where_there_is_room_for_all_pairs_none_takes_the_place_of_another(pieces, bits):
    entries, step = new_memory(pieces, bits)
    slots = {slot_of(row, other, step, len(entries)) for row in range(2 * pieces) for other in range(pieces)}
    assert len(slots) == 2 * pieces**2


def test_a_memory_of_one_place_a_row_keeps_what_came_last():
    entries, step = new_memory(100, 0)
    assert {slot_of(7, other, step, len(entries)) for other in range(100)} == {7}


def test_the_pairs_of_a_few_rows_spread_over_the_whole_memory():
    pieces, bits = 5000, 3
    entries, step = new_memory(pieces, bits)
    slots = {slot_of(row, other, step, len(entries)) for row in range(4) for other in range(pieces)}
    assert len(slots) > 0.8 * 4 * pieces > 100 * 4 * 2**bits


@pytest.mark.parametrize("pieces", [1, 2, 24, 512, 513, 22755])
@pytest.mark.parametrize("bits", [0, 4])
def test_a_memory_is_less_than_twice_as_large_as_asked_for(pieces, bits):
    assert 2 * pieces << bits <= len(new_memory(pieces, bits).entries) < 4 * pieces << bits


def test_a_pair_of_a_piece_and_the_one_to_its_right_is_not_the_one_below():
    assert row_and_other(3, naive.RIGHT, 5) != row_and_other(3, naive.DOWN, 5)
    assert row_and_other(3, naive.RIGHT, 5) != row_and_other(3, naive.LEFT, 5)
