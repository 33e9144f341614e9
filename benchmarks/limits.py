"""How far the stages of preset `best` are from what the machine allows, on a picture.

    python -m benchmarks.limits PICTURE [--piece-size 28]

measures, on one core where nothing else is said, the work that each stage consists of, and beside it the least that the
machine needs for it: floating-point operations at the rate of a large matrix product, bytes at the rate at which a tile
can be summed up, and random reads at the rate of independent ones. Fastest of several; run it on a machine at rest.
"""

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jigsolve import Puzzle, warm_up
from jigsolve._access import uncounted
from jigsolve._jit import kernel
from jigsolve.compatibility.costs import cost_of, squared_distance
from jigsolve.compatibility.lists import Nearest, collect_by_column, collect_by_row
from jigsolve.compatibility.products import TILE_COLUMNS, TILE_ROWS, factors_of
from jigsolve.compatibility.seam_costs import line_stride
from jigsolve.compatibility.seams import midline_seams

from .kernels import fastest

PAIRS = 500_000
FEW = 64
LINE = 64


@kernel
def cost_all(features: Any, sides: Any, others: Any) -> float:
    features, total = uncounted(features), 0.0
    for index in range(len(sides)):
        total += cost_of(features, squared_distance(features, sides[index], others[index]))
    return total


@kernel
def read_all(values: Any, places: Any) -> int:
    total = 0
    for place in places:
        total += values[place]
    return total


@kernel
def follow(links: Any, steps: int) -> int:
    place = 0
    for _ in range(steps):
        place = links[place]
    return place


def random_reads(size: int, rng: np.random.Generator) -> tuple[float, float]:
    """Return the nanoseconds of a read anywhere in so many bytes: of independent ones, and of one after the other."""
    lines = size // LINE
    order = rng.permutation(lines)
    links = np.zeros(lines * LINE // 8, dtype=np.int64)
    links[order * LINE // 8] = np.roll(order, -1) * LINE // 8
    places = rng.integers(0, lines, PAIRS) * LINE // 8
    independent = fastest(lambda: read_all(links, places))
    return independent / PAIRS, fastest(lambda: follow(links, PAIRS)) / PAIRS


def product_rates(left: NDArray[np.float32], right: NDArray[np.float32]) -> tuple[float, float]:
    """Return the gigaflops of the product of a tile, and of a large one, on all cores."""
    large = np.ones((3000, 3000), dtype=np.float32)

    def rate(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
        room = np.empty((len(one), len(other)), dtype=np.float32)
        return 2 * room.size * one.shape[1] / fastest(lambda: np.matmul(one, other.T, out=room))

    return rate(left, right), rate(large, large)


def collecting_rates(tile: NDArray[np.float32]) -> tuple[float, float]:
    """Return the gigabytes a second of collecting from a tile whose entries are not among the best, and of summing."""

    def collect() -> None:
        for collect_by, length in ((collect_by_row, tile.shape[0]), (collect_by_column, tile.shape[1])):
            lists = Nearest(np.full((length, 40), -1e30, np.float32), np.zeros((length, 40), np.int32))
            collect_by(tile, 0, 0, lists, 0, length)

    return 2 * tile.nbytes / fastest(collect), tile.nbytes / fastest(tile.sum)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--piece-size", type=int, default=28)
    options = parser.parse_args()
    warm_up()
    puzzle = Puzzle.from_image(options.picture, options.piece_size, crop=True)
    features = midline_seams(puzzle)
    rng = np.random.default_rng(1)

    left, right = factors_of(features, 0)
    rows, columns = left.values[:TILE_ROWS], right.values[:TILE_COLUMNS]
    found, possible = product_rates(rows, columns)
    print("| what | measured | the machine's | share |\n|---|---|---|---|")
    print(f"| product of a tile, all cores | {found:.0f} Gflop/s | {possible:.0f} Gflop/s | {found / possible:.0%} |")
    found, possible = collecting_rates(np.abs(rows @ columns.T))
    print(f"| collecting from a tile | {found:.1f} GB/s | {possible:.1f} GB/s | {found / possible:.0%} |")

    nanoseconds = {}
    for pieces in (FEW, len(puzzle)):
        sides, others = (4 * rng.integers(0, pieces, PAIRS) + direction for direction in (0, 2))
        nanoseconds[pieces] = fastest(partial(cost_all, features, sides, others)) / PAIRS
    side = 3 * 2 * line_stride(options.piece_size) + 4 * features.weights.shape[1]
    lines = 2 * -(-side // LINE)
    independent, dependent = random_reads(features.lines.nbytes + features.weights.nbytes, rng)
    least = max(lines * independent, nanoseconds[FEW])
    print(
        f"| a cost of pieces anywhere | {nanoseconds[len(puzzle)]:.0f} ns | {least:.0f} ns: {lines} cache lines, each "
        f"{independent:.1f} ns if independent and {dependent:.0f} ns one after the other; {nanoseconds[FEW]:.0f} ns "
        f"among {FEW} pieces | {least / nanoseconds[len(puzzle)]:.0%} |"
    )


if __name__ == "__main__":
    main()
