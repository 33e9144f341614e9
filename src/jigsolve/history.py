"""One record a generation and a part of the refinement, and the table of them."""

import csv
import io
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from typing import Any

from .errors import InputError

EVOLVE, REFINE = "evolve", "refine"


@dataclass(frozen=True)
class Generation:
    """What happened in one generation. Number 0 is the random population; parts of the refinement are counted on.

    The shares are the fractions of placements made in each phase of the crossover: agreed by both parents, best buddy
    in one of them, greedy. In the refinement, which places nothing anew, they are zero.
    """

    number: int
    stage: str
    """"evolve" or "refine"."""
    best_cost: float
    mean_cost: float
    """Of the population, or of what is being refined."""
    agreed_share: float
    buddy_share: float
    greedy_share: float
    seconds: float
    """Since the solve began."""
    stale: int
    """How many generations ago the best cost last fell."""


def to_csv(history: Iterable[Generation]) -> str:
    """Return a history as CSV text, one line a generation, floats in full."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(field.name for field in fields(Generation))
    writer.writerows(astuple(generation) for generation in history)
    return text.getvalue()


def from_csv(text: str) -> tuple[Generation, ...]:
    """Read what `to_csv` wrote."""
    try:
        rows = csv.DictReader(io.StringIO(text), strict=True)
        if rows.fieldnames != [field.name for field in fields(Generation)]:
            raise ValueError(f"its columns are {rows.fieldnames}")
        return tuple(_from_row(row) for row in rows)
    except (csv.Error, TypeError, ValueError) as error:
        raise InputError(f"not a history: {error}") from error


def _from_row(row: dict[str, str]) -> Generation:
    values: dict[str, Any] = {field.name: field.type(row[field.name]) for field in fields(Generation)}  # type: ignore[operator]
    return Generation(**values)
