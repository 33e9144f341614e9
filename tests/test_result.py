import io
import json

import numpy as np
import pytest
from PIL import Image

from jigsolve import Arrangement, Puzzle, __version__, arrangement_cost, solve
from jigsolve import result as result_module
from tests.puzzles import drawn_puzzle


@pytest.fixture(scope="module")
def result():
    puzzle, _ = drawn_puzzle(4, 5).shuffled(seed=1)
    return solve(puzzle, seed=9, population=12, generations=3, mutation_rate=0.1)


def test_it_tells_everything_in_json(result):
    data = json.loads(result.to_json())
    assert Arrangement.from_dict(data["arrangement"]) == result.arrangement
    assert data["puzzle"] == result.puzzle.digest
    assert (data["seed"], data["preset"], data["version"]) == (9, "paper", __version__)
    assert (data["generations"], data["stopped"]) == (3, "reached 3 generations")
    assert data["parameters"] == result.parameters.to_dict()
    assert data["parameters"]["mutation_rate"] == 0.1
    assert data["cost"] == result.cost
    assert set(data["seconds"]) == {"costs", "candidates", "evolve", "total"}
    assert "tiles" not in data


def test_its_seconds_add_up(result):
    stages = [seconds for name, seconds in result.seconds.items() if name != "total"]
    assert min(stages) >= 0
    assert sum(stages) == pytest.approx(result.seconds["total"])


def test_its_summary_and_its_representation_are_short(result):
    first, second, third = result.summary().splitlines()
    assert first == "20 pieces, 4 rows x 5 columns, preset paper, seed 9"
    assert second == f"cost {result.cost:.2f} after 3 generations (reached 3 generations)"
    assert third.endswith("s)")
    assert len(repr(result)) < 200
    assert repr(result.arrangement) == "Arrangement(4 x 5)"


def test_numbers_of_one_are_singular():
    puzzle = Puzzle.from_array(np.zeros((8, 8), dtype=np.uint8), 8)
    first, second, _ = solve(puzzle, population=6, generations=1).summary().splitlines()
    assert first.startswith("1 piece, 1 row x 1 column, ")
    assert second.endswith("after 1 generation (reached 1 generation)")


def test_a_notebook_shows_the_picture(result, monkeypatch):
    shown = Image.open(io.BytesIO(result._repr_png_()))
    np.testing.assert_array_equal(np.asarray(shown), result.to_image().pixels)
    monkeypatch.setattr(result_module, "LARGEST_SHOWN", 20)
    assert Image.open(io.BytesIO(result._repr_png_())).size == (20, 16)


def test_its_cost_is_that_of_its_arrangement(result):
    assert arrangement_cost(result.puzzle, result.arrangement) == result.cost
    assert arrangement_cost(result.puzzle, result.arrangement, "lab-raw") != result.cost
