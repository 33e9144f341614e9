"""Large puzzles with the whole command, from file to file, and where its time goes.

    python -m benchmarks.large --piece-size 14 [--preset paper] [--keep FOLDER] [--map MAP.png] PICTURE ...

cuts each picture, solves it in a process of its own with the command that users run, and prints a line of a table: what
came out, the seconds and the memory of that process, and the seconds of each stage. `other` is the start of Python,
reading and writing. At the end it prints by which power of the number of pieces time and memory grow, if there were
pictures of several sizes.

The map is the puzzle before and after, one pixel a piece, in colours that tell where in the picture the piece belongs:
a picture of any puzzle, whoever owns the photograph, on which one piece in a wrong place shows.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

from jigsolve import Picture, read_record, score, warm_up, write_picture

STAGES = ("costs", "candidates", "evolve", "refine")
MEGAPIXELS = "1000"
WAVES = 12
GAP = 12


def jigsolve(*arguments: str) -> tuple[float, float]:
    """Run a command; return its seconds and the most gigabytes it held."""
    begin = perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "jigsolve", *arguments, "--max-megapixels", MEGAPIXELS])
    _, status, used = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"jigsolve {arguments[0]} ended with {os.waitstatus_to_exitcode(status)}")
    return perf_counter() - begin, used.ru_maxrss * 1024 / 1e9


def paths_of(picture: Path, size: str, folder: Path) -> list[Path]:
    """Return where the puzzle, the truth, the solution and its record lie."""
    names = ("puzzle.png", "truth.json", "solved.png", "result.json")
    return [folder / f"{picture.stem}-{size}-{name}" for name in names]


def measure(picture: Path, size: str, preset: str, folder: Path) -> dict[str, float]:
    """Solve a picture's puzzle; return the columns of its line."""
    puzzle, truth, solved, result = paths_of(picture, size, folder)
    if not puzzle.exists():
        jigsolve("cut", str(picture), "-o", str(puzzle), "--piece-size", size, "--truth", str(truth), "-q")
    options = ("--piece-size", size, "--preset", preset, "--json", str(result), "--force")
    seconds, gigabytes = jigsolve("solve", str(puzzle), "-o", str(solved), *options)
    stages = json.loads(result.read_text())["seconds"]
    true = read_record(truth).arrangement
    right = score(read_record(result).arrangement, true)
    return {
        "pieces": float(true.grid.size),
        "neighbour": 100 * right.neighbour,
        "direct": 100 * right.direct,
        "seconds": seconds,
        "GB": gigabytes,
        **{stage: stages.get(stage, 0.0) for stage in STAGES},
        "other": seconds - stages["total"],
    }


def draw_map(truth: Path, result: Path, path: Path) -> None:
    """Draw where the pieces belong, as they lie in the puzzle and in the solution, side by side."""
    true, found = (read_record(record).arrangement.grid for record in (truth, result))
    rows, columns = true.shape
    row, column = np.mgrid[:rows, :columns]
    waves = 127.5 + 127.5 * np.sin(2 * np.pi * (row + column) / (max(rows, columns) / WAVES))
    belongs = np.stack([255 * column / columns, 255 * row / rows, waves], axis=2).astype(np.uint8)
    colours = np.empty((true.size, 3), dtype=np.uint8)
    colours[true.ravel()] = belongs.reshape(-1, 3)
    between = np.full((rows, GAP, 3), 255, dtype=np.uint8)
    before, after = colours[np.arange(true.size)].reshape(rows, columns, 3), colours[found]
    write_picture(path, Picture(np.concatenate([before, between, after], axis=1)))


def powers(lines: list[dict[str, float]]) -> dict[str, float]:
    """Return the power of the number of pieces that each column grows by: the slope of the logarithms."""
    pieces = np.log([line["pieces"] for line in lines])
    columns = [name for name in lines[0] if name not in ("pieces", "neighbour", "direct")]
    return {name: float(np.polyfit(pieces, np.log([line[name] for line in lines]), 1)[0]) for name in columns}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pictures", nargs="+", type=Path)
    parser.add_argument("--piece-size", default="28")
    parser.add_argument("--preset", default="best")
    parser.add_argument("--map", type=Path, help="a PNG to draw of the last puzzle, before and after")
    parser.add_argument("--keep", type=Path, help="a folder for puzzles and results, which stay there")
    options = parser.parse_args()
    if options.map and options.map.exists():
        parser.error(f"{options.map} exists already; choose another name")
    warm_up(options.preset)
    lines: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for picture in options.pictures:
            line = measure(picture, options.piece_size, options.preset, folder)
            if not lines:
                print("| picture | " + " | ".join(line) + " |\n" + "|---" * (len(line) + 1) + "|")
            print(f"| {picture.name} | {line['pieces']:,.0f} | ", end="")
            print(" | ".join(f"{value:.2f}" for name, value in line.items() if name != "pieces") + " |", flush=True)
            lines.append(line)
        if options.map:
            _, truth, _, result = paths_of(options.pictures[-1], options.piece_size, folder)
            draw_map(truth, result, options.map)
    if len({line["pieces"] for line in lines}) > 1:
        print("\npowers: " + ", ".join(f"{name} {power:.2f}" for name, power in powers(lines).items()))


if __name__ == "__main__":
    main()
