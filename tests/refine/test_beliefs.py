import numpy as np
import pytest

from jigsolve.refine import beliefs as module
from jigsolve.refine.beliefs import LEAST, Region, choose, fill_likelihoods, settle, swap_down, tell_neighbours
from jigsolve.threads import Threads
from tests import naive
from tests.puzzles import result_of


def frame_of(rows, columns):
    """The cell at each side of each cell of a full frame, and the cells' colours."""
    numbers = np.pad(np.arange(rows * columns).reshape(rows, columns), 1, constant_values=-1)
    sides = [numbers[1:-1, 2:], numbers[2:, 1:-1], numbers[1:-1, :-2], numbers[:-2, 1:-1]]
    y, x = np.mgrid[:rows, :columns]
    return np.stack([side.ravel() for side in sides], axis=1).astype(np.int64), ((y + x) % 2).ravel()


def planted(rng, rows, columns, right, wrong):
    """Units that belong somewhere: what pairs of them cost, and which one belongs in each cell."""
    neighbours, _ = frame_of(rows, columns)
    count = rows * columns
    units = rng.permutation(count)
    costs = (wrong + rng.exponential(1.0, size=(2, count, count))).astype(np.float32)
    for axis in range(2):
        for cell in range(count):
            if neighbours[cell, axis] >= 0:
                costs[axis, units[cell], units[neighbours[cell, axis]]] = right + rng.exponential(1.0)
    return costs, units


def region_of(rows, columns, costs, known, sharpness=1.0):
    """A region of which the units in some cells are as good as known."""
    neighbours, colours = frame_of(rows, columns)
    count = rows * columns
    likelihoods = np.empty((4, count, count), dtype=np.float32)
    fill_likelihoods(costs, sharpness, likelihoods)
    messages, informed = np.ones((4, count, count), dtype=np.float32), np.zeros(count, dtype=np.bool_)
    for cell, unit in known.items():
        messages[0, cell] = LEAST
        messages[0, cell, unit] = count
        informed[cell] = True
    return Region(neighbours, colours, likelihoods, messages, informed, np.empty((0, messages.shape[2]), np.float32))


def settled(region, threads=2):
    with Threads(threads) as pool:
        return result_of(settle(region, pool))


def test_what_is_known_in_one_corner_spreads_to_the_whole_region():
    costs, units = planted(np.random.default_rng(1), 6, 7, right=0.0, wrong=5.0)
    assert settled(region_of(6, 7, costs, {0: units[0]})).tolist() == units.tolist()


def test_where_seams_alone_leave_much_open_all_of_them_together_do_not():
    rng = np.random.default_rng(2)
    count, (neighbours, _) = 144, frame_of(12, 12)
    units = rng.permutation(count)
    costs = rng.normal(7, 1.5, size=(2, count, count)).astype(np.float32)
    for axis in range(2):
        for cell, beside in enumerate(neighbours[:, axis]):
            if beside >= 0:
                costs[axis, units[cell], units[beside]] = rng.normal(2.5, 1.5)
    first = [costs[0, units[c]].argmin() == units[n] for c, n in enumerate(neighbours[:, 0]) if n >= 0]
    assert np.mean(first) < 0.7
    border = {c: units[c] for c in range(count) if (neighbours[c] < 0).any()}
    assert (settled(region_of(12, 12, costs, border)) == units).all()


def test_the_number_of_threads_changes_nothing():
    costs, units = planted(np.random.default_rng(3), 9, 8, right=0.5, wrong=2.0)

    def result(threads):
        region = region_of(9, 8, costs, {0: units[0], 71: units[71]})
        return settled(region, threads).tolist(), region.messages.tolist()

    assert result(1) == result(2) == result(5)


def test_what_is_left_of_a_region_lies_in_memory_as_before():
    """Cell by cell: in any other order a sweep takes several times as long."""
    costs, units = planted(np.random.default_rng(1), 6, 7, right=0.0, wrong=5.0)
    region = region_of(6, 7, costs, {0: units[0]})
    free, kept = np.arange(42) % 3 > 0, np.arange(42) % 4 > 0
    left = module._reduced(region, free, kept)
    assert left.likelihoods.flags.c_contiguous
    assert left.messages.flags.c_contiguous
    assert (left.likelihoods == region.likelihoods[:, kept][:, :, kept]).all()
    assert (left.messages == region.messages[:, free][:, :, kept]).all()


def test_a_large_region_is_heard_of_on_the_way(monkeypatch):
    monkeypatch.setattr(module, "LARGE", 30)
    costs, units = planted(np.random.default_rng(1), 9, 9, right=0.5, wrong=2.5)
    with Threads(2) as pool:
        large = list(settle(region_of(9, 9, costs, {0: units[0]}), pool))
        small = list(settle(region_of(5, 6, costs[:, :30, :30], {0: 0}), pool))
    assert len(large) >= 1
    assert small == []


def test_each_unit_is_given_once_also_where_all_are_alike():
    costs = np.zeros((2, 30, 30), dtype=np.float32)
    assert sorted(settled(region_of(5, 6, costs, {0: 3}))) == list(range(30))


def test_of_what_nothing_is_known_nothing_is_said():
    costs, units = planted(np.random.default_rng(4), 3, 4, right=0.0, wrong=5.0)
    assert settled(region_of(3, 4, costs, {})).tolist() == [-1] * 12
    region = region_of(3, 4, costs, {0: units[0]})
    region.neighbours[region.neighbours == 11] = -1  # The last cell is beside no other.
    region.neighbours[11] = -1
    assert settled(region).tolist() == [*units[:11], -1]


def test_messages_are_those_of_the_obvious_version():
    rng = np.random.default_rng(5)
    costs, units = planted(rng, 4, 5, right=0.5, wrong=2.0)
    region = region_of(4, 5, costs, {0: units[0], 7: units[7]})
    region.messages[:] *= rng.uniform(0.5, 2.0, size=region.messages.shape).astype(np.float32)
    region.informed[:] = True
    weights = rng.uniform(0.5, 2.0, size=20).astype(np.float32)
    weights[units[3]] = 0
    free = np.ones(20, dtype=np.bool_)
    free[3] = False
    cells = np.flatnonzero(free & (region.colours == 0))
    expected, popular = naive.told(region, cells, free, weights, module)
    popularity = np.zeros((1, 20), dtype=np.float32)
    tell_neighbours(region, cells, np.array([0, len(cells)]), free, weights, popularity, 0, 1)
    np.testing.assert_allclose(region.messages, expected, rtol=1e-4)
    np.testing.assert_allclose(popularity[0], popular, rtol=1e-4)


def test_a_cell_that_believes_in_too_many_says_nothing():
    costs = np.ones((2, 300, 300), dtype=np.float32)
    region = region_of(15, 20, costs, {})
    region.informed[:] = True
    before = region.messages.copy()
    cells = np.flatnonzero(region.colours == 0)
    everything = np.ones(300, dtype=np.float32)
    tell_neighbours(
        region, cells, np.array([0, len(cells)]), everything > 0, everything, np.zeros((1, 300), np.float32), 0, 1
    )
    assert (region.messages == before).all()


def test_the_surest_cell_chooses_first():
    messages = np.ones((4, 3, 3), dtype=np.float32)
    messages[0] = [[8, 1, 1], [90, 9, 1], [1, 1, 2]]
    nothing = np.empty((0, 3), dtype=np.float32)
    chosen, sure = choose(messages, nothing, np.ones(3, np.float32), np.array([True, True, False]))
    assert chosen.tolist() == [1, 0, -1]  # The second is surer of the first unit than the first is.
    assert sure.tolist() == [0.0, 0.9, -1.0]
    chosen, _ = choose(messages, nothing, np.array([0, 1, 1], np.float32), np.array([True, True, True]))
    assert sorted(chosen[[1, 2]]) == [1, 2]


def test_what_is_expected_counts_like_a_message():
    messages, expected = np.ones((4, 3, 3), dtype=np.float32), np.array([[8, 1, 1], [90, 9, 1], [1, 1, 2]], np.float32)
    chosen, sure = choose(messages, expected, np.ones(3, np.float32), np.array([True, True, False]))
    assert chosen.tolist() == [1, 0, -1]
    assert sure.tolist() == [0.0, 0.9, -1.0]


def test_what_is_expected_tells_apart_what_seams_do_not():
    """A region that fits as well when it is turned over, and of which nothing is known but where units are expected."""
    count = 12
    costs = np.full((2, count, count), 9.0, dtype=np.float32)
    cells = np.arange(count - 1)
    costs[0, cells, cells + 1] = costs[0, cells + 1, cells] = 0.0
    plain = region_of(1, count, costs, {})
    expected = np.full((count, count), 0.2, dtype=np.float32)
    expected[: count // 2, : count // 2] = expected[count // 2 :, count // 2 :] = 1.0
    for order in (1, -1):
        region = plain._replace(
            expected=np.ascontiguousarray(expected[::order]),
            informed=np.ones(count, dtype=np.bool_),
            messages=np.ones((4, count, count), dtype=np.float32),
        )
        assert settled(region).tolist() == np.arange(count)[::order].tolist()


@pytest.mark.parametrize("sharpness", [0.3, 1.0])
def test_likelihoods_are_those_of_the_obvious_version(sharpness):
    costs = np.random.default_rng(6).uniform(5, 50, size=(2, 9, 9)).astype(np.float32)
    likelihoods = np.empty((4, 9, 9), dtype=np.float32)
    fill_likelihoods(costs, sharpness, likelihoods)
    for axis in range(2):
        chances = np.exp(-sharpness * costs[axis].astype(np.float64))
        np.fill_diagonal(chances, 0)
        usual = np.sqrt(chances.mean(axis=1)[:, np.newaxis] * chances.mean(axis=0))
        np.testing.assert_allclose(likelihoods[axis], chances / usual, rtol=1e-4)
        assert (likelihoods[axis + 2] == likelihoods[axis].T).all()


@pytest.mark.parametrize("seed", range(5))
def test_swaps_end_where_none_makes_it_cheaper(seed):
    rng = np.random.default_rng(seed)
    neighbours, _ = frame_of(4, 4)
    costs = rng.uniform(0, 10, size=(2, 16, 16)).astype(np.float32)
    outside = rng.uniform(0, 10, size=(16, 16)).astype(np.float32)

    def cost(units):
        pairs = [(a, c, n) for c in range(16) for a, n in enumerate(neighbours[c, :2]) if n >= 0]
        return outside[np.arange(16), units].sum() + sum(costs[a, units[c], units[n]] for a, c, n in pairs)

    start = rng.permutation(16)
    units = start.copy()
    swap_down(costs, outside, neighbours, units)
    assert sorted(units) == list(range(16))
    assert cost(units) < cost(start)
    for one in range(16):
        for two in range(one):
            other = units.copy()
            other[[one, two]] = other[[two, one]]
            assert cost(other) > cost(units) - 1e-2
