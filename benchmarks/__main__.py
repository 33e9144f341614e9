"""How fast it is: a table of the figures that matter, with the machine they were measured on.

make bench                        on the photograph that comes along
make bench IMAGES=DIR             on cho_432/ and sholomon_5015/ in DIR
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import click
from rich.console import Console
from rich.table import Table

from benchmarks.puzzles import CASES, puzzle_of
from jigsolve import Puzzle, Result, __version__, sample_picture, solve, warm_up, write_picture
from jigsolve.machine import describe_machine

REPEATS = 3


@click.command(help=__doc__)
@click.option("--images", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Folder of image sets.")
def main(images: Path | None) -> None:
    table = Table(title=f"jigsolve {__version__}, {describe_machine()}")
    for column in ("what", "measured", "wanted"):
        table.add_column(column)
    console = Console()
    with console.status("measuring (about five minutes)"):
        warm_up("paper")
        for row in measurements(images):
            console.print("  ".join(row))
            table.add_row(*row)
    console.print(table)


def measurements(images: Path | None) -> Iterator[tuple[str, str, str]]:
    """Yield (what, measured, wanted)."""
    yield "import, over NumPy", spread(import_seconds(), "s"), "< 0.5 s"
    yield "jigsolve solve, 100 pieces, warm", spread(command_seconds(REPEATS), "s"), "< 3 s"
    yield "added by the first run ever", spread(first_run_seconds(), "s"), "< 20 s"
    small, large = (puzzle_of(case, images) for case in CASES)
    runs = {threads: [] for threads in (1, 2)}  # type: dict[int, list[Result]]
    for _ in range(REPEATS):  # Alternating, so that a busy moment hits both.
        for threads, results in runs.items():
            results.append(solve(small, "paper", threads=threads))
    yield (
        f"{len(small)} pieces, 1000 x 100, two threads",
        spread([total(r) for r in runs[2]], "s"),
        "< 5 s (paper: 48.7 s)",
    )
    yield f"{len(small)} pieces, a placement, a core", spread([nanoseconds(r, 1) for r in runs[1]], "ns"), "< 150 ns"
    ratios = [evolve(one) / evolve(two) for one, two in zip(runs[1], runs[2], strict=True)]
    yield f"{len(small)} pieces, two threads against one", spread(ratios, "x"), "> 1.8 x"
    big = solve(large, "paper", threads=2)
    yield f"{len(large)} pieces, 1000 x 100, two threads", spread([total(big)], "s"), "< 120 s (paper: 3,664 s)"
    yield f"{len(large)} pieces, a placement, a core", spread([nanoseconds(big, 2)], "ns"), "< 300 ns"
    for stage in ("costs", "candidates"):
        yield f"{len(large)} pieces, {stage}", spread([big.seconds[stage]], "s"), ""


def total(result: Result) -> float:
    return result.seconds["total"]


def evolve(result: Result) -> float:
    return result.seconds["evolve"]


def nanoseconds(result: Result, threads: int) -> float:
    """Return what one placement takes of one core, all of the evolution counted."""
    children = result.generations * (result.parameters.population - result.parameters.elites)
    return 1e9 * evolve(result) * threads / (children * len(result.puzzle))


def import_seconds() -> list[float]:
    return [python_seconds("import jigsolve") - python_seconds("import numpy") for _ in range(2 * REPEATS)]


def python_seconds(code: str) -> float:
    return run_seconds([sys.executable, "-c", code])


def command_seconds(repeats: int, **environment: str) -> list[float]:
    """Return how long the command takes on a puzzle of 100 pieces."""
    with tempfile.TemporaryDirectory() as folder:
        puzzle = Path(folder) / "puzzle.png"
        shuffled = Puzzle.from_array(sample_picture().pixels[:280, :280], 28).shuffled(1)[0]
        write_picture(puzzle, shuffled.assemble(shuffled.as_given()))
        command = [sys.executable, "-m", "jigsolve", "solve", str(puzzle), "-o", f"{folder}/solved.png", "--force"]
        return [run_seconds(command, **environment) for _ in range(repeats)]


def first_run_seconds() -> list[float]:
    """Return what the first run takes more than the second, with an empty cache of compiled kernels."""
    cache = tempfile.mkdtemp()
    try:
        cold, warm = (command_seconds(1, NUMBA_CACHE_DIR=cache)[0] for _ in range(2))
    finally:
        shutil.rmtree(cache)
    return [cold - warm]


def run_seconds(command: list[str], **environment: str) -> float:
    start = perf_counter()
    subprocess.run(command, env={**os.environ, **environment}, check=True, capture_output=True)
    return perf_counter() - start


def spread(values: list[float], unit: str) -> str:
    """Return the median, and the range where there is one."""
    text = f"{statistics.median(values):.3g} {unit}"
    return text if len(values) == 1 else f"{text} ({min(values):.3g} to {max(values):.3g}, {len(values)} times)"


if __name__ == "__main__":
    main()
