from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jigsolve import (
    Arrangement,
    InputError,
    Puzzle,
    Score,
    direct_accuracy,
    largest_component,
    neighbour_accuracy,
    score,
    score_identical,
)
from jigsolve.metrics import ceiling
from tests.puzzles import drawing


def pairs(grid):
    """All (piece, side, neighbour) of a grid, looked up cell by cell."""
    found = set()
    for row, line in enumerate(grid):
        for column, piece in enumerate(line):
            if column + 1 < len(line):
                found.add((piece, "right", line[column + 1]))
            if row + 1 < len(grid):
                found.add((piece, "down", grid[row + 1][column]))
    return found


def slow_neighbour_accuracy(grid, truth):
    right = pairs(truth)
    return sum(pair in right for pair in pairs(grid)) / len(right) if right else 1.0


def slow_direct_accuracy(grid, truth):
    cells = [(row, column) for row in range(len(grid)) for column in range(len(grid[0]))]
    return sum(grid[row][column] == truth[row][column] for row, column in cells) / len(cells)


@st.composite
def two_arrangements(draw):
    """An arrangement and a truth; few swaps apart, for random ones have nothing in common."""
    rows, columns = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    truth = draw(st.permutations(range(rows * columns)))
    order = list(truth)
    for one, other in draw(st.lists(st.tuples(*[st.integers(0, rows * columns - 1)] * 2), max_size=4)):
        order[one], order[other] = order[other], order[one]
    shift = draw(st.integers(0, columns))
    grid = np.roll(np.array(order).reshape(rows, columns), shift, axis=1)
    return Arrangement(grid), Arrangement(np.array(truth).reshape(rows, columns))


@given(two_arrangements())
def test_accuracies_are_what_counting_gives(case):
    arrangement, truth = case
    grid, right = arrangement.grid.tolist(), truth.grid.tolist()
    assert neighbour_accuracy(arrangement, truth) == pytest.approx(slow_neighbour_accuracy(grid, right), abs=1e-12)
    assert direct_accuracy(arrangement, truth) == pytest.approx(slow_direct_accuracy(grid, right), abs=1e-12)
    assert score(arrangement, truth).perfect == (grid == right)


@pytest.mark.parametrize(("rows", "columns"), [(1, 5), (4, 2), (7, 6)])
def test_a_shift_by_one_column_has_no_piece_in_its_place_but_most_beside_their_neighbours(rows, columns):
    rng = np.random.default_rng(2)
    truth = rng.permutation(rows * columns).reshape(rows, columns)
    accuracy = score(Arrangement(np.roll(truth, 1, axis=1)), Arrangement(truth))
    # In every row, the one pair across the wrapped seam is wrong; nothing else is.
    number = rows * (columns - 1) + columns * (rows - 1)
    assert accuracy.direct == 0
    assert accuracy.neighbour == pytest.approx((number - rows) / number)
    assert not accuracy.perfect


def test_a_mirrored_pair_is_no_right_pair():
    truth = Arrangement(np.array([[0, 1]]))
    assert neighbour_accuracy(Arrangement(np.array([[1, 0]])), truth) == 0


def test_pieces_at_the_ends_of_two_rows_are_no_neighbours():
    truth = Arrangement(np.array([[0, 1, 2], [3, 4, 5]]))
    # 2 and 3 follow each other in the order of the pieces, but not in the picture.
    arrangement = Arrangement(np.array([[2, 3, 0], [1, 5, 4]]))
    assert neighbour_accuracy(arrangement, truth) == 0


def test_one_piece_is_always_right():
    one = Arrangement(np.array([[0]]))
    assert score(one, one) == Score(neighbour=1.0, direct=1.0)
    assert score(one, one).perfect


def test_the_truth_itself_is_perfect():
    truth = Arrangement(np.random.default_rng(1).permutation(12).reshape(3, 4))
    assert score(truth, truth).summary() == "neighbour 100.00 %, direct 100.00 %, perfect: yes"


def test_the_summary_has_two_places():
    assert Score(neighbour=2 / 3, direct=0.5).summary() == "neighbour 66.67 %, direct 50.00 %, perfect: no"


@pytest.mark.parametrize("measure", [neighbour_accuracy, direct_accuracy, score])
def test_frames_that_differ_are_refused(measure):
    wide, high = Arrangement(np.arange(6).reshape(2, 3)), Arrangement(np.arange(6).reshape(3, 2))
    with pytest.raises(InputError, match="of 2 x 3 and a truth of 3 x 2 do not belong together"):
        measure(wide, high)


def test_the_largest_component_hangs_together_by_right_neighbours():
    truth = Arrangement(np.arange(12).reshape(3, 4))
    assert largest_component(truth, truth) == 1.0
    # The left two columns and the right two changed places: two halves of six.
    assert largest_component(Arrangement(truth.grid[:, [2, 3, 0, 1]]), truth) == 0.5
    # One swap of far corners leaves the ten others together.
    grid = truth.grid.copy()
    grid[0, 0], grid[2, 3] = grid[2, 3], grid[0, 0]
    assert largest_component(Arrangement(grid), truth) == 10 / 12
    assert largest_component(Arrangement(np.array([[0]])), Arrangement(np.array([[0]]))) == 1.0


def naive_identical_neighbour(puzzle, arrangement, truth):
    """Count pairs one by one, taking each true pair away once it has served."""
    kind = [piece.tobytes() for piece in puzzle.pieces]

    def pairs(grid):
        across = [("across", kind[a], kind[b]) for row in grid for a, b in pairwise(row)]
        return across + [("down", kind[a], kind[b]) for column in grid.T for a, b in pairwise(column)]

    left = pairs(truth.grid)
    total = right = 0
    for pair in pairs(arrangement.grid):
        total += 1
        if pair in left:
            left.remove(pair)
            right += 1
    return right / total


@pytest.mark.parametrize("seed", range(5))
def test_identical_pieces_count_as_the_same_piece(seed):
    rng = np.random.default_rng(seed)
    colours = rng.integers(0, 4, size=(4, 5))
    puzzle, truth = Puzzle.from_array(np.kron(colours, np.ones((3, 3))).astype(np.uint8), 3).shuffled(seed)
    found = Arrangement(rng.permutation(20).reshape(4, 5))
    tolerant, strict = score_identical(puzzle.kinds, found, truth), score(found, truth)
    assert tolerant.neighbour == pytest.approx(naive_identical_neighbour(puzzle, found, truth))
    assert tolerant.direct == pytest.approx(np.mean(puzzle.pieces[found.grid] == puzzle.pieces[truth.grid]))
    assert tolerant.neighbour >= strict.neighbour
    # Any arrangement that shows the true picture is perfect.
    order = np.lexsort((rng.random(20), [piece[0, 0, 0] for piece in puzzle.pieces]))
    cells = np.argsort(np.lexsort((rng.random(20), colours.ravel())))
    assert score_identical(puzzle.kinds, Arrangement(order[cells].reshape(4, 5)), truth) == Score(1.0, 1.0)


def test_the_ceiling_counts_pieces_of_one_colour_as_wrong():
    pixels = drawing(24, 32)
    pixels[:8, :8] = 9
    puzzle, truth = Puzzle.from_array(pixels, 8).shuffled(1)
    limit = ceiling(puzzle, truth)
    assert limit.direct == pytest.approx(11 / 12)
    assert limit.neighbour == pytest.approx(15 / 17)
