import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jigsolve import Arrangement, InputError, Score, direct_accuracy, neighbour_accuracy, score


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
