import numpy as np
import pytest

from jigsolve.genetic.selection import SELECTIONS, select_parents

COSTS = np.array([10.0, 20.0, 40.0, 25.0])
EXPECTED = {
    "inverse": np.array([1 / 10, 1 / 20, 1 / 40, 1 / 25]),
    "window": np.array([30.0, 20.0, 0.0, 15.0]),
    "exponential": np.exp(-5 * np.array([0.0, 10.0, 30.0, 15.0]) / 13.75),
}


@pytest.mark.parametrize("selection", SELECTIONS)
def test_parents_come_in_proportion_to_fitness(selection):
    chances = EXPECTED[selection] / EXPECTED[selection].sum()
    np.testing.assert_allclose(SELECTIONS[selection](COSTS) / SELECTIONS[selection](COSTS).sum(), chances)
    parents = select_parents(COSTS, selection, 20_000, seed=1, generation=1)
    assert parents.shape == (20_000, 2)
    shares = np.bincount(parents.ravel(), minlength=4) / parents.size
    # The deviation of a share is at most 0.0025.
    np.testing.assert_allclose(shares, chances, atol=0.0125)
    both_best = np.mean((parents == 0).all(axis=1))
    assert both_best == pytest.approx(chances[0] ** 2, abs=0.018)


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("costs", [[3.0, 3.0, 3.0], [0.0, 0.0, 0.0]])
def test_equal_costs_give_equal_chances(selection, costs):
    parents = select_parents(np.array(costs), selection, 3000, seed=1, generation=1)
    assert np.bincount(parents.ravel(), minlength=3).min() > 1800


@pytest.mark.parametrize("selection", SELECTIONS)
def test_a_cost_of_zero_is_no_division_by_zero(selection):
    parents = select_parents(np.array([0.0, 5.0, 7.0]), selection, 300, seed=1, generation=1)
    assert np.bincount(parents.ravel(), minlength=3).argmax() == 0


def test_draws_depend_on_seed_and_generation_only():
    draw = lambda seed, generation: select_parents(COSTS, "inverse", 50, seed, generation).tolist()  # noqa: E731
    assert draw(1, 1) == draw(1, 1)
    assert draw(1, 1) != draw(1, 2)
    assert draw(1, 1) != draw(2, 1)
