import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jigsolve.compatibility.memory import new_memory
from jigsolve.compatibility.seams import midline_seams
from jigsolve.genetic.population import cost_of_grid
from jigsolve.refine.merge import merge
from tests import naive
from tests.puzzles import drawn_puzzle, random_features


def merged(features, columns, grid, other, least_gain=1e-6, bits=0):
    """What two arrangements give, and what is said to be gained."""
    result = np.ascontiguousarray(grid, dtype=np.int32).ravel().copy()
    untouched = np.ascontiguousarray(other, dtype=np.int32).ravel()
    nowhere, none = np.zeros(len(result), dtype=np.int32), np.zeros(len(result), dtype=np.bool_)
    gain = merge(features, nowhere, none, columns, result, untouched, new_memory(len(result), bits), least_gain)
    return result, gain


def mixed_up(rng, grid, swaps):
    """An arrangement with a few pairs of pieces swapped."""
    grid = grid.copy()
    for _ in range(swaps):
        one, other = rng.integers(grid.size, size=2)
        grid[[one, other]] = grid[[other, one]]
    return grid


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 7), st.integers(1, 7), st.integers(0, 2**32), st.integers(0, 6), st.sampled_from([0, 4]))
def test_of_every_region_the_cheaper_version_is_taken(rows, columns, seed, swaps, bits):
    rng = np.random.default_rng(seed)
    features = random_features(rng, rows * columns)
    grid = rng.permutation(rows * columns).astype(np.int32)
    other = mixed_up(rng, grid, swaps)
    result, gain = merged(features, columns, grid, other, bits=bits)
    squares = naive.all_costs(features)
    expected = naive.merged(squares, grid.reshape(rows, columns), other.reshape(rows, columns))
    assert result.reshape(rows, columns).tolist() == expected.tolist()
    assert sorted(result) == list(range(rows * columns))
    before, after, alone = (cost_of_grid(features, columns, each) for each in (grid, result, other))
    assert gain == pytest.approx(before - after, abs=1e-5)
    assert after <= min(before, alone) + 1e-5


def test_mistakes_in_different_places_are_mended_from_either():
    features = midline_seams(drawn_puzzle(4, 8))
    right = np.arange(32, dtype=np.int32)
    one, other = right.copy(), right.copy()
    one[[0, 9]] = one[[9, 0]]
    other[[22, 31]] = other[[31, 22]]
    costs = [cost_of_grid(features, 8, each) for each in (right, one, other)]
    assert costs[0] < min(costs[1:])
    for first, second in ((one, other), (other, one)):
        assert merged(features, 8, first, second)[0].tolist() == right.tolist()


def test_equal_arrangements_stay_and_so_does_what_gains_too_little():
    features = midline_seams(drawn_puzzle(4, 8))
    right = np.arange(32, dtype=np.int32)
    wrong = right.copy()
    wrong[[0, 9]] = wrong[[9, 0]]
    assert merged(features, 8, right, right)[1] == 0
    _, gain = merged(features, 8, wrong, right)
    assert gain > 0
    kept, none = merged(features, 8, wrong, right, least_gain=2 * gain)
    assert (kept.tolist(), none) == (wrong.tolist(), 0)
