import numpy as np
import pytest

from jigsolve.compatibility.costs import cost_of
from jigsolve.compatibility.lab import lab_features
from jigsolve.compatibility.memory import cost_in, new_memory, remember, row_and_other, slot_of
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
        assert grid_cost(features, 5, grid, memory) == cost_of_grid(features, 5, grid)


@pytest.mark.parametrize("bits", [0, 2, 4])
def test_every_pair_has_its_name_and_a_place_that_no_other_row_shares(bits):
    features = midline_seams(drawn_puzzle(2, 3))
    squares, entries = squares_of(features), new_memory(6, bits).entries
    rows_of_slots = {}
    for piece, direction, other in np.ndindex(squares.shape):
        row, second = row_and_other(piece, direction, other)
        assert (row, second) == row_and_other(other, direction ^ 2, piece)
        slot = slot_of(row, second, bits)
        assert 0 <= slot < len(entries)
        assert rows_of_slots.setdefault(slot, row) == row
        entry = remember(features, entries, slot, row, second)
        assert entries[slot] == entry
        assert entry >> 32 == second
        assert cost_in(entry) == cost_of(features, squares[piece, direction, other])


def test_a_pair_of_a_piece_and_the_one_to_its_right_is_not_the_one_below():
    assert row_and_other(3, naive.RIGHT, 5) != row_and_other(3, naive.DOWN, 5)
    assert row_and_other(3, naive.RIGHT, 5) != row_and_other(3, naive.LEFT, 5)
