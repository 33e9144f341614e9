import stat
import sys
from pathlib import Path

import numpy as np
import pytest

from jigsolve import InputError, Picture, Puzzle, write_picture
from jigsolve.bench.peers import PEERS, arrangement_of, run_duels
from jigsolve.bench.sets import ImageFolder
from tests.puzzles import drawn_puzzle

# A peer that puts the pieces where they lay.
LAZY = "import sys, shutil; shutil.copy(sys.argv[2], sys.argv[3])"
FAILING = "import sys; sys.exit('it hurts')"


def peer_command(folder, code):
    path = folder / "peer"
    path.write_text(f"#!{sys.executable}\n{code}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def folder(tmp_path, photo):
    write_picture(tmp_path / "a.png", Picture(photo.pixels[100:260, 150:350]))
    return ImageFolder("mine", tmp_path, (tmp_path / "a.png",))


def test_a_duel_scores_and_times_both(folder, tmp_path):
    (duel,) = run_duels(PEERS["gaps"], peer_command(tmp_path, LAZY), folder, 40, seed=1)
    assert duel.pieces == 20
    assert duel.peer.direct < 0.5
    assert duel.paper.perfect
    assert duel.same.perfect
    assert duel.peer_seconds > 0
    assert duel.paper_seconds > duel.same_seconds > 0


def test_a_peer_that_fails_is_told_with_its_last_words(folder, tmp_path):
    with pytest.raises(InputError, match="gaps failed on a puzzle of 20 pieces: it hurts"):
        list(run_duels(PEERS["gaps"], peer_command(tmp_path, FAILING), folder, 40, seed=1))


def test_a_peer_that_is_not_there_is_told_how_to_get(folder):
    with pytest.raises(InputError, match=r"no command /nowhere/gaps; to get gaps: clone"):
        list(run_duels(PEERS["gaps"], Path("/nowhere/gaps"), folder, 40, seed=1))


def test_a_solved_picture_tells_its_arrangement():
    puzzle, truth = drawn_puzzle(3, 4).shuffled(seed=1)
    solved = Puzzle.from_array(puzzle.assemble(truth).pixels, 8)
    assert arrangement_of(puzzle, solved) == truth
    identical = Puzzle.from_array(np.zeros((16, 24), dtype=np.uint8), 8)
    assert arrangement_of(identical, identical) == identical.as_given()
    with pytest.raises(InputError, match="shows a piece that the puzzle does not have"):
        arrangement_of(puzzle, Puzzle.from_array(255 - puzzle.assemble(truth).pixels, 8))
