"""Other solvers, run on the same puzzles in the same run, when they are installed in an environment of their own."""

import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from ..arrangement import Arrangement
from ..errors import InputError
from ..images import read_picture, write_picture
from ..metrics import Score, score
from ..puzzle import Puzzle
from ..solve import solve, warm_up
from .sets import ImageFolder


@dataclass(frozen=True)
class Peer:
    """Another solver's command line: `{command} {arguments}` reads a shuffled PNG and writes a solved one."""

    name: str
    about: str
    install: str
    arguments: tuple[str, ...]
    population: int
    generations: int


PEERS = {
    "gaps": Peer(
        name="gaps",
        about="nemanja-m/gaps, the best known Python implementation of the same paper (MIT licence)",
        install=(
            "clone github.com/nemanja-m/gaps, make a virtual environment for it and pip install the clone there "
            "(the package named gaps on PyPI is another program); its command is then bin/gaps of that environment"
        ),
        arguments=(
            "run",
            "{puzzle}",
            "{solved}",
            "--size={size}",
            "--population={population}",
            "--generations={generations}",
        ),
        population=200,
        generations=20,
    ),
}


@dataclass(frozen=True)
class Duel:
    """One puzzle solved by a peer and by jigsolve, with the paper's parameters and with the peer's own."""

    image: str
    pieces: int
    peer: Score
    peer_seconds: float
    paper: Score
    paper_seconds: float
    same: Score
    same_seconds: float


def run_duels(peer: Peer, command: Path, folder: ImageFolder, piece_size: int, seed: int) -> Iterator[Duel]:
    """Solve each image with the peer's defaults, with preset `paper`, and with `paper` at the peer's population."""
    if not command.is_file():
        raise InputError(f"there is no command {command}; to get {peer.name}: {peer.install}")
    warm_up("paper")
    for image in folder.images:
        puzzle, truth = _eight_bits(Puzzle.from_image(image, piece_size, crop=True)).shuffled(seed)
        found, seconds = _run_peer(peer, command, puzzle, piece_size)
        paper = solve(puzzle, "paper", seed=seed)
        same = solve(puzzle, "paper", seed=seed, population=peer.population, generations=peer.generations)
        yield Duel(
            image=image.name,
            pieces=len(puzzle),
            peer=score(found, truth),
            peer_seconds=seconds,
            paper=score(paper.arrangement, truth),
            paper_seconds=paper.seconds["total"],
            same=score(same.arrangement, truth),
            same_seconds=same.seconds["total"],
        )


def _eight_bits(puzzle: Puzzle) -> Puzzle:
    """Return the puzzle with 8 bits a channel, which is all that most programs read."""
    if puzzle.pieces.dtype == np.uint8:
        return puzzle
    return Puzzle((puzzle.pieces >> 8).astype(np.uint8), puzzle.rows, puzzle.columns)


def _run_peer(peer: Peer, command: Path, puzzle: Puzzle, piece_size: int) -> tuple[Arrangement, float]:
    with tempfile.TemporaryDirectory() as folder:
        shuffled, solved = Path(folder) / "puzzle.png", Path(folder) / "solved.png"
        write_picture(shuffled, puzzle.assemble(puzzle.as_given()))
        values = {"puzzle": shuffled, "solved": solved, "size": piece_size}
        values |= {"population": peer.population, "generations": peer.generations}
        start = perf_counter()
        done = subprocess.run(  # noqa: S603
            [str(command), *(argument.format(**values) for argument in peer.arguments)],
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = perf_counter() - start
        if done.returncode != 0 or not solved.exists():
            last = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["no message"]
            raise InputError(f"{peer.name} failed on a puzzle of {len(puzzle)} pieces: {last[0]}")
        return arrangement_of(puzzle, Puzzle.from_image(read_picture(solved), piece_size)), seconds


def arrangement_of(puzzle: Puzzle, solved: Puzzle) -> Arrangement:
    """Return which pieces of a puzzle a solved picture shows where; pieces with the same pixels in order of number."""
    numbers: dict[bytes, list[int]] = {}
    for number, piece in reversed(list(enumerate(puzzle.pieces))):
        numbers.setdefault(piece.tobytes(), []).append(number)
    grid = []
    for piece in solved.pieces:
        same = numbers.get(piece.tobytes())
        if not same:
            raise InputError("the solved picture shows a piece that the puzzle does not have, or shows it twice")
        grid.append(same.pop())
    return Arrangement(np.array(grid).reshape(solved.rows, solved.columns))
