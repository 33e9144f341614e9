"""Large puzzles with the whole command, from file to file, and where its time goes.

    python -m benchmarks.large --piece-size 14 [--preset paper] [--keep FOLDER] PICTURE ...

cuts each picture, solves it in a process of its own with the command that users run, and prints a line of a table: what
came out, the seconds and the memory of that process, and the seconds of each stage. `other` is the start of Python,
reading and writing. At the end it prints by which power of the number of pieces time and memory grow, if there were
pictures of several sizes.
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

from jigsolve import read_record, score, warm_up

STAGES = ("costs", "candidates", "evolve", "refine")
MEGAPIXELS = "1000"


def jigsolve(*arguments: str) -> tuple[float, float]:
    """Run a command; return its seconds and the most gigabytes it held."""
    begin = perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "jigsolve", *arguments, "--max-megapixels", MEGAPIXELS])
    _, status, used = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"jigsolve {arguments[0]} ended with {os.waitstatus_to_exitcode(status)}")
    return perf_counter() - begin, used.ru_maxrss * 1024 / 1e9


def measure(picture: Path, size: str, preset: str, folder: Path) -> dict[str, float]:
    """Solve a picture's puzzle; return the columns of its line."""
    names = ("puzzle.png", "truth.json", "solved.png", "result.json")
    puzzle, truth, solved, result = (folder / f"{picture.stem}-{size}-{name}" for name in names)
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
    parser.add_argument("--keep", type=Path, help="a folder for puzzles and results, which stay there")
    options = parser.parse_args()
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
    if len({line["pieces"] for line in lines}) > 1:
        print("\npowers: " + ", ".join(f"{name} {power:.2f}" for name, power in powers(lines).items()))


if __name__ == "__main__":
    main()
