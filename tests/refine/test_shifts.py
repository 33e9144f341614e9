import numpy as np
import pytest

from jigsolve.compatibility.bearings import Bearings, no_bearings
from jigsolve.compatibility.seams import midline_seams
from jigsolve.genetic.population import cost_of_grid
from jigsolve.refine import shifts as module
from jigsolve.refine.shifts import (
    Segment,
    _suited,
    compile_shifts,
    cost_around,
    fill_shifts,
    move,
    segments_in,
    shifted,
)
from jigsolve.threads import Threads
from tests.puzzles import compatibility_of, costs_of, drawn_puzzle, random_features

ROWS, COLUMNS = 9, 11


def segment_of(mask):
    return Segment(0, *np.nonzero(mask))


def random_segment(random):
    """A part of the frame with room around it, of any shape."""
    mask = np.zeros((ROWS, COLUMNS), dtype=bool)
    mask[2:7, 3:8] = random.random((5, 5)) < 0.6
    mask[4, 5] = True
    return mask


def naive_move(grid, mask, down, right):
    """The segment's pieces in their new cells; each that is displaced in the empty cell that lies behind it."""
    moved = {}
    cells = {(int(row), int(column)) for row, column in np.argwhere(mask)}
    for row, column in cells:
        moved[row + down, column + right] = grid[row, column]
    for row, column in {(row + down, column + right) for row, column in cells} - cells:
        back = (row - down, column - right)
        while (back[0] - down, back[1] - right) in cells:
            back = (back[0] - down, back[1] - right)
        moved[back] = grid[row, column]
    result = grid.copy()
    for cell, piece in moved.items():
        result[cell] = piece
    return result


def places(mask):
    """All ways to move a segment that stays in the frame."""
    rows, columns = np.nonzero(mask)
    for down in range(-rows.min(), ROWS - rows.max()):
        for right in range(-columns.min(), COLUMNS - columns.max()):
            if (down, right) != (0, 0):
                yield int(down), int(right)


@pytest.mark.parametrize("seed", range(4))
def test_a_move_takes_the_segment_along_and_loses_no_piece(seed):
    random = np.random.default_rng(seed)
    grid, mask = random.permutation(ROWS * COLUMNS).astype(np.int32).reshape(ROWS, COLUMNS), random_segment(random)
    for down, right in places(mask):
        moved = grid.copy()
        move(grid, mask, *np.nonzero(mask), down, right, moved)
        np.testing.assert_array_equal(moved, naive_move(grid, mask, down, right))
        assert sorted(moved.ravel()) == list(range(ROWS * COLUMNS))
        back = moved.copy()
        there = np.roll(mask, (down, right), axis=(0, 1))
        move(moved, there, *np.nonzero(there), -down, -right, back)
        np.testing.assert_array_equal(back, grid)


def all_shifts(features, grid, mask, suited=None):
    rows, columns = np.nonzero(mask)
    first = np.array([-rows.min(), -columns.min()])
    costs = np.full((ROWS - np.ptp(rows), COLUMNS - np.ptp(columns)), np.inf)
    suited = np.ones((1, 1), dtype=bool) if suited is None else suited
    fill_shifts(features, grid, mask, rows, columns, first, suited, costs, 0, len(costs))
    return {
        (int(first[0] + down), int(first[1] + right)): costs[down, right] for down, right in np.ndindex(costs.shape)
    }


@pytest.mark.parametrize("seed", range(3))
def test_a_shift_costs_what_the_whole_grid_costs_more(seed):
    random = np.random.default_rng(seed)
    features = random_features(random, ROWS * COLUMNS)
    grid, mask = random.permutation(ROWS * COLUMNS).astype(np.int32).reshape(ROWS, COLUMNS), random_segment(random)
    before = cost_of_grid(features, COLUMNS, grid.ravel())
    costs = all_shifts(features, grid, mask)
    assert costs.pop((0, 0)) == np.inf
    assert set(costs) == set(places(mask))
    for way, cost in costs.items():
        after = cost_of_grid(features, COLUMNS, naive_move(grid, mask, *way).ravel())
        assert cost == pytest.approx(after - before, rel=1e-5, abs=1e-2)


def test_only_places_that_suit_are_looked_at():
    random = np.random.default_rng(1)
    features = random_features(random, ROWS * COLUMNS)
    grid, mask = np.arange(ROWS * COLUMNS, dtype=np.int32).reshape(ROWS, COLUMNS), random_segment(random)
    suited = np.array([[True, False], [False, False]])
    costs = all_shifts(features, grid, mask, suited)
    assert {way for way, cost in costs.items() if cost < np.inf} == {
        way for way in places(mask) if way[0] % 2 == 0 and way[1] % 2 == 0
    }


def test_what_lies_around_a_segment_costs_what_its_seams_do():
    random = np.random.default_rng(2)
    features = random_features(random, ROWS * COLUMNS)
    pairs = costs_of(features)
    grid, mask = random.permutation(ROWS * COLUMNS).astype(np.int32).reshape(ROWS, COLUMNS), random_segment(random)
    expected = 0.0
    for row, column in np.argwhere(mask):
        for direction, (down, right) in enumerate(((0, 1), (1, 0), (0, -1), (-1, 0))):
            if not mask[row + down, column + right]:
                expected += pairs[grid[row, column], direction, grid[row + down, column + right]]
    assert cost_around(features, grid, mask, *np.nonzero(mask)) == pytest.approx(expected, rel=1e-5)


@pytest.fixture(scope="module")
def drawn():
    """A picture all of whose partners are sure, and how it lies with a block two rows and three columns off."""
    compatibility = compatibility_of(midline_seams(drawn_puzzle(ROWS, COLUMNS, 24)))
    right = np.arange(ROWS * COLUMNS, dtype=np.int32).reshape(ROWS, COLUMNS)
    around = np.pad(right, 1, constant_values=-1)
    partners = [around[1:-1, 2:], around[2:, 1:-1], around[1:-1, :-2], around[:-2, 1:-1]]
    partners = np.ascontiguousarray(np.stack(partners, axis=2).reshape(-1, 4))
    compatibility = compatibility._replace(partners=partners, doubt=np.zeros(partners.size, dtype=np.uint8))
    mask = np.zeros((ROWS, COLUMNS), dtype=bool)
    mask[1:6, 2:7] = True
    return compatibility, right, naive_move(right, mask, 2, 3), np.roll(mask, (2, 3), axis=(0, 1))


def test_in_what_is_right_there_is_no_segment_but_the_picture(drawn):
    compatibility, right, _, _ = drawn
    assert list(segments_in(compatibility, right)) == []


def test_a_block_that_lies_apart_is_a_segment(drawn, monkeypatch):
    monkeypatch.setattr(module, "FEWEST_PIECES", 20)
    compatibility, _, wrong, mask = drawn
    segment = next(segments_in(compatibility, wrong))
    assert segment.name == wrong[mask].min()
    np.testing.assert_array_equal(np.stack([segment.rows, segment.columns], axis=1), np.argwhere(mask))


@pytest.mark.parametrize("threads", [1, 3])
def test_the_cheapest_place_is_the_true_one(drawn, threads):
    compatibility, right, wrong, mask = drawn
    with Threads(threads) as pool:
        found = list(shifted(compatibility, wrong, segment_of(mask), pool))
    assert 1 <= len(found) <= module.PLACES
    np.testing.assert_array_equal(found[0], right)


def test_what_lies_where_it_belongs_is_not_moved(drawn):
    compatibility, right, _, _ = drawn
    mask = np.zeros((ROWS, COLUMNS), dtype=bool)
    mask[2:6, 3:8] = True
    with Threads(1) as pool:
        assert list(shifted(compatibility, right, segment_of(mask), pool)) == []


def test_too_large_a_segment_is_left_alone(drawn, monkeypatch):
    monkeypatch.setattr(module, "MOST_WORK", 100)
    compatibility, _, wrong, mask = drawn
    with Threads(1) as pool:
        assert list(shifted(compatibility, wrong, segment_of(mask), pool)) == []


def test_a_segment_is_moved_if_most_of_its_cells_hold_others():
    before = np.arange(12, dtype=np.int32).reshape(3, 4)
    segment = Segment(0, np.array([0, 0, 0]), np.array([0, 1, 2]))
    one, two = before.copy(), before.copy()
    one[0, 0], two[0, :2] = 11, (10, 11)
    assert not segment.is_moved(before, before)
    assert not segment.is_moved(before, one)
    assert segment.is_moved(before, two)


def test_a_segment_moves_as_the_phases_of_its_pieces_repeat():
    """Phases repeat after two rows and two columns; every piece knows its own, but one in twenty."""
    moved = np.array([[[0, 1, 2, 3], [1, 0, 3, 2]], [[2, 3, 0, 1], [3, 2, 1, 0]]])
    grid = np.arange(ROWS * COLUMNS, dtype=np.int32).reshape(ROWS, COLUMNS)
    down, right = np.divmod(np.arange(ROWS * COLUMNS), COLUMNS)
    masks = np.uint64(1) << moved[down % 2, right % 2, 0].astype(np.uint64)
    masks[::20] = 15
    mask = np.zeros((ROWS, COLUMNS), dtype=bool)
    mask[1:6, 2:7] = True
    bearings = Bearings(masks, np.zeros(len(masks), np.bool_), moved)
    assert _suited(bearings, grid, segment_of(mask)).tolist() == [
        [True, False],
        [False, False],
    ]
    assert _suited(no_bearings(), grid, segment_of(mask)).tolist() == [[True]]


def test_nothing_is_left_to_compile(drawn):
    _, _, wrong, mask = drawn
    compatibility = compatibility_of(midline_seams(drawn_puzzle(ROWS, COLUMNS, 24)))
    kernels = (fill_shifts, cost_around, move)
    with Threads(1) as pool:
        compile_shifts(compatibility, COLUMNS, pool)
        signatures = [len(each.signatures) for each in kernels]
        assert min(signatures) > 0
        assert list(shifted(compatibility, wrong, segment_of(mask), pool))
    assert [len(each.signatures) for each in kernels] == signatures
