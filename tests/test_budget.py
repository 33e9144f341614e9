import subprocess
import sys
from dataclasses import replace

import pytest

from jigsolve import InputError, solve
from jigsolve.budget import BASE, LEAST_POPULATION, fitted, half_of_free_memory, need_of, population_bytes
from jigsolve.parameters import parameters_of
from tests.puzzles import drawn_puzzle

MEASURE = """
import sys, numpy as np, jigsolve
from jigsolve.budget import need_of
from jigsolve.machine import peak_memory_megabytes
from jigsolve.parameters import parameters_of
preset, rows, size, changes = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), eval(sys.argv[4])
jigsolve.warm_up(preset)
pixels = np.random.default_rng(1).integers(0, 256, (rows * size, rows * size, 3), dtype=np.uint8)
puzzle = jigsolve.Puzzle.from_array(pixels, size)
jigsolve.solve(puzzle, preset, threads=2, generations=1, **changes)
print(need_of(puzzle, parameters_of(preset, **changes), 2).total / 2**20, peak_memory_megabytes())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere peak memory is not what arrays take")
@pytest.mark.parametrize(
    ("preset", "rows", "size", "changes"),
    [
        ("best", 40, 14, {"population": 20, "effort": 1}),  # Refining takes the most,
        ("best", 70, 14, {"population": 4000, "effort": 0}),  # the population,
        ("paper", 60, 40, {"population": 20}),  # the candidates,
        ("best", 70, 8, {"population": 20, "effort": 0, "candidates": 300}),  # or their context.
    ],
)
def test_a_solve_takes_what_was_foretold(preset, rows, size, changes):
    # Compiled by a process of its own, as the compiler's memory is not the solve's.
    subprocess.run([sys.executable, "-c", f"import jigsolve; jigsolve.warm_up({preset!r})"], check=True, timeout=500)
    command = [sys.executable, "-c", MEASURE, preset, str(rows), str(size), repr(changes)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=500)
    foretold, taken = map(float, done.stdout.split())
    assert 0.5 * foretold < taken < foretold


def test_a_population_that_nobody_asked_for_is_made_to_fit():
    puzzle, parameters = drawn_puzzle(6, 7), parameters_of("best", effort=0)
    need = need_of(puzzle, parameters, 1)
    # Room for half the population, if its stage were the greatest; of so small a puzzle the candidates are greater.
    greedy = replace(parameters, population=10**6)
    least = need_of(puzzle, replace(greedy, population=LEAST_POPULATION), 1).total
    memory = least + population_bytes(1000, len(puzzle))
    smaller = fitted(puzzle, greedy, 1, memory, population_is_free=True)
    assert LEAST_POPULATION < smaller.population < 10**6
    assert need_of(puzzle, smaller, 1).total <= memory
    assert need_of(puzzle, replace(smaller, population=smaller.population + 1), 1).total > memory
    assert fitted(puzzle, parameters, 1, need.total, population_is_free=False) is parameters


def test_what_cannot_fit_is_refused_with_the_figures_and_a_way_out():
    puzzle, parameters = drawn_puzzle(6, 7), parameters_of("best", population=10**6, effort=0)
    with pytest.raises(InputError, match=r"42 pieces need about 0\.[67] GB, and the budget is 0\.3 GB: .* population"):
        fitted(puzzle, parameters, 1, 300 * 10**6, population_is_free=False)
    with pytest.raises(InputError, match=r"the budget is 0\.0 GB"):
        fitted(puzzle, parameters_of("best"), 1, 10**6, population_is_free=True)


def test_solve_keeps_to_the_budget_it_is_given():
    puzzle = drawn_puzzle(3, 4)
    with pytest.raises(InputError, match="allow more memory"):
        solve(puzzle, memory=BASE)
    with pytest.raises(InputError, match="memory must be a whole number of at least 1, not -5"):
        solve(puzzle, memory=-5)
    assert solve(puzzle, memory=2**40, generations=1, effort=0).parameters.population == 200


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody is asked")
def test_free_memory_is_told():
    assert 2**20 < half_of_free_memory() < 2**50
