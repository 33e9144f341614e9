"""What a solve will need of memory, told before it starts.

All of it grows with the number of pieces, never with its square. Each part below is the size of the arrays that the
room of that name makes, so a change there that adds an array is to be added here; a test compares the sum with what a
solve really takes.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from .compatibility.context import MEMORY_BITS
from .compatibility.costs import HEAD
from .compatibility.likeness_costs import COLUMNS
from .compatibility.lists import MARGIN
from .compatibility.products import TILE_COLUMNS, TILE_ROWS
from .compatibility.ramp_costs import NUMBERS, SUMMARY, VARIATES
from .compatibility.seam_costs import line_stride
from .compatibility.trace_costs import BLOCK, COEFFICIENTS, COLOUR_COEFFICIENTS, EDGE
from .errors import InputError
from .genetic.algorithm import CELL_MEMORY_BITS
from .genetic.crossover import workspace_bytes
from .parameters import SMALL_PUZZLE, Parameters
from .puzzle import Puzzle
from .refine.rounds import refinement_bytes

GIGABYTE = 10**9
# The interpreter, the libraries and the compiled kernels.
BASE = 300 * 10**6
# No population of a preset is made smaller than this: with fewer, evolution ends too early.
LEAST_POPULATION = 50


@dataclass(frozen=True)
class Need:
    """Bytes by what they are for. Of stages, which free what they took, only the greatest counts."""

    pixels: int
    features: int
    candidates: int
    evolve: int
    refine: int

    @property
    def total(self) -> int:
        """The most at any time."""
        return BASE + self.pixels + self.features + max(self.candidates, self.evolve, self.refine)


def need_of(puzzle: Puzzle, parameters: Parameters, threads: int) -> Need:
    """Return what a solve of a puzzle will need."""
    pieces = len(puzzle)
    length = max(puzzle.piece_height, puzzle.piece_width)
    keep = min(parameters.candidates, pieces - 1)
    seams = parameters.measure not in ("lab", "lab-raw")
    # Of ramps there are two columns more than numbers.
    factors = 2 * (3 * length + 13 + NUMBERS + 2) if seams else 3 * length + 2
    side = 3 * line_stride(length) * 2 + 15 * 4 if seams else 3 * length * 4
    # Most sides have one row of shares; those of flat pieces up to MOST_PLAUSIBLE.
    shares = 2 * COEFFICIENTS * (length // BLOCK) + 4 * COLOUR_COEFFICIENTS * (length // BLOCK)
    # Keys of both kinds of blocks, and colours along a side; variates of a side, a quarter of what sums its piece up,
    # and half a sheet.
    summed_up = 4 * VARIATES + 2 * SUMMARY + 2 * COLUMNS
    traces = shares + 64 + EDGE + summed_up if parameters.measure == "traces" else 0
    features = 4 * pieces * (side + traces + 4 * HEAD + 8 * keep + 16)
    # Colours as floats while features are made; the factors of two directions, half of them as sizes besides, and again
    # those of sides that are looked at again.
    making = 4 * pieces * length * 3 * 8 * 4
    products = 3 * pieces * (factors * 4 + factors * 2)
    lists = 2 * pieces * (keep + MARGIN) * 8 + TILE_ROWS * TILE_COLUMNS * 4
    in_cells = parameters.greedy == "cell"
    bits = CELL_MEMORY_BITS if in_cells else 0
    # Lists as they are judged in context and before; costs that each thread remembers, and the loops that it finds.
    context = pieces * (2 * 4 * 8 * keep + 96 + threads * ((32 << MEMORY_BITS) + 96 + 12)) if in_cells else 0
    # Hypotheses about segments as they are proposed, in order, and with all that is known of them.
    segments = pieces * (3 * 4 * 8 * keep + 256) if in_cells and pieces > SMALL_PUZZLE else 0
    return Need(
        pixels=2 * puzzle.pieces.nbytes,  # And the picture that they came from or go to.
        features=features,
        candidates=max(making, products + lists, context, segments),
        evolve=population_bytes(parameters.population, pieces)
        + threads * workspace_bytes(pieces, puzzle.rows, puzzle.columns, bits),
        refine=refinement_bytes(pieces, puzzle.columns, threads) if parameters.effort > 0 else 0,
    )


def population_bytes(population: int, pieces: int) -> int:
    """Return what the parents and the children of a generation take."""
    return 2 * population * (4 * pieces + 8)


def fitted(
    puzzle: Puzzle, parameters: Parameters, threads: int, memory: int, *, population_is_free: bool
) -> Parameters:
    """Return parameters with which the solve needs no more than `memory` bytes.

    Where the population is nobody's wish it is made as small as needed.

    Raises
    ------
    InputError
        If the solve cannot fit.
    """
    need = need_of(puzzle, parameters, threads)
    if need.total <= memory:
        return parameters
    if population_is_free:
        spare = need.evolve - population_bytes(parameters.population, len(puzzle))
        left = memory - BASE - need.pixels - need.features - spare
        population = left // population_bytes(1, len(puzzle))
        smaller = replace(parameters, population=max(population, min(LEAST_POPULATION, parameters.population)))
        if need_of(puzzle, smaller, threads).total <= memory:
            return smaller
    stage = max(("candidates", "evolve", "refine"), key=lambda name: getattr(need, name))
    change = {
        "candidates": "larger pieces or fewer candidates",
        "evolve": "a smaller population or fewer threads",
        "refine": "effort 0",
    }[stage]
    raise InputError(
        f"{len(puzzle):,} pieces need about {need.total / GIGABYTE:.1f} GB, and the budget is "
        f"{memory / GIGABYTE:.1f} GB: allow more memory, or try {change}"
    )


def half_of_free_memory() -> int | None:
    """Return half the bytes that are free on this machine, or None where the system does not say."""
    free = [size for size in (_available(), _left_in_group()) if size is not None]
    return min(free) // 2 if free else None


def _available() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


def _left_in_group() -> int | None:
    """Return what a container's limit leaves."""
    try:
        most = int(Path("/sys/fs/cgroup/memory.max").read_text())
        return max(0, most - int(Path("/sys/fs/cgroup/memory.current").read_text()))
    except (OSError, ValueError):  # No group, or "max".
        return None
