import numpy as np
import pytest

from jigsolve.genetic.random import GAMMA, below, fill_with_units, first_state, mix


def test_it_is_splitmix64():
    # The published first outputs for the seed 1234567.
    states = [(1234567 + int(GAMMA) * count) % 2**64 for count in (1, 2, 3)]
    drawn = [int(mix(np.uint64(state))) for state in states]
    assert drawn == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@pytest.mark.parametrize("bound", [1, 2, 7, 1000])
def test_below_is_uniform(bound):
    counts = np.bincount([below(np.uint64(mix(np.uint64(state))), bound) for state in range(20_000)], minlength=bound)
    assert len(counts) == bound
    assert abs(counts - 20_000 / bound).max() < 6 * np.sqrt(20_000 / bound)


def test_units_fill_the_interval():
    values = np.empty(20_000)
    fill_with_units(values, np.uint64(3), np.uint64(1), np.uint64(0))
    assert values.min() >= 0
    assert values.max() < 1
    np.testing.assert_allclose(np.histogram(values, bins=10, range=(0, 1))[0], 2000, atol=250)


def test_every_key_has_its_own_stream():
    states = {
        int(first_state(seed, generation, index)) for seed in range(6) for generation in range(6) for index in range(6)
    }
    assert len(states) == 6**3
