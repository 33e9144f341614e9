"""Pictures of runs: what was found beside the truth, with every wrong pair marked. Seeds repeat runs exactly."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..arrangement import Arrangement
from ..errors import InputError
from ..files import check_writable, make_folder
from ..history import Generation
from ..images import Picture, write_picture
from ..metrics import right_pairs
from ..puzzle import Puzzle
from ..result import Result
from ..solve import solve
from .results import COST_DIGITS, Run
from .sets import find_folders

MARK = np.array([255, 40, 40], dtype=np.uint8)


def better_than_perfect_pictures(
    runs: list[Run], images: Path, out: Path, *, overwrite: bool, max_megapixels: float | None = None
) -> Iterator[str]:
    """Solve the cheapest better-than-perfect run of each image again and write truth and solution side by side."""
    chosen: dict[tuple[str, str], Run] = {}
    for run in sorted(runs, key=lambda run: run.cost / max(run.true_cost, 1e-12)):
        if run.better_than_perfect:
            chosen.setdefault((run.set, run.image), run)
    if not chosen:
        raise InputError("no run in these results is better than perfect")
    folders = {folder.name: folder.path for folder in find_folders(images)}
    make_folder(out)
    for run in chosen.values():
        if run.set not in folders:
            raise InputError(f"there is no set {run.set!r} in {images}")
        path = out / f"{run.set}-{Path(run.image).stem}-seed{run.seed}.png"
        check_writable(path, overwrite=overwrite)
        result, truth = repeat(run, folders[run.set] / run.image, max_megapixels)
        write_picture(path, side_by_side(result.puzzle, truth, result.arrangement), overwrite=overwrite)
        yield (
            f"{path}: cost {result.cost:.1f} against the truth's {run.true_cost:.1f}, "
            f"neighbour {100 * run.neighbour:.2f} %, direct {100 * run.direct:.2f} %"
        )


def repeat(run: Run, image: Path, max_megapixels: float | None = None) -> tuple[Result, Arrangement]:
    """Solve again what a row tells of, until its cost is reached, and return the result and the truth."""
    chosen = run.chosen()
    width, height = map(int, chosen.pop("piece").split("x"))
    del chosen["time_limit"]
    whole = Puzzle.from_image(image, (width, height), crop=True, max_megapixels=max_megapixels)
    puzzle, truth = whole.shuffled(run.seed)

    def is_reached(generation: Generation) -> str | None:
        """A run that a limit of time has cut short ends where it did."""
        return "reached the cost of the run" if round(generation.best_cost, COST_DIGITS) <= run.cost else None

    return solve(puzzle, run.preset, seed=run.seed, stop=is_reached, **chosen), truth


def side_by_side(puzzle: Puzzle, truth: Arrangement, found: Arrangement) -> Picture:
    """Return the truth and, right of it, what was found, with every pair that is wrong marked by a red line."""
    true, marked = (np.asarray(puzzle.assemble(one).to_pillow().convert("RGB")).copy() for one in (truth, found))
    across, down = right_pairs(found, truth)
    height, width = puzzle.piece_height, puzzle.piece_width
    for row, column in zip(*np.nonzero(~across), strict=True):
        x = (column + 1) * width
        marked[row * height : (row + 1) * height, x - 1 : x + 1] = MARK
    for row, column in zip(*np.nonzero(~down), strict=True):
        y = (row + 1) * height
        marked[y - 1 : y + 1, column * width : (column + 1) * width] = MARK
    gap = np.full((true.shape[0], width, 3), 255, dtype=np.uint8)
    return Picture(np.concatenate([true, gap, marked], axis=1))
