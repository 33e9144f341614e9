"""What several commands of the command line share: types of arguments and groups of options."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import click

from .parameters import Measure, MutationUnit, Selection

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


def parameter_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add an option for every parameter of a preset; left out, the preset decides."""
    options = [
        click.option("--population", type=int, help="Arrangements in a generation."),
        click.option("--generations", type=int, help="Generations to make at most."),
        click.option("--elites", type=int, help="Best arrangements copied into the next generation."),
        click.option("--mutation-rate", type=float, help="Chance of a mutation, 0 to 1."),
        click.option(
            "--mutation-unit",
            type=click.Choice(get_args(MutationUnit)),
            help="What the mutation rate is the chance of.",
        ),
        click.option(
            "--selection",
            type=click.Choice(get_args(Selection)),
            help="How a cost becomes a chance to be a parent.",
        ),
        click.option("--measure", type=click.Choice(get_args(Measure)), help="How the fit of two sides is measured."),
        click.option("--candidates", type=int, help="Candidates kept of every side; changes only the time."),
    ]
    for option in reversed(options):
        command = option(command)
    return command
