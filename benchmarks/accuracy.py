"""Accuracy over folders of photographs, one run an image.

python -m benchmarks.accuracy DIR/cho_432 DIR/mcgill_540 -o benchmarks/results/accuracy-paper.csv
"""

import csv
from pathlib import Path
from typing import Any

import click

from jigsolve import Puzzle, __version__, score, solve
from jigsolve.images import READABLE_SUFFIXES

COLUMNS = ("set", "image", "pieces", "seed", "neighbour", "direct", "perfect", "cost", "seconds", "version", "options")


@click.command(help=__doc__)
@click.argument("folders", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("-o", "--out", type=click.Path(dir_okay=False, path_type=Path), help="Append rows to this CSV file.")
@click.option("--piece-size", default=28, show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option("--preset", default="paper", show_default=True)
@click.option("--option", "options", multiple=True, metavar="NAME=VALUE", help="Change a parameter of the preset.")
def main(
    folders: tuple[Path, ...], out: Path | None, piece_size: int, seed: int, preset: str, options: tuple[str, ...]
) -> None:
    changes = dict(_parse(option) for option in options)
    for folder in folders:
        rows = []
        for path in sorted(path for path in folder.iterdir() if path.suffix.lower() in READABLE_SUFFIXES):
            puzzle, truth = Puzzle.from_image(path, piece_size, crop=True).shuffled(seed)
            result = solve(puzzle, preset, seed=seed, **changes)
            accuracy = score(result.arrangement, truth)
            rows.append(
                {
                    "set": folder.name,
                    "image": path.name,
                    "pieces": len(puzzle),
                    "seed": seed,
                    "neighbour": round(accuracy.neighbour, 6),
                    "direct": round(accuracy.direct, 6),
                    "perfect": int(accuracy.perfect),
                    "cost": round(result.cost, 3),
                    "seconds": round(result.seconds["total"], 3),
                    "version": __version__,
                    "options": " ".join((preset, *options)),
                }
            )
            if out is not None:
                _append(out, rows[-1])
        print(_average(folder.name, rows), flush=True)


def _parse(option: str) -> tuple[str, Any]:
    name, _, value = option.partition("=")
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            continue
    return name, value


def _append(out: Path, row: dict[str, Any]) -> None:
    new = not out.exists()
    with out.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)


def _average(name: str, rows: list[dict[str, Any]]) -> str:
    mean = {key: sum(row[key] for row in rows) / len(rows) for key in ("neighbour", "direct", "seconds")}
    perfect = sum(row["perfect"] for row in rows)
    return (
        f"{name}: neighbour {100 * mean['neighbour']:.2f} %, direct {100 * mean['direct']:.2f} %, "
        f"perfect {perfect} of {len(rows)}, {mean['seconds']:.2f} s an image ({rows[0]['options']})"
    )


if __name__ == "__main__":
    main()
