"""What a checkpoint costs at the size of large puzzles: `python -m benchmarks.saving [FOLDER]`."""

import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

from jigsolve import Arrangement, Checkpoint, Parameters, Puzzle, read_checkpoint
from jigsolve.checkpoint import write_checkpoint
from jigsolve.genetic.algorithm import Evolution
from jigsolve.genetic.population import Population
from jigsolve.history import EVOLVE, Generation

# Rows, columns and population.
SIZES = ((123, 185, 1000), (370, 738, 200))
PIECE = 28
TIMES = 5


def example(rows: int, columns: int, size: int) -> Checkpoint:
    """A run in its hundredth generation, of noise."""
    rng, pieces = np.random.default_rng(1), rows * columns
    pixels = rng.integers(0, 256, size=(pieces, PIECE, PIECE, 3), dtype=np.uint8)
    grids = np.argsort(rng.random((size, pieces), dtype=np.float32), axis=1).astype(np.int32)
    return Checkpoint(
        puzzle=Puzzle(pixels, rows, columns),
        preset="paper",
        parameters=Parameters(population=size),
        seed=1,
        history=tuple(Generation(number, EVOLVE, 1.5, 2.5, 0.1, 0.2, 0.7, 1.0, 0) for number in range(100)),
        bests=(Arrangement(grids[0].reshape(rows, columns)),),
        state=Evolution(99, Population(grids, rng.random(size)), np.zeros(3, dtype=np.int64)),
    )


def main() -> None:
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        path = Path(folder) / "run.checkpoint"
        for rows, columns, size in SIZES:
            checkpoint = example(rows, columns, size)
            seconds = []
            for _ in range(TIMES):
                start = perf_counter()
                write_checkpoint(path, checkpoint, overwrite=True)
                seconds.append(perf_counter() - start)
            start = perf_counter()
            read_checkpoint(path)
            print(
                f"{rows * columns} pieces, {size} arrangements: {path.stat().st_size / 1e6:.0f} MB, saved in "
                f"{sorted(seconds)[TIMES // 2]:.2f} s ({min(seconds):.2f} to {max(seconds):.2f}, {TIMES} times), "
                f"read in {perf_counter() - start:.2f} s"
            )


if __name__ == "__main__":
    main()
