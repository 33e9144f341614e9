import io
import json

import numpy as np
import pytest
from PIL import Image

from jigsolve import Arrangement, Puzzle, __version__, arrangement_cost, solve
from jigsolve import result as result_module
from jigsolve.compatibility.candidates import find_candidates
from jigsolve.compatibility.seams import midline_seams
from jigsolve.threads import Threads
from tests import naive
from tests.puzzles import drawn_puzzle


@pytest.fixture(scope="module")
def result():
    puzzle, _ = drawn_puzzle(4, 5).shuffled(seed=1)
    return solve(puzzle, seed=9, population=12, generations=3, mutation_rate=0.1, effort=1)


@pytest.fixture(scope="module")
def result_of_paper():
    puzzle, _ = drawn_puzzle(4, 5).shuffled(seed=1)
    return solve(puzzle, "paper", seed=9, population=12, generations=3)


def test_it_tells_everything_in_json(result):
    data = json.loads(result.to_json())
    assert Arrangement.from_dict(data["arrangement"]) == result.arrangement
    assert data["puzzle"] == result.puzzle.digest
    assert (data["seed"], data["preset"], data["version"]) == (9, "best", __version__)
    assert (data["generations"], data["stopped"]) == (3, "no improvement in a round of refinement")
    assert data["parameters"] == result.parameters.to_dict()
    assert data["parameters"]["mutation_rate"] == 0.1
    assert data["cost"] == result.cost
    assert set(data["seconds"]) == {"costs", "candidates", "evolve", "refine", "total"}
    assert "tiles" not in data


def test_without_refinement_it_tells_of_none(result_of_paper):
    data = json.loads(result_of_paper.to_json())
    assert (data["generations"], data["stopped"]) == (3, "reached 3 generations")
    assert set(data["seconds"]) == {"costs", "candidates", "evolve", "total"}


@pytest.mark.parametrize("which", ["result", "result_of_paper"])
def test_its_seconds_add_up(which, request):
    result = request.getfixturevalue(which)
    stages = [seconds for name, seconds in result.seconds.items() if name != "total"]
    assert min(stages) >= 0
    assert sum(stages) == pytest.approx(result.seconds["total"])


def test_its_summary_and_its_representation_are_short(result):
    first, second, third = result.summary().splitlines()
    assert first == "20 pieces, 4 rows x 5 columns, preset best, seed 9"
    assert second == f"cost {result.cost:.2f} after 3 generations (no improvement in a round of refinement)"
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


def test_generations_are_those_of_evolution(result):
    assert [generation.stage for generation in result.history[:4]] == 4 * ["evolve"]
    assert {generation.stage for generation in result.history[4:]} == {"refine"}
    assert result.generations == 3


def test_its_cost_is_that_of_its_arrangement(result, result_of_paper):
    assert arrangement_cost(result.puzzle, result.arrangement) == result.cost
    assert arrangement_cost(result.puzzle, result.arrangement, "midline") == result.cost
    assert arrangement_cost(result_of_paper.puzzle, result_of_paper.arrangement, "lab") == result_of_paper.cost
    costs = {arrangement_cost(result.puzzle, result.arrangement, m) for m in ("lab", "lab-raw", "mgc", "midline")}
    assert len(costs) == 4


def test_it_knows_how_many_neighbours_are_certain(result):
    puzzle = result.puzzle
    with Threads(1) as threads:
        buddies = find_candidates(midline_seams(puzzle), 32, threads, frame=(puzzle.rows, puzzle.columns)).buddies
    grid = result.arrangement.grid
    pairs = [
        buddies[piece, direction] == naive.neighbour(grid, piece, direction)
        for piece in range(len(puzzle))
        for direction in (naive.RIGHT, naive.DOWN)
        if naive.neighbour(grid, piece, direction) is not None
    ]
    assert 0 < result.certain_share == sum(pairs) / len(pairs)
    assert solve(Puzzle.from_array(np.zeros((8, 8), dtype=np.uint8), 8), population=6).certain_share == 1
