"""Checkpoints: a run and how far it is, in one file, so that it can go on after a stop, a kill or a crash.

The file begins with two lines: what it is, and the SHA-256 of all that follows. Then come one line of JSON and the
arrays that it lists, as they lie in memory: nothing is packed, so that saving takes no longer than writing, and nothing
in the file is run when it is read. It is replaced whole, so that there is always one that is complete.
"""

import hashlib
import json
import os
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, astuple, dataclass, field, replace
from io import BufferedReader
from itertools import accumulate
from math import isfinite, prod
from pathlib import Path
from time import monotonic
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from ._version import __version__
from .arrangement import Arrangement
from .checks import seed_number
from .errors import InputError, OutputError
from .files import check_writable, write_parts
from .genetic.algorithm import Evolution
from .genetic.population import Population
from .history import Generation
from .parameters import Parameters
from .puzzle import Puzzle
from .refine.rounds import RoundStart

MAGIC = b"jigsolve checkpoint "
FORMAT = 3
DEFAULT_EVERY = 60.0
# No line that says what a file is, and no checksum, is longer.
LONGEST_LINE = 100
_DTYPES = frozenset(np.dtype(kind).str for kind in (np.uint8, np.uint16, np.int32, np.float64))

State = Evolution | RoundStart | None
"""Where the search stands: after a generation, at the start of a round of refinement, or not begun."""
Warn = Callable[[str], object]


@dataclass(frozen=True)
class Checkpoints:
    """Where and how often a run is saved.

    Parameters
    ----------
    path
        The file. It is there from the moment the run begins, and is replaced whole with every save.
    every
        Seconds between saves. A save waits for the generation under way, or the round of refinement.
    overwrite
        Whether a file that is there already may be lost.
    trail
        Whether to keep every best arrangement on the way and not only the last, as a `Film` needs them after `resume`.
    notes
        What the caller wants to find again in `Checkpoint.notes`; ready for JSON.
    warn
        Told when a save fails. The run goes on, and the last save stands.
    """

    path: str | Path
    every: float = DEFAULT_EVERY
    overwrite: bool = False
    trail: bool = False
    notes: Mapping[str, Any] = field(default_factory=dict)
    warn: Warn = warnings.warn

    def __post_init__(self) -> None:
        check_every(self.every)

    def check(self) -> None:
        """Refuse what could not be saved to before any work is done."""
        path = Path(self.path)
        if not self.overwrite and path.is_file():
            raise OutputError(
                f"{path} exists already; jigsolve resume {path} goes on with it, "
                "or choose another name or pass --force (overwrite=True)"
            )
        check_writable(path, overwrite=self.overwrite)


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A run and how far it is: all that is needed to go on. `read_checkpoint` reads one, `resume` goes on with it."""

    puzzle: Puzzle
    preset: str
    parameters: Parameters
    seed: int
    every: float = DEFAULT_EVERY
    trail: bool = False
    notes: Mapping[str, Any] = field(default_factory=dict)
    history: tuple[Generation, ...] = ()
    bests: tuple[Arrangement, ...] = ()
    """With `trail` the best arrangement of every generation that improved on those before, else the last of them."""
    state: State = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Spent so far: see `Result.seconds`."""
    path: Path | None = None
    """The file it was read from."""

    def records(self) -> list[tuple[Generation, Arrangement]]:
        """Return each generation with the best arrangement until then; without a `trail`, with the best of all."""
        improvements = accumulate(int(generation.stale == 0) for generation in self.history)
        return [
            (generation, self.bests[number - 1 if self.trail else -1])
            for generation, number in zip(self.history, improvements, strict=True)
        ]


class Saver:
    """Saves a run when it is time, and on demand; without a path, never.

    What it saves is the last state it was told of, with the history until then, however far the run has gone since.
    """

    def __init__(self, path: Path | None, every: float, warn: Warn, take: Callable[[State, int], Checkpoint]) -> None:
        self._path, self._every, self._warn, self._take = path, every, warn, take
        self._reached: tuple[State, int] | None = None
        self._saved = monotonic()

    def reached(self, state: State, records: int) -> None:
        """Note a state from which the run could go on, after so many records, and save it if it is time."""
        if self._path is None:
            return
        self._reached = state, records
        if monotonic() - self._saved >= self._every:
            self.save()

    def save(self) -> None:
        """Save the last state if that is not done yet. A failure is told, and the last save stands."""
        if self._path is None or self._reached is None:
            return
        try:
            write_checkpoint(self._path, self._take(*self._reached), overwrite=True)
            self._reached = None
            self._saved = monotonic()
        except OutputError as error:
            age = monotonic() - self._saved
            self._saved += age
            self._warn(f"{error}; the checkpoint saved {age:.0f} s ago stands")


def check_every(seconds: float) -> float:
    """Return a number of seconds between saves, or say why it is none."""
    if not (isfinite(seconds) and seconds >= 0):
        raise InputError(f"the time between saves must be 0 seconds or more, not {seconds}")
    return seconds


def write_checkpoint(path: Path, checkpoint: Checkpoint, *, overwrite: bool = False) -> None:
    """Write a checkpoint whole or not at all."""
    arrays = _arrays(checkpoint)
    header = json.dumps(_header(checkpoint, arrays)).encode() + b"\n"
    parts: list[bytes | memoryview] = [header, *(_bytes_of(array) for array in arrays.values())]
    checksum = hashlib.sha256()
    for part in parts:
        checksum.update(part)
    first_lines = MAGIC + f"{FORMAT}\n{checksum.hexdigest()}\n".encode()
    clear_leftovers(path)
    temporary = path.with_name(f".{path.name}.{uuid4().hex}.part")
    write_parts(path, [first_lines, *parts], overwrite=overwrite, temporary=temporary)


def clear_leftovers(path: Path) -> None:
    """Remove what a save that was killed left behind: as large as the checkpoint, hidden, and of no use."""
    pattern = re.compile(re.escape(f".{path.name}.") + r"[0-9a-f]{32}\.part")
    try:
        for neighbour in path.parent.iterdir():
            if pattern.fullmatch(neighbour.name):
                neighbour.unlink(missing_ok=True)
    except OSError:  # What really stands in the way of a save, the save itself will tell.
        return


def remove_checkpoint(path: Path) -> None:
    """Remove a checkpoint that is no longer needed, and what killed saves left of it."""
    clear_leftovers(path)
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"cannot remove {path}: {error.strerror or error}") from error


def add_notes(path: Path, notes: Mapping[str, Any]) -> None:
    """Add to the notes of a checkpoint in a file."""
    checkpoint = read_checkpoint(path)
    write_checkpoint(path, replace(checkpoint, notes={**checkpoint.notes, **notes}), overwrite=True)


def read_checkpoint(path: str | Path) -> Checkpoint:
    """Read a checkpoint that `solve` or `resume` saved.

    Raises
    ------
    InputError
        If the file cannot be read, is no checkpoint, is damaged, or was saved by another version of jigsolve, whose
        result could be another one.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            return _read(file, path)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


def _read(file: BufferedReader, path: Path) -> Checkpoint:
    first = file.readline(LONGEST_LINE)
    if not first.startswith(MAGIC):
        raise InputError(f"{path} is not a checkpoint that jigsolve saved")
    if first != MAGIC + f"{FORMAT}\n".encode():
        raise InputError(f"{path} is damaged, or a checkpoint of a jigsolve other than this {__version__}")
    checksum = file.readline(LONGEST_LINE)
    start = file.tell()
    if hashlib.file_digest(file, "sha256").hexdigest().encode() + b"\n" != checksum:
        raise InputError(f"{path} is damaged or truncated: its checksum is wrong; solve the puzzle anew")
    file.seek(start)
    try:
        header = json.loads(file.readline())
        version = header["version"]
        if version == __version__:
            arrays = {name: _read_array(file, *rest) for name, *rest in header["arrays"]}
            return _checkpoint(header, arrays, path)
    except (KeyError, IndexError, TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{path} makes no sense: {type(error).__name__}: {error}") from error
    raise InputError(
        f"{path} was saved by jigsolve {version}, whose result could differ from that of this {__version__}; "
        f"resume it with jigsolve {version}"
    )


def _arrays(checkpoint: Checkpoint) -> dict[str, NDArray[Any]]:
    """Return all that is large, by name; nothing is copied but the best arrangements."""
    puzzle, state = checkpoint.puzzle, checkpoint.state
    arrays: dict[str, NDArray[Any]] = {"pieces": puzzle.pieces}
    if puzzle.icc_profile is not None:
        arrays["icc_profile"] = np.frombuffer(puzzle.icc_profile, dtype=np.uint8)
    if checkpoint.bests:
        arrays["bests"] = np.stack([best.grid for best in checkpoint.bests])
    if isinstance(state, Evolution):
        arrays |= {"grids": state.population.grids, "costs": state.population.costs}
    elif state is not None:
        arrays["grid"] = state.grid
    return arrays


def _header(checkpoint: Checkpoint, arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return all that is small, ready for JSON."""
    puzzle, state = checkpoint.puzzle, checkpoint.state
    header = {
        "version": __version__,
        "rows": puzzle.rows,
        "columns": puzzle.columns,
        "tiles": puzzle.tiles,
        "preset": checkpoint.preset,
        "parameters": asdict(checkpoint.parameters),
        "seed": checkpoint.seed,
        "every": checkpoint.every,
        "trail": checkpoint.trail,
        "notes": dict(checkpoint.notes),
        "history": [astuple(generation) for generation in checkpoint.history],
        "seconds": dict(checkpoint.seconds),
        "arrays": [(name, array.dtype.str, array.shape) for name, array in arrays.items()],
    }
    if isinstance(state, Evolution):
        header["evolved"] = state.number
    elif state is not None:
        header["refined"] = {name: value for name, value in vars(state).items() if name != "grid"}
    return header


def _bytes_of(array: NDArray[Any]) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _read_array(file: BufferedReader, dtype: str, shape: list[int]) -> NDArray[Any]:
    if dtype not in _DTYPES:
        raise ValueError(f"arrays of {dtype} are not for this machine")
    left = os.fstat(file.fileno()).st_size - file.tell()
    if min(shape) < 0 or prod(shape) * np.dtype(dtype).itemsize > left:
        raise ValueError(f"an array of shape {shape} is not in it")
    return np.fromfile(file, dtype=dtype, count=prod(shape)).reshape(shape)


def _checkpoint(header: dict[str, Any], arrays: dict[str, NDArray[Any]], path: Path) -> Checkpoint:
    profile = arrays["icc_profile"].tobytes() if "icc_profile" in arrays else None
    puzzle = Puzzle(arrays["pieces"], header["rows"], header["columns"], profile, tuple(header["tiles"]))
    parameters = Parameters(**header["parameters"])
    history = tuple(Generation(*values) for values in header["history"])
    checkpoint = Checkpoint(
        puzzle=puzzle,
        preset=header["preset"],
        parameters=parameters,
        seed=seed_number(header["seed"]),
        every=check_every(header["every"]),
        trail=header["trail"],
        notes=header["notes"],
        history=history,
        bests=tuple(Arrangement(grid) for grid in arrays.get("bests", ())),
        state=_state(header, arrays, len(puzzle), parameters.population),
        seconds=header["seconds"],
        path=path,
    )
    if (checkpoint.state is None) != (not checkpoint.records()):
        raise ValueError("its history is not that of its state")
    for best in checkpoint.bests:
        puzzle.check_fits(best)
    return checkpoint


def _state(header: dict[str, Any], arrays: dict[str, NDArray[Any]], pieces: int, population: int) -> State:
    if "evolved" in header:
        grids, costs = arrays["grids"], arrays["costs"]
        _check_grids(grids, (population, pieces))
        if costs.shape != (population,) or costs.dtype != np.float64:
            raise ValueError(f"{costs.shape} costs are not those of {population} arrangements")
        return Evolution(header["evolved"], Population(grids, costs), np.zeros(3, dtype=np.int64))
    if "refined" in header:
        _check_grids(arrays["grid"][np.newaxis], (1, pieces))
        return RoundStart(**{**header["refined"], "grid": arrays["grid"]})
    return None


def _check_grids(grids: NDArray[Any], shape: tuple[int, int]) -> None:
    """Refuse what kernels would trip over: every row holds every piece once."""
    if grids.shape != shape or grids.dtype != np.int32:
        raise ValueError(f"{grids.dtype} arrangements of shape {grids.shape} are not {shape}")
    if grids.min() < 0 or not all(_holds_every_piece(grid) for grid in grids):
        raise ValueError("an arrangement does not hold every piece once")


def _holds_every_piece(grid: NDArray[Any]) -> bool:
    seen = np.zeros(len(grid), dtype=bool)
    if grid.max() < len(grid):
        seen[grid] = True
    return bool(seen.all())
