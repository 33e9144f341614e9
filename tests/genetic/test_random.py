import numpy as np
import pytest

from jigsolve.genetic.random import fill_with_units, next_random, random_below, seed_state


def test_it_is_splitmix64():
    # The published first outputs for the seed 1234567.
    state = np.array([1234567], dtype=np.uint64)
    drawn = [int(next_random_compiled(state)) for _ in range(3)]
    assert drawn == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def next_random_compiled(state):
    return next_random(state)


@pytest.mark.parametrize("bound", [1, 2, 7, 1000])
def test_random_below_is_uniform(bound):
    state = np.array([42], dtype=np.uint64)
    counts = np.bincount([random_below(state, bound) for _ in range(20_000)], minlength=bound)
    assert len(counts) == bound
    assert abs(counts - 20_000 / bound).max() < 6 * np.sqrt(20_000 / bound)


def test_units_fill_the_interval():
    values = np.empty(20_000)
    fill_with_units(values, np.uint64(3), np.uint64(1), np.uint64(0))
    assert values.min() >= 0
    assert values.max() < 1
    np.testing.assert_allclose(np.histogram(values, bins=10, range=(0, 1))[0], 2000, atol=250)


def test_every_key_has_its_own_stream():
    states = set()
    state = np.empty(1, dtype=np.uint64)
    for seed in range(6):
        for generation in range(6):
            for index in range(6):
                seed_state(state, np.uint64(seed), np.uint64(generation), np.uint64(index))
                states.add(int(state[0]))
    assert len(states) == 6**3
