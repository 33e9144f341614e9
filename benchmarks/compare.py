"""The speed of this tree against another commit, in one run: alternating, as ratios, with their spread.

make bench BASE=COMMIT [IMAGES=DIR]
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from benchmarks.puzzles import CASES, puzzle_of
from jigsolve import write_picture

ROOT = Path(__file__).parent.parent
ROUNDS = 5

# Runs in each tree by itself, so it uses nothing but what every version has.
SOLVE = """
import json, sys
from jigsolve import Puzzle, solve
path, size, generations = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
puzzle = Puzzle.from_image(path, size)
solve(puzzle, "paper", generations=1)  # Compiles the kernels.
result = solve(puzzle, "paper", generations=generations)
print(json.dumps({**result.seconds, "cost": result.cost}))
"""


@click.command(help=__doc__)
@click.argument("base")
@click.option("--images", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Folder of image sets.")
@click.option("--rounds", default=ROUNDS, show_default=True)
def main(base: str, images: Path | None, rounds: int) -> None:
    table = Table(title=f"seconds of {base} / seconds of this tree: above 1 this tree is faster")
    for column in ("pieces", "stage", "this tree (s)", "ratio (median)", "range", "same cost"):
        table.add_column(column)
    with checkout(base) as other, tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            puzzle = puzzle_of(case, images)
            path = Path(folder) / f"{case.name}.png"
            write_picture(path, puzzle.assemble(puzzle.as_given()))
            arguments = [str(path), str(puzzle.piece_width), str(case.generations)]
            pairs = []
            for _ in range(rounds):  # Alternating, so that a busy moment hits both.
                pairs.append((run(other, arguments), run(ROOT, arguments)))
                print(".", end="", flush=True, file=sys.stderr)
            for stage in ("candidates", "evolve", "total"):
                table.add_row(str(len(puzzle)), stage, *ratios(pairs, stage))
    Console().print(table)


def ratios(pairs: list[tuple[dict[str, float], dict[str, float]]], stage: str) -> tuple[str, str, str, str]:
    values = [before[stage] / max(after[stage], 1e-9) for before, after in pairs]
    same = all(before["cost"] == after["cost"] for before, after in pairs)
    seconds = statistics.median(after[stage] for _, after in pairs)
    spread = f"{min(values):.2f} to {max(values):.2f}, {len(values)} times"
    return f"{seconds:.2f}", f"{statistics.median(values):.2f}", spread, "yes" if same else "no"


@contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """Check a commit out beside the tree for as long as it is needed."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        git("worktree", "add", "--detach", "--quiet", str(tree), commit)
        try:
            yield tree
        finally:
            git("worktree", "remove", "--force", str(tree))


def git(*arguments: str) -> None:
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise click.ClickException(done.stderr.strip())


def run(tree: Path, arguments: list[str]) -> dict[str, float]:
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    command = [sys.executable, "-c", SOLVE, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=tree)
    if done.returncode != 0:
        raise click.ClickException(f"{tree} cannot solve: {done.stderr.strip().splitlines()[-1]}")
    return dict(json.loads(done.stdout))


if __name__ == "__main__":
    main()
