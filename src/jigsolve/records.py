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


def truth_to_json(puzzle: Puzzle, truth: Arrangement, seed: int) -> str:
    """Return where each piece of a shuffled puzzle belongs, as JSON text."""
    return json.dumps(
        {
            "format": TRUTH_FORMAT,
            "puzzle": puzzle.digest,
            "piece_width": puzzle.piece_width,
            "piece_height": puzzle.piece_height,
            "shuffle_seed": seed,
            "arrangement": truth.to_dict(),
        },
        indent=1,
    )


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
        raise InputError(f"{path} is not JSON: {error}") from error
    if not isinstance(data, dict) or data.get("format") not in (TRUTH_FORMAT, RESULT_FORMAT):
        raise InputError(f"{path} is neither a result nor a truth that jigsolve wrote")
    try:
        return Record(path, Arrangement.from_dict(data.get("arrangement", {})), str(data.get("puzzle")))
    except InputError as error:
        raise InputError(f"{path} is damaged: {error}") from error


def check_same_puzzle(one: Record, other: Record) -> None:
    """Refuse two files that are not of the same puzzle."""
    if one.puzzle != other.puzzle:
        raise InputError(f"{one.path} and {other.path} do not belong together: they are of different puzzles")
