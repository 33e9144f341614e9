import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jigsolve import (
    Arrangement,
    InputError,
    MaxSeconds,
    NoImprovement,
    Puzzle,
    sample_picture,
    score,
    solve,
    warm_up,
)
from jigsolve.compatibility.costs import SCALE
from jigsolve.compatibility.lab import lab_features
from tests import naive
from tests.puzzles import drawing, drawn_puzzle

QUICK = {"population": 30, "generations": 8}


def trajectory(result):
    """Everything of a result that must not depend on time or threads."""
    return result.arrangement.grid.tolist(), [replace(generation, seconds=0.0) for generation in result.history]


def test_a_photograph_is_put_back_together():
    puzzle, truth = Puzzle.from_image(sample_picture(), 64, crop=True).shuffled(seed=3)
    result = solve(puzzle, population=200, generations=20)
    assert score(result.arrangement, truth).perfect
    assert result.puzzle is puzzle
    assert result.generations == 20
    assert result.stopped == "reached 20 generations"
    np.testing.assert_array_equal(result.to_image().pixels, sample_picture().pixels[:576, :512])


def test_the_same_seed_gives_the_same_trajectory_on_any_number_of_threads():
    puzzle, _ = drawn_puzzle(6, 7).shuffled(seed=1)
    results = [trajectory(solve(puzzle, seed=5, threads=threads, **QUICK)) for threads in (1, 2, 4)]
    assert results[0] == results[1] == results[2]
    assert trajectory(solve(puzzle, seed=6, **QUICK)) != results[0]


def test_the_number_of_candidates_changes_only_the_time():
    puzzle, _ = drawn_puzzle(6, 7).shuffled(seed=1)
    few, many = (trajectory(solve(puzzle, candidates=candidates, **QUICK)) for candidates in (1, 41))
    assert few == many


def test_two_solves_at_once_do_not_meet():
    puzzles = [drawn_puzzle(5, 6, size).shuffled(seed=1)[0] for size in (6, 7, 8, 9)]
    alone = [trajectory(solve(puzzle, **QUICK)) for puzzle in puzzles]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda puzzle: trajectory(solve(puzzle, **QUICK)), puzzles))
    assert together == alone


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**64 - 1))
def test_any_small_puzzle_ends_with_every_piece_once_and_the_recomputed_cost(rows, columns, width, height, seed):
    puzzle, _ = drawn_puzzle(rows, columns, width, height).shuffled(seed=2)
    result = solve(puzzle, seed=seed, population=6, generations=3, elites=2)
    assert sorted(result.arrangement.grid.ravel()) == list(range(rows * columns))
    squares = naive.all_costs(lab_features(puzzle))
    assert result.cost == pytest.approx(naive.grid_cost(squares, result.arrangement.grid, SCALE), rel=1e-5, abs=1e-9)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 2), (2, 1), (1, 12), (12, 1)])
def test_frames_of_one_row_or_column(rows, columns):
    photo = sample_picture().pixels[100 : 100 + 40 * rows, : 40 * columns]
    puzzle, truth = Puzzle.from_array(photo, 40).shuffled(seed=4)
    result = solve(puzzle, population=100, generations=10)
    assert score(result.arrangement, truth).perfect


def test_identical_pieces_are_no_trouble():
    puzzle = Puzzle.from_array(np.tile(drawing(8, 8), (4, 5, 1)), 8)
    result = solve(puzzle, **QUICK)
    assert sorted(result.arrangement.grid.ravel()) == list(range(20))


def test_a_picture_of_one_colour_costs_nothing():
    result = solve(Puzzle.from_array(np.full((24, 32), 200, dtype=np.uint8), 8), **QUICK)
    assert result.cost == 0
    assert result.history[-1].mean_cost == 0


@pytest.mark.parametrize("elites", [0, 1, 29])
def test_the_best_cost_never_rises(elites):
    puzzle, _ = drawn_puzzle(5, 6).shuffled(seed=1)
    result = solve(puzzle, elites=elites, **QUICK)
    costs = [generation.best_cost for generation in result.history]
    assert costs == sorted(costs, reverse=True)
    assert result.cost == costs[-1]


def test_the_history_counts_generations_shares_and_staleness():
    puzzle, _ = drawn_puzzle(4, 5).shuffled(seed=1)
    result = solve(puzzle, population=100, generations=12)
    assert [generation.number for generation in result.history] == list(range(13))
    first, *bred = result.history
    assert (first.agreed_share, first.buddy_share, first.greedy_share) == (0, 0, 0)
    for before, after in zip(result.history, bred, strict=False):
        assert after.agreed_share + after.buddy_share + after.greedy_share == pytest.approx(1)
        assert after.stale == (0 if after.best_cost < before.best_cost else before.stale + 1)
        assert after.seconds >= before.seconds
    assert bred[0].greedy_share > bred[-1].greedy_share


def test_no_improvement_counts_afresh_after_every_improvement():
    puzzle, _ = drawn_puzzle(5, 6).shuffled(seed=1)
    result = solve(puzzle, population=60, generations=200, stop=NoImprovement(4))
    assert result.stopped == "no improvement for 4 generations"
    assert result.history[-1].stale == 4
    assert max(generation.stale for generation in result.history[:-1]) < 4


def test_a_time_limit_ends_the_run():
    puzzle, _ = drawn_puzzle(5, 6).shuffled(seed=1)
    result = solve(puzzle, generations=10**6, stop=MaxSeconds(0.3))
    assert result.stopped == "reached 0.3 seconds"
    assert result.history[-1].seconds >= 0.3
    assert all(generation.seconds < 0.3 for generation in result.history[:-1])


def test_a_callback_sees_every_generation_and_can_stop():
    puzzle, _ = drawn_puzzle(5, 6).shuffled(seed=1)
    seen = []

    def callback(progress):
        seen.append(progress)
        return progress.generation.number == 3

    result = solve(puzzle, callback=callback, **QUICK)
    assert result.stopped == "stopped by the callback"
    assert tuple(progress.generation for progress in seen) == result.history
    assert [progress.generation.number for progress in seen] == [0, 1, 2, 3]
    assert isinstance(seen[0].best, Arrangement)
    assert seen[-1].best == result.arrangement


def test_an_interrupt_returns_the_best_so_far():
    puzzle, _ = drawn_puzzle(5, 6).shuffled(seed=1)

    def interrupt(progress):
        if progress.generation.number == 2:
            raise KeyboardInterrupt

    result = solve(puzzle, callback=interrupt, **QUICK)
    assert result.stopped == "interrupted"
    assert result.generations == 2


def test_an_error_in_a_callback_comes_through():
    puzzle, _ = drawn_puzzle(3, 3).shuffled(seed=1)
    with pytest.raises(ZeroDivisionError):
        solve(puzzle, callback=lambda progress: 1 / 0, **QUICK)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"population": 4}, "population of 4 must be larger than its 4 elites"),
        ({"preset": "quick"}, "no preset 'quick'"),
        ({"seed": -1}, "not -1"),
        ({"seed": 2**64}, "not 18446744073709551616"),
        ({"threads": 0}, "threads must be at least 1, not 0"),
        ({"mutation_rate": 1.5}, "not 1.5"),
        ({"selection": "tournament"}, "not 'tournament'"),
        ({"measure": "mgc"}, "not 'mgc'"),
    ],
)
def test_impossible_options_are_refused_by_name_and_value(options, message):
    with pytest.raises(InputError, match=message):
        solve(drawn_puzzle(2, 2), **options)


def test_mutation_of_every_placement_keeps_the_population_apart():
    puzzle, _ = drawn_puzzle(5, 6).shuffled(seed=1)
    calm, wild = (
        solve(puzzle, population=60, generations=15, mutation_rate=0.5, mutation_unit=unit).history[-1]
        for unit in ("child", "placement")
    )
    assert wild.mean_cost > 1.5 * calm.mean_cost


# Pinned so that a change of the algorithm, of its random numbers or of the costs is never made by accident. When it is
# made on purpose, print the new values and say in the change log why results differ from those of earlier versions.
GOLDEN_COSTS = [291.654532, 183.735112, 124.596937, 100.388841, 100.388841, 100.388841, 100.388841]
GOLDEN_GRID = [
    [21, 3, 14, 4, 18, 19],
    [28, 2, 20, 22, 17, 7],
    [16, 26, 23, 6, 1, 15],
    [24, 29, 9, 0, 25, 13],
    [10, 8, 12, 27, 5, 11],
]


def test_golden_run():
    puzzle, _ = drawn_puzzle(5, 6).shuffled(seed=1)
    result = solve(puzzle, population=40, generations=6, seed=2026)
    assert [generation.best_cost for generation in result.history] == pytest.approx(GOLDEN_COSTS, rel=1e-6)
    assert result.arrangement.grid.tolist() == GOLDEN_GRID


KERNEL_MODULES = ("costs.py", "candidates.py", "crossover.py", "population.py", "random.py")
SMALL_SOLVE = """
import json
import numpy as np
from jigsolve import Puzzle, solve
from tests.puzzles import drawing, drawn_puzzle
puzzle, _ = drawn_puzzle(4, 5).shuffled(seed=1)
identical = Puzzle.from_array(np.tile(drawing(8, 8), (4, 5, 1)), 8)
results = [
    solve(p, population=12, generations=4, threads=1, mutation_rate=0.5, mutation_unit=unit, candidates=keep)
    for p, unit, keep in ((puzzle, "child", 1), (puzzle, "placement", 32), (identical, "child", 1))
]
print(json.dumps([(r.arrangement.grid.tolist(), r.cost) for r in results]))
"""


def test_without_the_compiler_the_result_is_the_same_and_every_line_of_the_kernels_is_seen(tmp_path):
    def run(*python, **environment):
        # Unsigned integers wrap round on purpose; only the interpreter warns of it.
        command = [sys.executable, "-W", "ignore::RuntimeWarning", *python]
        return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=True)

    compiled = run("-c", SMALL_SOLVE).stdout
    script = tmp_path / "small_solve.py"
    script.write_text("import sys; sys.path.insert(0, '.')\n" + SMALL_SOLVE)
    data = f"--data-file={tmp_path / 'coverage'}"
    interpreted = run("-m", "coverage", "run", data, str(script), NUMBA_DISABLE_JIT="1").stdout
    assert json.loads(interpreted) == json.loads(compiled)

    report = tmp_path / "report.json"
    run("-m", "coverage", "json", data, "-o", str(report))
    files = json.loads(report.read_text())["files"]
    missing = {
        name: summary["missing_lines"]
        for name, summary in files.items()
        if name.endswith(KERNEL_MODULES) and summary["summary"]["percent_covered"] < 90
    }
    assert sum(name.endswith(KERNEL_MODULES) for name in files) == len(KERNEL_MODULES)
    assert not missing


def test_warming_up_can_be_repeated():
    assert warm_up() is None
    assert warm_up() is None
