"""Small things that messages share: checks that return the value or say what is wrong with it, and plurals."""

import operator

from .errors import InputError

MOST_SEED = 2**64 - 1


def whole_number(name: str, value: object, least: int, most: int | None = None) -> int:
    """Return a whole number as an int, NumPy's kinds included."""
    limits = f"of at least {least}" if most is None else f"from {least} to {most}"
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or number < least or (most is not None and number > most):
        raise InputError(f"{name} must be a whole number {limits}, not {value!r}")
    return number


def seed_number(value: object) -> int:
    """Return a seed."""
    return whole_number("seed", value, 0, MOST_SEED)


def one_of(name: str, value: str, choices: tuple[str, ...]) -> str:
    """Return a value that must be one of some."""
    if value not in choices:
        raise InputError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
    return value


def count(number: int, noun: str) -> str:
    """Return a number of things in words: "1 piece", "2 pieces"."""
    return f"{number} {noun}{'s' * (number != 1)}"
