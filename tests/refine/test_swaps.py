from itertools import product

import numpy as np
import pytest

from jigsolve.compatibility.memory import empty_memory
from jigsolve.compatibility.seams import midline_seams
from jigsolve.genetic.population import cost_of_grid
from jigsolve.refine import swaps as module
from jigsolve.refine.anneal import OUTSIDE, Board
from jigsolve.refine.swaps import Found, Room, find_swaps, gain_of_swap, make_swaps, note_all_costs, swapped
from jigsolve.threads import Threads, borrowed
from tests.puzzles import compatibility_of, drawn_puzzle, random_features

ROWS, COLUMNS = 6, 7
WIDTH = COLUMNS + 2


@pytest.fixture(scope="module")
def strange():
    """Pieces that fit each other by chance."""
    return compatibility_of(random_features(np.random.default_rng(3), ROWS * COLUMNS), keep=5)


def board_of(compatibility, grid, memory):
    cells = np.pad(grid.astype(np.int32), 1, constant_values=OUTSIDE).ravel()
    places = np.empty(grid.size, dtype=np.int32)
    places[grid.ravel()] = np.flatnonzero(cells != OUTSIDE)
    seams = np.full((len(cells), 2), np.nan, dtype=np.float32)
    board = Board(cells, places, grid.shape[1] + 2, np.zeros(len(cells), dtype=np.int32), seams)
    note_all_costs(compatibility, board, memory)
    return board


def room_of(board):
    return Room(np.empty(32, dtype=np.int32), np.zeros(len(board.cells), dtype=np.int64), np.zeros(1, dtype=np.int64))


def nothing_found(count):
    return Found(np.zeros(count), *np.zeros((2, count, 2), dtype=np.int32))


def random_grid(seed):
    return np.random.default_rng(seed).permutation(ROWS * COLUMNS).reshape(ROWS, COLUMNS).astype(np.int32)


def cost(compatibility, grid):
    return cost_of_grid(compatibility.features, grid.shape[1], np.ascontiguousarray(grid, dtype=np.int32).ravel())


def with_rectangles_swapped(grid, one, other, height, width):
    """The obvious way; None if one is not in the frame, or they overlap."""
    cells = [
        [(top + down, left + right) for down in range(height) for right in range(width)] for top, left in (one, other)
    ]
    rows, columns = grid.shape
    if set(cells[0]) & set(cells[1]):
        return None
    if any(not (0 <= row < rows and 0 <= column < columns) for row, column in cells[0] + cells[1]):
        return None
    result = grid.copy()
    for first, second in zip(*cells, strict=True):
        result[first], result[second] = grid[second], grid[first]
    return result


def best_gain(compatibility, grid, piece):
    """The most that is gained by bringing a candidate that fits better to a side of a piece, in any rectangle."""
    best = 0.0
    [(row, column)] = np.argwhere(grid == piece)
    pairs = {
        (direction, other): cost(compatibility, np.array(pair if direction < 2 else pair[::-1]).reshape(shape))
        for direction, shape in enumerate(((1, 2), (2, 1), (1, 2), (2, 1)))
        for other in range(grid.size)
        for pair in [[piece, other]]
    }
    for direction, (down, right) in enumerate(((0, 1), (1, 0), (0, -1), (-1, 0))):
        goal = row + down, column + right
        if not (0 <= goal[0] < ROWS and 0 <= goal[1] < COLUMNS):
            continue
        for side in compatibility.candidates[4 * piece + direction]:
            wanted = side >> 2
            if pairs[direction, wanted] >= pairs[direction, grid[goal]]:
                continue
            [source] = np.argwhere(grid == wanted)
            for height, width in product(module.LENGTHS, repeat=2):
                for up, before in np.ndindex(height, width):
                    top, left = goal[0] - up, goal[1] - before
                    if top <= row < top + height and left <= column < left + width:
                        continue  # The piece itself lies on the other side of the edge.
                    there = (source[0] - up, source[1] - before)
                    other = with_rectangles_swapped(grid, (top, left), there, height, width)
                    if other is not None:
                        best = max(best, cost(compatibility, grid) - cost(compatibility, other))
    return best


def test_a_gain_is_what_the_whole_costs_less_and_the_board_stays(strange):
    random = np.random.default_rng(1)
    grid = random_grid(1)
    memory = empty_memory(grid.size, 4)
    board = board_of(strange, grid, memory)
    room, before = room_of(board), board.cells.copy()
    tried = 0
    for _ in range(300):
        height, width = random.choice(module.LENGTHS, 2)
        one, other = (random.integers(0, (ROWS, COLUMNS)) for _ in range(2))
        expected = with_rectangles_swapped(grid, tuple(one), tuple(other), height, width)
        if expected is None:
            continue
        corners = [np.int64((row + 1) * WIDTH + column + 1) for row, column in (one, other)]
        several = np.zeros(grid.size, dtype=np.bool_)
        pair = (strange.features, several, memory, board, room, *corners, height, width)
        gain = gain_of_swap(*pair, -np.inf)
        assert gain == pytest.approx(cost(strange, grid) - cost(strange, expected), abs=1e-3)
        assert gain_of_swap(*pair, gain - 1e-3) == gain
        assert gain_of_swap(*pair, gain + 1e-3) <= gain + 1e-3
        assert board.cells.tolist() == before.tolist()
        tried += 1
    assert tried > 50


@pytest.mark.parametrize("seed", range(3))
def test_the_best_of_all_rectangles_is_found(strange, seed):
    grid = random_grid(seed)
    memory = empty_memory(grid.size, 4)
    board = board_of(strange, grid, memory)
    pieces = np.random.default_rng(seed).permutation(grid.size)[:12]
    found = nothing_found(len(pieces))
    find_swaps(strange, board, memory, pieces, found, 2, 12)
    assert found.gains[:2].tolist() == [0, 0]
    for index in range(2, 12):
        expected = best_gain(strange, grid, pieces[index])
        assert found.gains[index] == pytest.approx(expected, abs=1e-3)
        corners = [(corner // WIDTH - 1, corner % WIDTH - 1) for corner in found.corners[index].tolist()]
        if expected > 0:
            other = with_rectangles_swapped(grid, *corners, *found.sizes[index])
            assert cost(strange, grid) - cost(strange, other) == pytest.approx(expected, abs=1e-3)
    assert (found.gains > 0).any()


def test_swaps_are_made_in_order_if_they_still_gain_enough(strange):
    grid = random_grid(4)
    memory = empty_memory(grid.size, 4)
    board = board_of(strange, grid, memory)
    found = nothing_found(grid.size)
    find_swaps(strange, board, memory, np.arange(grid.size), found, 0, grid.size)
    order = np.argsort(-found.gains, kind="stable")
    least = float(found.gains.max() / 4)
    expected = grid.copy()
    for index in order:
        corners = [(corner // WIDTH - 1, corner % WIDTH - 1) for corner in found.corners[index].tolist()]
        other = with_rectangles_swapped(expected, *corners, *found.sizes[index]) if found.gains[index] > 0 else None
        if other is not None and cost(strange, expected) - cost(strange, other) > least:
            expected = other
    changed = np.zeros(len(board.cells), dtype=np.bool_)
    make_swaps(strange, board, memory, found, order[found.gains[order] > 0], least, changed)
    cells = board.cells.reshape(-1, WIDTH)[1:-1, 1:-1]
    assert cells.tolist() == expected.tolist()
    assert changed.reshape(-1, WIDTH)[1:-1, 1:-1].tolist() == (cells != grid).tolist()
    assert not changed.reshape(-1, WIDTH)[[0, -1]].any()
    assert [board.cells[place] for place in board.places] == list(range(grid.size))
    noted = board.seams.copy()
    note_all_costs(strange, board, memory)
    np.testing.assert_array_equal(noted, board.seams)


def all_swapped(compatibility, grid, threads=2, least_gain=1e-6):
    memories = []
    with Threads(threads) as pool:
        return swapped(
            compatibility,
            np.ascontiguousarray(grid, dtype=np.int32),
            np.zeros(grid.size, dtype=np.int32),
            lambda: borrowed(memories, lambda: empty_memory(grid.size, 4)),
            least_gain,
            pool,
        )


@pytest.mark.parametrize("seed", range(4))
def test_no_piece_is_lost_and_the_cost_falls_as_long_as_a_swap_is_cheaper(strange, seed):
    grid = random_grid(seed)
    before = grid.copy()
    result = all_swapped(strange, grid)
    assert grid.tolist() == before.tolist()
    assert sorted(result.ravel()) == list(range(grid.size))
    assert cost(strange, result) < cost(strange, grid)
    # In so small a frame all is near what has changed.
    assert all_swapped(strange, result).tolist() == result.tolist()
    assert max(best_gain(strange, result, piece) for piece in range(0, grid.size, 5)) < 1e-3
    assert result.tolist() == all_swapped(strange, grid, threads=1).tolist()


@pytest.mark.parametrize(("height", "width"), [(1, 1), (2, 2), (4, 2), (2, 4), (4, 4)])
def test_rectangles_in_each_others_places_come_home(height, width):
    compatibility = compatibility_of(midline_seams(drawn_puzzle(10, 12)))
    right = np.arange(120).reshape(10, 12)
    wrong = with_rectangles_swapped(right, (1, 1), (5, 7), height, width)
    assert cost(compatibility, wrong) > cost(compatibility, right)
    assert all_swapped(compatibility, wrong).tolist() == right.tolist()
    much = cost(compatibility, wrong) - cost(compatibility, right) + 1
    assert all_swapped(compatibility, wrong, least_gain=much).tolist() == wrong.tolist()
