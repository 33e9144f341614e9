"""The JSON files that leave the program: truths and results, and whether two of them belong together."""

import json
from dataclasses import dataclass
from pathlib import Path

from .arrangement import Arrangement
from .errors import InputError
from .puzzle import Puzzle
from .result import RESULT_FORMAT

TRUTH_FORMAT = "jigsolve-truth"


@dataclass(frozen=True)
class Record:
    """An arrangement read from a file, and the digest of the puzzle it is of."""

    path: Path
    arrangement: Arrangement
    puzzle: str
    is_truth: bool
    kinds: tuple[int, ...] = ()
    """For a truth of a puzzle with identical pieces: a number a piece, the same for pieces with the same pixels."""


def truth_to_json(puzzle: Puzzle, truth: Arrangement, seed: int) -> str:
    """Return where each piece of a shuffled puzzle belongs, and which pieces are identical, as JSON text."""
    data = {
        "format": TRUTH_FORMAT,
        "puzzle": puzzle.digest,
        "piece_width": puzzle.piece_width,
        "piece_height": puzzle.piece_height,
        "shuffle_seed": seed,
        "arrangement": truth.to_dict(),
    }
    kinds = puzzle.kinds
    if kinds.max() + 1 < len(puzzle):
        data["kinds"] = kinds.tolist()
    return json.dumps(data, indent=1)


def read_record(path: str | Path) -> Record:
    """Read the arrangement in a truth or result file.

    Raises
    ------
    InputError
        If the file cannot be read or is neither.
    """
    path = Path(path)
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON") from error
    if not isinstance(data, dict) or data.get("format") not in (TRUTH_FORMAT, RESULT_FORMAT):
        raise InputError(f"{path} is neither a result nor a truth that jigsolve wrote")
    try:
        arrangement = Arrangement.from_dict(data.get("arrangement", {}))
        kinds = _kinds(data.get("kinds", []), arrangement)
        return Record(path, arrangement, str(data.get("puzzle")), data["format"] == TRUTH_FORMAT, kinds)
    except InputError as error:
        raise InputError(f"{path} is damaged: {error}") from error


def _kinds(kinds: object, arrangement: Arrangement) -> tuple[int, ...]:
    whole = isinstance(kinds, list) and all(type(kind) is int for kind in kinds)
    if not whole or len(kinds) not in (0, arrangement.grid.size):  # type: ignore[arg-type]
        raise InputError("its kinds are not one number a piece")
    return tuple(kinds)  # type: ignore[arg-type]


def check_belong_together(result: Record, truth: Record) -> None:
    """Refuse a truth that is none, and two files that are not of the same puzzle."""
    one, other = result, truth
    if not truth.is_truth:
        raise InputError(f"{truth.path} is a result, not a truth: give the file that jigsolve cut --truth wrote")
    if one.puzzle != other.puzzle:
        raise InputError(f"{one.path} and {other.path} do not belong together: they are of different puzzles")
