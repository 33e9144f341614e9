import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jigsolve.compatibility.loops import SURE_RATIO, find_loops, join_loops, no_loops, partners_in_loops
from jigsolve.threads import Threads
from tests import naive

SOUGHT = 3


def any_costs(rng, pieces, levels):
    """Costs of all pairs, one for either side of a seam: (pieces, 4, pieces), float32."""
    costs = np.empty((pieces, 4, pieces), dtype=np.float32)
    for direction in (naive.RIGHT, naive.DOWN):
        costs[:, direction] = rng.integers(levels, size=(pieces, pieces))
        costs[:, direction + 2] = costs[:, direction].T
    return costs


def without_loops(pieces):
    """Costs of some pieces that fit nobody, and of more that fit all: a few on the right, and others below.

    With these in the first places of every list, no loop closes by chance.
    """
    more = SOUGHT + 1
    costs = np.full((pieces + 2 * more, 4, pieces + 2 * more), 100, dtype=np.float32)
    costs[:, naive.RIGHT, pieces : pieces + more] = 50
    costs[:, naive.DOWN, pieces + more :] = 50
    for direction in (naive.RIGHT, naive.DOWN):
        costs[:, direction + 2] = costs[:, direction].T
    return costs


def fit(costs, grid, cost=1.0):
    """Make all that lie side by side in a grid fit."""
    for direction, (ones, others) in enumerate(((grid[:, :-1], grid[:, 1:]), (grid[:-1], grid[1:]))):
        costs[ones, direction, others] = costs[others, direction + 2, ones] = cost
    return costs


def partners_of(costs, sought=SOUGHT, settled=None):
    """By the kernels, which must say what the obvious version says: who lies where, and in how many loops."""
    settled = settled or {}
    pieces = len(costs)
    keep = min(sought, pieces - 1)
    lists = naive.candidates(costs, pieces - 1)
    candidates = np.array(lists, dtype=np.int32).reshape(4 * pieces, pieces - 1)[:, :keep].copy()
    first = np.take_along_axis(costs.reshape(4 * pieces, pieces), candidates >> 2, axis=1)
    known = np.full((pieces, 4), -1, dtype=np.int32)
    for (piece, direction), other in settled.items():
        known[piece, direction] = other
    with Threads(3) as threads:
        partners, counts = partners_in_loops(candidates, first, known, threads)
    assert (partners.tolist(), counts.tolist()) == naive.partners(costs, lists, keep, SURE_RATIO, settled)
    return partners, counts


def loops_between(grid, counts):
    """The loops of the pairs side by side, and those of the pairs one above the other."""
    right, down = counts[grid[:, :-1], naive.RIGHT], counts[grid[:-1], naive.DOWN]
    assert right.tolist() == counts[grid[:, 1:], naive.LEFT].tolist()
    assert down.tolist() == counts[grid[1:], naive.UP].tolist()
    assert counts.sum() == 2 * (right.sum() + down.sum())
    return right.tolist(), down.tolist()


@pytest.mark.parametrize(
    ("grid", "right", "down"),
    [
        ([[2, 0], [3, 1]], [[1], [1]], [[1, 1]]),
        ([[5, 0, 3], [1, 4, 2]], [[1, 1], [1, 1]], [[1, 2, 1]]),
        ([[5, 0], [1, 4], [3, 2]], [[1], [2], [1]], [[1, 1], [1, 1]]),
    ],
)
def test_four_pieces_make_one_loop_and_two_loops_share_a_pair(grid, right, down):
    grid = np.array(grid)
    partners, counts = partners_of(fit(without_loops(grid.size), grid))
    assert loops_between(grid, counts) == (right, down)
    assert partners[grid[:, :-1], naive.RIGHT].tolist() == grid[:, 1:].tolist()
    assert partners[grid[1:], naive.UP].tolist() == grid[:-1].tolist()


def test_pairs_at_a_border_are_in_one_loop_and_those_inside_in_two():
    grid = np.random.default_rng(3).permutation(9).reshape(3, 3)
    _, counts = partners_of(fit(without_loops(9), grid))
    assert loops_between(grid, counts) == ([[1, 1], [2, 2], [1, 1]], [[1, 2, 1]] * 2)


@pytest.mark.parametrize("pieces", [1, 2, 3])
def test_three_pieces_make_no_loop(pieces):
    partners, counts = partners_of(any_costs(np.random.default_rng(pieces), pieces, 100))
    assert (partners == -1).all()
    assert not counts.any()


@pytest.mark.parametrize(("cost", "sure"), [(0.85, True), (0.95, False)])
def test_a_loop_is_sure_if_the_next_costs_clearly_more(cost, sure):
    # Both 3 and 4 could be the last of a loop with 0, 1 and 2.
    costs = fit(without_loops(5), np.array([[0, 1], [2, 4]]))
    partners, _ = partners_of(fit(costs, np.array([[0, 1], [2, 3]]), cost))
    assert partners[0, naive.RIGHT] == (1 if sure else -1)
    assert partners[2, naive.RIGHT] == (3 if sure else -1)
    assert partners[4].tolist() == [-1] * 4


def test_of_loops_that_cost_nothing_none_is_sure():
    costs = fit(without_loops(5), np.array([[0, 1], [2, 4]]), 0.0)
    partners, _ = partners_of(fit(costs, np.array([[0, 1], [2, 3]]), 0.0))
    assert (partners == -1).all()


def test_where_sure_loops_contradict_each_other_the_surer_one_counts():
    # 4 5    0 and 1 are the bottom of one loop, 0 and 6 the top of another.
    # 0 1
    #
    # 0 6
    # 2 3
    costs = fit(without_loops(8), np.array([[4, 7], [0, 1]]), 25.0)  # Which makes the first less sure.
    costs = fit(costs, np.array([[4, 5], [0, 1]]), 20.0)
    partners, _ = partners_of(fit(costs, np.array([[0, 6], [2, 3]]), 10.0))
    assert partners[0].tolist() == [6, 2, -1, 4]
    assert partners[[1, 4, 5]].tolist() == [[-1, -1, -1, 5], [5, 0, -1, -1], [-1, 1, 4, -1]]


@pytest.mark.parametrize("seam", range(4))
def test_a_seam_whose_candidate_comes_too_late_is_in_no_loop(seam):
    grid = np.array([[0, 1], [2, 3]])
    one, direction, other = naive.SEAMS[seam]
    costs = fit(without_loops(4), grid)
    assert partners_of(costs)[0][0, naive.RIGHT] == 1
    costs[one, direction, other] = costs[other, direction + 2, one] = 110.0  # Behind all others.
    assert (partners_of(costs)[0] == -1).all()


def test_loops_that_contradict_what_is_settled_do_not_count():
    costs = fit(without_loops(6), np.array([[0, 1], [2, 3]]))
    fit(costs, np.array([[0, 4], [2, 5]]), 2.0)
    assert partners_of(costs)[0][0, naive.RIGHT] == 1
    for settled in ({(0, naive.RIGHT): 4}, {(1, naive.LEFT): 5}, {(3, naive.UP): 5}):
        both = {**settled, **{(other, direction ^ 2): piece for (piece, direction), other in settled.items()}}
        partners, _ = partners_of(costs, settled=both)
        assert partners[0].tolist() == [4, 2, -1, -1]
        assert partners[5].tolist() == [-1, -1, 2, 4]
    partners, _ = partners_of(costs, settled={(2, naive.RIGHT): 0, (0, naive.LEFT): 2})
    assert (partners == -1).all()


@pytest.mark.parametrize("levels", [3, 1000])
def test_loops_found_apart_and_joined_in_any_order_are_those_found_at_once(levels):
    rng = np.random.default_rng(levels)
    costs = any_costs(rng, 12, levels)
    candidates = np.array(naive.candidates(costs, 11), dtype=np.int32)
    first = np.take_along_axis(costs.reshape(48, 12), candidates >> 2, axis=1)
    nothing = np.full((12, 4), -1, dtype=np.int32)
    parts = [no_loops(12) for _ in range(4)]
    for index, part in enumerate(parts):
        find_loops(candidates, first, nothing, part, 3 * index, 3 * index + 3)
    at_once = no_loops(12)
    find_loops(candidates, first, nothing, at_once, 0, 12)
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        joined = no_loops(12)
        for index in order:
            join_loops(joined, parts[index])
        assert np.array_equal(joined.cheapest, at_once.cheapest)
        assert np.array_equal(joined.next_cheapest, at_once.next_cheapest)
        clear = at_once.cheapest < at_once.next_cheapest  # Of two that cost the same either may be kept.
        assert np.array_equal(joined.corners[clear], at_once.corners[clear])
        assert clear.any()


def drawn_pairs(rng, pieces, chance):
    """Some sides of a puzzle and the pieces there, each of which has the other at the opposite side."""
    pairs = {}
    for direction in (naive.RIGHT, naive.DOWN):
        for piece, other in enumerate(rng.permutation(pieces).tolist()):
            if piece != other and rng.random() < chance:
                pairs[piece, direction], pairs[other, direction + 2] = other, piece
    return pairs


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 7), st.integers(1, 7), st.integers(0, 2**32), st.sampled_from([1, 2, 4, 1000]))
def test_partners_of_any_costs(pieces, sought, seed, levels):
    rng = np.random.default_rng(seed)
    costs = any_costs(rng, pieces, levels)
    if rng.random() < 0.5 and pieces >= 4:
        shape = (2, pieces // 2)
        fit(costs, rng.permutation(pieces)[: shape[0] * shape[1]].reshape(shape), float(rng.integers(levels)))
    partners, counts = partners_of(costs, sought, drawn_pairs(rng, pieces, rng.choice([0, 0.2])))
    assert ((partners >= 0) == (counts > 0)).all()
    for piece, direction in np.argwhere(partners >= 0):
        assert partners[partners[piece, direction], direction ^ 2] == piece
