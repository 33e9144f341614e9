"""What several commands of the command line share: types of arguments and groups of options."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import click

from .checkpoint import check_every
from .parameters import PRESETS, Greedy, Measure, MutationUnit, Selection

OutputPath = click.Path(path_type=Path)


class PieceSizeType(click.ParamType[tuple[int, int]]):
    """`28`, or `51x27` for width x height."""

    name = "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        """Return (width, height)."""
        if isinstance(value, tuple):
            return value
        try:
            width, *height = map(int, str(value).lower().split("x", maxsplit=1))
            return width, height[0] if height else width
        except ValueError:
            self.fail(f"{value!r} is not a piece size; write 28, or 51x27 for width x height", param, ctx)


PIECE_SIZE_TYPE = PieceSizeType()

max_megapixels_option = click.option(
    "--max-megapixels",
    type=click.FloatRange(min=0, min_open=True),
    help="Largest picture to unpack, as a small file can claim to be huge; raise it for files you trust.  [179]",
)


class DurationType(click.ParamType[float]):
    """`90` or `90s` for seconds, `5m` for minutes, `1h` for hours."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return seconds."""
        text = str(value).strip().lower()
        number, unit = (text[:-1], text[-1]) if text[-1:] in UNITS else (text, "s")
        try:
            return check_every(float(number) * UNITS[unit])
        except ValueError:
            self.fail(f"{value!r} is not a time; write 90, 90s, 5m or 1h", param, ctx)


UNITS = {"s": 1, "m": 60, "h": 3600}


class MemoryType(click.ParamType[int]):
    """`4GB`, `500MB`, or a number of bytes."""

    name = "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return bytes."""
        text = str(value).strip().upper().removesuffix("B")
        number, unit = (text[:-1], SIZES[text[-1]]) if text[-1:] in SIZES else (text, 1)
        try:
            size = float(number) * unit
        except ValueError:
            size = 0.0
        if not 1 <= size < math.inf:
            self.fail(f"{value!r} is not a size of memory; write 4GB or 500MB", param, ctx)
        return int(size)


SIZES = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
MEMORY_TYPE = MemoryType()
DURATION_TYPE = DurationType()

PARAMETERS: dict[str, tuple[Any, str]] = {
    "population": (int, "Arrangements in a generation; `best` has twice as many for up to 5,000 pieces."),
    "generations": (int, "Generations to make at most."),
    "elites": (int, "Best arrangements copied into the next generation."),
    "mutation_rate": (float, "Chance of a mutation, 0 to 1."),
    "mutation_unit": (click.Choice(get_args(MutationUnit)), "What the mutation rate is the chance of."),
    "selection": (click.Choice(get_args(Selection)), "How a cost becomes a chance to be a parent."),
    "greedy": (click.Choice(get_args(Greedy)), "What a piece must fit where the parents give no advice."),
    "measure": (click.Choice(get_args(Measure)), "How the fit of two sides is measured."),
    "candidates": (int, "Candidates kept of every side."),
    "patience": (int, "Generations without improvement that end evolution; 0: none do."),
    "effort": (int, "Refinement from 1 to 10, each step twice as long; 0: none."),
}


def parameter_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add an option for every parameter of a preset; left out, the preset decides."""
    for name, (kind, text) in reversed(PARAMETERS.items()):
        values = ", ".join(f"{preset}: {getattr(parameters, name)}" for preset, parameters in PRESETS.items())
        command = click.option(f"--{name.replace('_', '-')}", type=kind, help=f"{text}  [{values}]")(command)
    return command
