"""Rows of results: one a run, in a CSV file that is only ever appended to, a whole row at a time."""

import csv
import io
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from ..errors import InputError, OutputError


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
        """What makes two rows the same run."""
        return self.set, self.image, self.seed, self.preset, self.parameters


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
    """The file that a bench appends to. Opening it drops a row that a crash left half-written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if path.exists():
            _drop_torn_row(path)
        self.runs = read_runs(path) if path.exists() and path.stat().st_size else []

    def append(self, run: Run) -> None:
        """Append a row and see it to the disk; after a failure the file is as before."""
        rows = [asdict(run)] if self.runs or (self.path.exists() and self.path.stat().st_size) else [None, asdict(run)]
        data = b"".join(_line(row) for row in rows)
        try:
            _append_whole(self.path, data)
        except OSError as error:
            raise OutputError(f"cannot append to {self.path}: {error.strerror or error}") from error
        self.runs.append(run)


def _line(row: dict[str, Any] | None) -> bytes:
    """Return one line: the header for None."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader() if row is None else writer.writerow(row)
    return text.getvalue().encode()


def _append_whole(path: Path, data: bytes) -> None:
    with path.open("ab", buffering=0) as file:
        before = file.tell()
        try:
            if file.write(data) != len(data):
                raise OSError("no space left for a whole row")
            os.fsync(file.fileno())
        except BaseException:
            file.truncate(before)
            raise


def _drop_torn_row(path: Path) -> None:
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        with path.open("r+b") as file:
            file.truncate(whole)
