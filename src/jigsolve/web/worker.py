"""The process that does one job: it reads what was uploaded, solves it, and tells the server how it goes.

Nothing a client sent is looked at anywhere else. Whatever a hostile or damaged file does to this process, the server
only sees it end.
"""

import io
import json
import os
import re
import sys
import threading
import warnings
from dataclasses import asdict, replace
from pathlib import Path
from time import monotonic
from typing import Any, BinaryIO

import numpy as np
from PIL import Image

from ..animate import Film
from ..arrangement import Arrangement
from ..detect import detect_piece_size
from ..display import decoders_silenced
from ..errors import ImageError, InputError, JigsolveError
from ..files import write_whole
from ..images import Picture, encode_picture, read_picture
from ..metrics import score
from ..parameters import PRESETS
from ..puzzle import Puzzle
from ..result import Result
from ..solve import Progress, solve, warm_up
from ..stop import MaxSeconds
from . import messages
from .samples import SAMPLES

# The server answers people while workers compute.
NICENESS = 5
# The longest side, in pixels, of the picture that the page draws pieces from: a texture that every browser takes.
LONGEST_SHOWN = 4096
# Arrangements are sent at most this fast; a small puzzle's generations all fit, and no pipe or browser is flooded.
BYTES_PER_SECOND = 1_000_000
STOP = b"stop\n"


class Reporter:
    """Sends messages to the server, one at a time."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._lock = stream, threading.Lock()

    def send(self, kind: str, body: bytes = b"", **values: Any) -> None:
        """Send a message; where nobody listens any more, end."""
        try:
            with self._lock:
                self._stream.write(messages.pack({"kind": kind, **values}, body))
                self._stream.flush()
        except OSError:
            os._exit(1)


class Narrator:
    """Tells the server about every generation; its arrangement goes along where it is new and there is room."""

    def __init__(self, reporter: Reporter, truth: Arrangement | None) -> None:
        self._reporter, self._truth = reporter, truth
        self._free_at = 0.0
        self._told: Arrangement | None = None

    def tell(self, progress: Progress) -> None:
        """Tell about a generation. This is a callback for `solve`."""
        best = progress.best if progress.best is not self._told and monotonic() >= self._free_at else None
        self._tell(asdict(progress.generation), progress.best, best)

    def tell_last(self, result: Result) -> None:
        """Make sure that the last arrangement is told, however soon it came after another."""
        if result.arrangement is not self._told:
            # It takes the number after the last, as numbers only grow.
            record = asdict(result.history[-1]) | {"number": result.history[-1].number + 1}
            self._tell(record, result.arrangement, result.arrangement)

    def _tell(self, record: dict[str, Any], arrangement: Arrangement, shown: Arrangement | None) -> None:
        if self._truth is not None:
            accuracy = score(arrangement, self._truth)
            record |= {"neighbour": round(accuracy.neighbour, 5), "direct": round(accuracy.direct, 5)}
        grid = b""
        if shown is not None:
            grid = shown.grid.astype("<u2").tobytes()
            self._free_at = monotonic() + len(grid) / BYTES_PER_SECOND
            self._told = shown
        self._reporter.send("generation", grid, record=record)


def main() -> None:
    """Do the job described by the first line of standard input; "stop" on a later line ends it early."""
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    if sys.argv[1:] == ["--warm-up"]:
        for preset in PRESETS:
            warm_up(preset)
        return
    # Libraries print to standard output when they please; messages go where nobody else can write.
    reporter = Reporter(os.fdopen(os.dup(1), "wb"))
    os.dup2(2, 1)
    task = json.loads(sys.stdin.buffer.readline())
    stopping = threading.Event()
    threading.Thread(target=_listen, args=(stopping,), daemon=True).start()
    try:
        work(task, reporter, stopping)
    except JigsolveError as error:
        reporter.send("error", message=_in_words(str(error), task))
    except MemoryError:
        reporter.send("error", message="there is not enough memory for this puzzle; larger pieces make fewer")
    sys.stdout.flush()
    os._exit(0)  # The thread that listens would keep standard input locked.


def _listen(stopping: threading.Event) -> None:
    for line in iter(sys.stdin.buffer.readline, b""):
        if line == STOP:
            stopping.set()
    os._exit(1)  # The server is gone.


def work(task: dict[str, Any], reporter: Reporter, stopping: threading.Event) -> None:
    """Read, solve, and write the results into the job's folder."""
    folder = Path(task["folder"])
    reporter.send("phase", phase="reading")
    with decoders_silenced():
        puzzle, truth = read_puzzle(task)
    if len(puzzle) > task["most_pieces"]:
        raise InputError(
            f"{len(puzzle):,} pieces are more than the {task['most_pieces']:,} allowed here; choose larger pieces"
        )
    _write_shown(folder, puzzle, truth)
    reporter.send(
        "puzzle",
        rows=puzzle.rows,
        columns=puzzle.columns,
        piece_width=puzzle.piece_width,
        piece_height=puzzle.piece_height,
        truth_known=truth is not None,
    )
    reporter.send("phase", phase="warming")
    warm_up(task["preset"])
    reporter.send("phase", phase="preparing")
    narrator, film = Narrator(reporter, truth), Film(puzzle)

    def callback(progress: Progress) -> bool:
        film.add(progress)
        narrator.tell(progress)
        return stopping.is_set()

    stop = MaxSeconds(task["most_seconds"])
    result = solve(puzzle, task["preset"], seed=task["seed"], stop=stop, callback=callback)
    narrator.tell_last(result)
    write_whole(folder / "solved.png", encode_picture(result.to_image(), ".png"))
    write_whole(folder / "result.json", result.to_json().encode())
    reporter.send("result", **_outcome(result, truth))
    write_whole(folder / "evolution.gif", film.to_gif())
    reporter.send("animation")


def _outcome(result: Result, truth: Arrangement | None) -> dict[str, Any]:
    accuracy = score(result.arrangement, truth).to_dict() if truth is not None else None
    return {
        "cost": result.cost,
        "certain_share": result.certain_share,
        "generations": result.generations,
        "stopped": result.stopped,
        "seconds": {name: round(value, 3) for name, value in result.seconds.items()},
        "accuracy": accuracy,
    }


def read_puzzle(task: dict[str, Any]) -> tuple[Puzzle, Arrangement | None]:
    """Return the puzzle that a task describes and, where it was cut here, its truth."""
    if task["source"] == "tiles":
        return _read_tiles(task), None
    picture = _read_picture(task)
    size = None if task["piece_width"] is None else (task["piece_width"], task["piece_height"])
    if task["source"] == "puzzle":
        return Puzzle.from_image(picture, size or _detected(picture)), None
    if size is None:
        raise InputError("a whole picture needs a piece size, such as 28")
    whole = Puzzle.from_image(picture, size, crop=True)
    return whole.shuffled(task["seed"])


def _detected(picture: Picture) -> tuple[int, int]:
    try:
        return detect_piece_size(picture)
    except InputError as error:
        raise InputError(
            f"no seams can be seen in this picture of {picture.width}x{picture.height} pixels; "
            "give its piece size, or let it be cut and shuffled as a whole picture"
        ) from error


def _read_picture(task: dict[str, Any]) -> Picture:
    if task["sample"] is not None:
        _, make = SAMPLES[task["sample"]]
        return make()
    path = _paths(task)[0]
    _check_pixels([path], task["most_pixels"])
    return read_picture(path)


def _read_tiles(task: dict[str, Any]) -> Puzzle:
    _check_pixels(_paths(task), task["most_pixels"])
    puzzle = Puzzle.from_tiles(Path(task["folder"]) / "upload", columns=task["columns"])
    return replace(puzzle, tiles=tuple(task["names"]))


def _paths(task: dict[str, Any]) -> list[Path]:
    """Return where the uploaded files are: numbered by the server, whatever the client called them."""
    folder = Path(task["folder"]) / "upload"
    return [folder / f"{number}.png" for number in range(len(task["names"]))]


def _check_pixels(paths: list[Path], most: int) -> None:
    """Refuse pictures that claim too many pixels, before any is unpacked."""
    total = 0
    for path in paths:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with Image.open(path) as image:
                    total += image.width * image.height
        except Image.DecompressionBombError as error:
            raise ImageError(f"{path} would unpack to more pixels than is safe; shrink it first") from error
        except Exception:  # noqa: S112 (Reading it says what is wrong with it.)
            continue
    if total > most:
        raise InputError(
            f"{total / 1e6:,.1f} million pixels are more than the {most / 1e6:,.1f} million allowed here; "
            "shrink the picture first"
        )


def _write_shown(folder: Path, puzzle: Puzzle, truth: Arrangement | None) -> None:
    """Write what the page draws with: the pieces in their order, and the original where it is known."""
    shown = _shrunk(puzzle)
    _write_quickly(folder / "pieces.png", shown.assemble(shown.as_given()))
    if truth is not None:
        _write_quickly(folder / "original.png", shown.assemble(truth))


def _write_quickly(path: Path, picture: Picture) -> None:
    buffer = io.BytesIO()
    picture.to_pillow().save(buffer, "PNG", compress_level=1)
    write_whole(path, buffer.getvalue())


def _shrunk(puzzle: Puzzle) -> Puzzle:
    """Return the puzzle with 8 bits a channel and pieces small enough for the longest side, seams where they were."""
    longest = max(puzzle.rows * puzzle.piece_height, puzzle.columns * puzzle.piece_width)
    scale = min(1.0, LONGEST_SHOWN / longest)
    width, height = (max(1, int(scale * size)) for size in (puzzle.piece_width, puzzle.piece_height))
    # All pieces one below the other, in one go: boxes of whole pieces do not mix neighbours.
    column = Picture(puzzle.pieces.reshape(-1, *puzzle.pieces.shape[2:])).to_pillow()
    column = column.convert("RGBA" if puzzle.pieces.shape[3] in (2, 4) else "RGB")
    if scale < 1:
        column = column.resize((width, height * len(puzzle)), Image.Resampling.BOX)
    return Puzzle(np.asarray(column).reshape(len(puzzle), height, width, -1), puzzle.rows, puzzle.columns)


def _in_words(message: str, task: dict[str, Any]) -> str:
    """Return a message with the client's names for its files in the place of ours, which are numbers."""
    names = task["names"]
    bare = message.replace(f"{Path(task['folder']) / 'upload'}{os.sep}", "")
    return re.sub(r"\b(\d+)\.png\b", lambda match: names[int(match[1])], bare) if names else bare


if __name__ == "__main__":
    main()
