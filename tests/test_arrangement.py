import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jigsolve import Arrangement, InputError


@st.composite
def arrangements(draw):
    rows, columns = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    order = draw(st.permutations(range(rows * columns)))
    return Arrangement(np.array(order).reshape(rows, columns))


@given(arrangements())
def test_json_gives_the_arrangement_back(arrangement):
    assert Arrangement.from_json(arrangement.to_json()) == arrangement
    assert Arrangement.from_dict(arrangement.to_dict()) == arrangement


def test_json_holds_plain_numbers():
    assert json.loads(Arrangement(np.array([[2, 0, 1]])).to_json()) == {
        "rows": 1,
        "columns": 3,
        "pieces": [[2, 0, 1]],
    }


def test_arrangements_are_equal_when_every_piece_lies_alike():
    one, same = Arrangement(np.array([[0, 1], [2, 3]])), Arrangement(np.array([[0, 1], [2, 3]], dtype=np.uint8))
    other, row = Arrangement(np.array([[0, 1], [3, 2]])), Arrangement(np.array([[0, 1, 2, 3]]))
    assert one == same
    assert hash(one) == hash(same)
    assert len({one, same, other, row}) == 3
    assert one != "an arrangement"


def test_an_arrangement_never_changes():
    grid = np.array([[0, 1], [2, 3]], dtype=np.int32)
    arrangement = Arrangement(grid)
    grid[0, 0] = 7
    assert arrangement.grid.tolist() == [[0, 1], [2, 3]]
    with pytest.raises(ValueError, match="read-only"):
        arrangement.grid[0, 0] = 1


def test_rows_and_columns_are_those_of_the_grid():
    arrangement = Arrangement(np.arange(6).reshape(2, 3))
    assert (arrangement.rows, arrangement.columns) == (2, 3)


@pytest.mark.parametrize("grid", [[[0, 0]], [[1, 2]], [[0, -1]], [[0, 2]], [[0, 1], [2, 2]], [[0, 2**40]]], ids=str)
def test_a_piece_that_is_missing_or_there_twice_is_refused(grid):
    with pytest.raises(InputError, match="must hold each of the pieces 0 to"):
        Arrangement(np.array(grid))


@pytest.mark.parametrize("grid", [[0, 1], [[[0]]], [[]], [[0.0, 1.0]], [[False, True]], [["0", "1"]]], ids=str)
def test_what_is_no_grid_of_whole_numbers_is_refused(grid):
    with pytest.raises(InputError, match="rows x columns grid of whole numbers"):
        Arrangement(np.array(grid))


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"rows": 1, "columns": 2},
        {"pieces": [[0, 1]]},
        {"rows": 2, "columns": 1, "pieces": [[0, 1]]},
        {"rows": 2, "columns": 2, "pieces": [[0, 1], [2]]},
        {"rows": 1, "columns": 2, "pieces": None},
        {"rows": 1, "columns": 2, "pieces": "01"},
        {"rows": 1, "columns": 2, "pieces": [[0, None]]},
        {"rows": 1, "columns": 2, "pieces": [[0, 10**400]]},
        {"rows": "1", "columns": "2", "pieces": [[0, 1]]},
        [[0, 1]],
        None,
        "text",
    ],
    ids=lambda data: str(data)[:40],
)
def test_other_data_is_refused(data):
    with pytest.raises(InputError):
        Arrangement.from_dict(data)
    with pytest.raises(InputError):
        Arrangement.from_json(json.dumps(data))


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "\0", "1" * 5000, '{"rows": 1'], ids=lambda text: text[:9])
def test_other_text_is_refused(text):
    with pytest.raises(InputError):
        Arrangement.from_json(text)
