import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jigsolve.compatibility import candidates as module
from jigsolve.compatibility.costs import HEAD, SCALE, cost_of, squared_distance, squared_distance_below, to_fixed_point
from jigsolve.compatibility.lab import lab_features
from tests import naive
from tests.puzzles import compatibility_of, drawn_puzzle, random_features


def check_against_naive(features, keep):
    found = compatibility_of(features, keep)
    squares = naive.all_costs(features)
    assert found.candidates.tolist() == naive.candidates(squares, keep)
    assert found.buddies.tolist() == naive.best_buddies(squares)


@pytest.mark.parametrize("keep", [1, 3, 100])
@pytest.mark.parametrize("pieces", [1, 2, 3, 20])
def test_random_features(pieces, keep):
    check_against_naive(random_features(np.random.default_rng(pieces), pieces), keep)


@pytest.mark.parametrize("keep", [1, 5, 24])
def test_lists_stay_exact_where_the_matrix_product_cannot_tell_pieces_apart(keep):
    # Differences of a few steps in features a million steps long: float32 rounds them all away.
    rng = np.random.default_rng(1)
    features = np.int32(2**20) + random_features(rng, 40, low=-3, high=4)
    check_against_naive(features.astype(np.int32), keep)


def test_identical_pieces_go_by_number():
    features = np.tile(random_features(np.random.default_rng(2), 1), (30, 1))
    check_against_naive(features, 4)


def test_constant_pieces():
    check_against_naive(np.zeros((4 * 12, 20), dtype=np.int32), 5)


def test_more_pieces_than_one_block(monkeypatch):
    monkeypatch.setattr(module, "BLOCK_ROWS", 7)
    check_against_naive(random_features(np.random.default_rng(3), 23), 6)


def test_a_real_puzzle():
    check_against_naive(lab_features(drawn_puzzle(4, 5)), 8)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 14), st.integers(1, 14), st.integers(0, 2**32), st.sampled_from([2, 50, 10**6]))
def test_any_features(pieces, keep, seed, spread):
    features = random_features(np.random.default_rng(seed), pieces, low=-spread, high=spread)
    check_against_naive(features, keep)


@pytest.mark.parametrize("length", [HEAD, HEAD + 1, 84, 300])
def test_squared_distances_are_exact_and_end_early_only_above_the_bound(length):
    rng = np.random.default_rng(length)
    features = rng.integers(-(2**24), 2**24, size=(2, length)).astype(np.int32)
    exact = sum((int(a) - int(b)) ** 2 for a, b in zip(*features, strict=True))
    assert squared_distance(features, 0, 1) == exact
    assert squared_distance_below(features, 0, 1, exact + 1) == exact
    assert squared_distance_below(features, 0, 1, exact) >= exact
    assert squared_distance_below(features, 0, 1, 1) >= 1
    assert cost_of(exact) == np.float32(np.sqrt(float(exact)) / SCALE)


def test_fixed_point_pads_short_rows_and_rounds():
    fixed = to_fixed_point(np.array([[0.5, -1.25, 1 / 3]]))
    assert fixed.shape == (1, HEAD)
    assert fixed[0, :3].tolist() == [32768, -81920, 21845]
    assert not fixed[0, 3:].any()
