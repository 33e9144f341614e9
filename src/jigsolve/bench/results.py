"""Rows of results: one a run, in a CSV file that is only ever appended to, a whole row at a time."""

import csv
import io
import json
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self

from ..errors import InputError, OutputError
from ..parameters import PRESETS


@dataclass(frozen=True)
class Run:
    """One run: what was solved, with what, how right it is, what it took. Accuracies are fractions of one."""

    set: str
    image: str
    pieces: int
    rows: int
    columns: int
    seed: int
    preset: str
    parameters: str
    """Everything else that was chosen, as sorted JSON."""
    neighbour: float
    direct: float
    perfect: int
    component: float
    """Share of the pieces in the largest correct connected part."""
    neighbour_identical: float
    """Accuracies when pieces with the same pixels count as the same piece."""
    direct_identical: float
    ceiling_neighbour: float
    """Accuracies that are left when every piece of one colour is counted as wrong."""
    ceiling_direct: float
    cost: float
    true_cost: float
    read_seconds: float
    costs_seconds: float
    candidates_seconds: float
    evolve_seconds: float
    refine_seconds: float
    total_seconds: float
    peak_megabytes: float
    generations: int
    stopped: str
    costs_by_generation: str
    """Best cost after some generations: "0:4595.91 1:3144.42 ..."."""
    threads: int
    jobs: int
    version: str
    commit: str
    machine: str

    @property
    def key(self) -> tuple[str, str, int, str, str]:
        """What makes two rows the same run. Parameters that came later count with the preset's value."""
        return self.set, self.image, self.seed, self.preset, json.dumps(self.chosen(), sort_keys=True)

    def chosen(self) -> dict[str, Any]:
        """Return all parameters by name, piece size and time limit among them."""
        usual = PRESETS[self.preset].to_dict() if self.preset in PRESETS else {}
        return usual | json.loads(self.parameters)

    @property
    def better_than_perfect(self) -> bool:
        """Whether it found something cheaper than the truth, beyond rounding."""
        return not self.perfect and self.cost < self.true_cost * (1 - 1e-6)


# Costs are kept rounded to so many digits after the point.
COST_DIGITS = 4
COLUMNS = tuple(field.name for field in fields(Run))


def read_runs(path: Path) -> list[Run]:
    """Read all rows.

    Raises
    ------
    InputError
        If the file is not a results file or a row is damaged.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not a file of benchmark results: it is no text") from error
    reader = csv.DictReader(io.StringIO(text))
    if tuple(reader.fieldnames or ()) != COLUMNS:
        raise InputError(f"{path} is not a file of benchmark results of this version: its columns differ")
    runs = []
    for row in reader:
        try:
            values: dict[str, Any] = {field.name: field.type(row[field.name]) for field in fields(Run)}  # type: ignore[operator]
        except (TypeError, ValueError) as error:
            raise InputError(f"{path}, line {reader.line_num}: not a whole row: {error}") from error
        runs.append(Run(**values))
    return runs


class ResultsFile:
    """The file that a bench appends to, held by one bench at a time, and read back when it is opened.

    A row that a crash left half-written is dropped. A file that is anything else is left alone and refused.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = path.open("a+b", buffering=0)
        except OSError as error:
            raise OutputError(f"cannot write {path}: {error.strerror or error}") from error
        try:
            self.runs = self._take_over()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def _take_over(self) -> list[Run]:
        """Lock the file, drop a half-written row, and return the rows that are there."""
        try:
            _lock(self._file.fileno())
        except OSError as error:
            raise InputError(f"another bench is writing to {self.path}; wait for it or choose another --out") from error
        self._file.seek(0)
        data = self._file.readall()
        if not HEADER.startswith(data[: len(HEADER)]):
            raise InputError(f"{self.path} is not a file of benchmark results of this version; choose another --out")
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            self._file.truncate(whole)
        return read_runs(self.path) if whole else []

    def append(self, run: Run) -> None:
        """Append a row and see it to the disk; after a failure the file is as before."""
        before = self._file.seek(0, os.SEEK_END)
        data = (b"" if before else HEADER) + _line(asdict(run))
        try:
            if self._file.write(data) != len(data):
                raise OSError("no room for a whole row")
            os.fsync(self._file.fileno())
        except BaseException as error:
            self._file.truncate(before)
            if isinstance(error, OSError):
                raise OutputError(f"cannot append to {self.path}: {error.strerror or error}") from error
            raise
        self.runs.append(run)


def _lock(descriptor: int) -> None:
    """Take the file for this process, where the system has locks."""
    try:
        import fcntl
    except ImportError:
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _line(row: dict[str, Any] | None) -> bytes:
    """Return one line: the header for None."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader() if row is None else writer.writerow(row)
    return text.getvalue().encode()


HEADER = _line(None)
