import numpy as np
import pytest

from jigsolve.compatibility.bearings import no_bearings
from jigsolve.compatibility.costs import SCALE
from jigsolve.compatibility.memory import new_memory
from jigsolve.genetic.population import Population, grid_cost
from jigsolve.threads import Threads
from tests import naive
from tests.puzzles import compatibility_of, random_features

FRAMES = [(1, 1), (1, 2), (2, 1), (1, 7), (7, 1), (3, 4)]


@pytest.mark.parametrize("bits", [0, 1, 5])
@pytest.mark.parametrize(("rows", "columns"), FRAMES)
def test_the_cost_of_an_arrangement_whatever_is_remembered(rows, columns, bits):
    features = random_features(np.random.default_rng(5), rows * columns)
    squares, memory = naive.all_costs(features), new_memory(rows * columns, bits)
    for seed in (6, 7, 7, 6):
        grid = np.random.default_rng(seed).permutation(rows * columns).astype(np.int32)
        expected = naive.grid_cost(squares, grid.reshape(rows, columns), SCALE)
        assert grid_cost(features, no_bearings(), columns, grid, memory) == pytest.approx(expected, rel=1e-6)


def test_a_random_population_holds_permutations_their_costs_and_every_order():
    compatibility = compatibility_of(random_features(np.random.default_rng(7), 4))
    with Threads(2) as threads:
        population = Population.random(2400, compatibility, 2, seed=3, threads=threads)
    assert (np.sort(population.grids, axis=1) == np.arange(4)).all()
    for grid, cost in zip(population.grids[:50], population.costs[:50], strict=True):
        assert cost == grid_cost(compatibility.features, no_bearings(), 2, grid, new_memory(4, 0))
    assert population.costs[population.best()] == population.costs.min()
    _, counts = np.unique(population.grids, axis=0, return_counts=True)
    assert len(counts) == 24
    # 100 each are expected, with a deviation of 9.8: five deviations either way.
    assert counts.min() > 51
    assert counts.max() < 149


def test_seeds_give_different_populations():
    compatibility = compatibility_of(random_features(np.random.default_rng(7), 9))
    with Threads(1) as threads:
        one, other = (Population.random(5, compatibility, 3, seed, threads) for seed in (1, 2))
    assert not np.array_equal(one.grids, other.grids)
