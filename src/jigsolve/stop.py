"""Stopping rules: functions of the latest generation, or part of the refinement, that say why to stop, or None.

They hold no state, so one rule serves any number of solves. `a | b` stops when either does, `a & b` when both do.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from .checks import count
from .errors import InputError
from .history import EVOLVE, Generation


@runtime_checkable
class StoppingRule(Protocol):
    """Anything that looks at a generation and returns why to stop, or None."""

    def __call__(self, generation: Generation, /) -> str | None:
        """Return why to stop after this generation, or None to go on."""


class _Combinable:
    """Lets rules be joined with | and &."""

    def __or__(self, other: StoppingRule) -> "AnyOf":
        return AnyOf((self, other))  # type: ignore[arg-type]

    def __and__(self, other: StoppingRule) -> "AllOf":
        return AllOf((self, other))  # type: ignore[arg-type]


@dataclass(frozen=True)
class MaxGenerations(_Combinable):
    """Stop after a number of generations; parts of the refinement are none."""

    generations: int

    def __post_init__(self) -> None:
        if self.generations < 0:
            raise InputError(f"generations must be at least 0, not {self.generations}")

    def __call__(self, generation: Generation, /) -> str | None:
        """Return why to stop after this generation, or None to go on."""
        reached = generation.stage == EVOLVE and generation.number >= self.generations
        return f"reached {count(self.generations, 'generation')}" if reached else None


@dataclass(frozen=True)
class MaxSeconds(_Combinable):
    """Stop after the first generation or part of the refinement that ends later than this since the solve began."""

    seconds: float

    def __post_init__(self) -> None:
        if not self.seconds > 0:
            raise InputError(f"a limit of time must be more than 0 seconds, not {self.seconds}")

    def __call__(self, generation: Generation, /) -> str | None:
        """Return why to stop after this generation, or None to go on."""
        return f"reached {self.seconds:g} seconds" if generation.seconds >= self.seconds else None


@dataclass(frozen=True)
class NoImprovement(_Combinable):
    """Stop when the best cost has not fallen for a number of generations and parts of the refinement."""

    generations: int

    def __post_init__(self) -> None:
        if self.generations < 1:
            raise InputError(f"generations without improvement must be at least 1, not {self.generations}")

    def __call__(self, generation: Generation, /) -> str | None:
        """Return why to stop after this generation, or None to go on."""
        reason = f"no improvement for {count(self.generations, 'generation')}"
        return reason if generation.stale >= self.generations else None


@dataclass(frozen=True)
class AnyOf(_Combinable):
    """Stop when one of several rules says so."""

    rules: tuple[StoppingRule, ...]

    def __call__(self, generation: Generation, /) -> str | None:
        """Return why to stop after this generation, or None to go on."""
        return next((reason for rule in self.rules if (reason := rule(generation))), None)


@dataclass(frozen=True)
class AllOf(_Combinable):
    """Stop when all of several rules say so."""

    rules: tuple[StoppingRule, ...]

    def __call__(self, generation: Generation, /) -> str | None:
        """Return why to stop after this generation, or None to go on."""
        reasons = [rule(generation) for rule in self.rules]
        return " and ".join(reason for reason in reasons if reason) if all(reasons) else None
