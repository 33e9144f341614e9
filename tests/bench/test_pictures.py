import numpy as np
import pytest

from jigsolve import Arrangement, InputError, Picture, Puzzle, score, write_picture
from jigsolve.bench.pictures import MARK, better_than_perfect_pictures, repeat, side_by_side
from jigsolve.bench.runner import Task, run_task
from tests.bench.runs import a_run
from tests.puzzles import drawing, drawn_puzzle


def test_wrong_pairs_are_marked_and_right_ones_are_not():
    puzzle = drawn_puzzle(2, 3)
    truth = puzzle.as_given()
    perfect = side_by_side(puzzle, truth, truth).pixels
    np.testing.assert_array_equal(perfect[:, :24], puzzle.assemble(truth).pixels)
    np.testing.assert_array_equal(perfect[:, 32:], puzzle.assemble(truth).pixels)
    swapped = Arrangement(np.array([[0, 1, 5], [3, 4, 2]]))
    marked = side_by_side(puzzle, truth, swapped).pixels[:, 32:]
    assert (marked[:8, 15:17] == MARK).all()
    assert (marked[7:9, 16:24] == MARK).all()
    assert not (marked[:8, 7:9] == MARK).all()


@pytest.mark.parametrize(
    ("preset", "changes", "time_limit"),
    [
        ("paper", (("generations", 3), ("population", 10)), None),
        ("best", (("effort", 1), ("population", 10)), None),
        # In the middle of evolution, and of the refinement.
        ("best", (("patience", 0), ("generations", 10_000), ("population", 10)), 0.2),
        ("best", (("effort", 10), ("generations", 1), ("population", 10)), 0.5),
    ],
)
def test_a_row_is_enough_to_repeat_its_run(tmp_path, preset, changes, time_limit):
    write_picture(tmp_path / "a.png", Picture(drawing(48, 64)))
    run = run_task(Task("mine", tmp_path / "a.png", 8, 8, 5, preset, changes, time_limit, 1, 1, ""))
    assert (run.stopped == f"reached {time_limit} seconds") == (time_limit is not None)
    result, truth = repeat(run, tmp_path / "a.png")
    assert round(result.cost, 4) == run.cost
    assert round(score(result.arrangement, truth).neighbour, 6) == run.neighbour


def test_pictures_are_made_of_the_cheapest_better_than_perfect_run_of_each_image(tmp_path):
    photo = drawing(48, 64)
    (tmp_path / "images" / "mine").mkdir(parents=True)
    write_picture(tmp_path / "images" / "mine" / "a.png", Picture(photo))
    task = Task("mine", tmp_path / "images" / "mine" / "a.png", 8, 8, 1, "paper", (("generations", 2),), None, 1, 1, "")
    better = a_run(set="mine", image="a.png", parameters=task.parameters, cost=1.0, true_cost=2.0)
    worse = a_run(set="mine", image="b.png", cost=3.0, true_cost=2.0)
    said = list(better_than_perfect_pictures([better, worse], tmp_path / "images", tmp_path / "out", overwrite=False))
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine-a-seed1.png"]
    assert len(said) == 1
    assert Puzzle.from_image(tmp_path / "out" / "mine-a-seed1.png", 8).columns == 17
    with pytest.raises(InputError, match="no run in these results is better than perfect"):
        list(better_than_perfect_pictures([worse], tmp_path / "images", tmp_path / "out", overwrite=False))
