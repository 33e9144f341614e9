"""Checkpoints of the command line, with real processes that are killed, terminated, interrupted and run out of disk."""

import json
import os
import resource
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from random import Random
from time import sleep

import click
import pytest

from jigsolve import Picture, Puzzle, read_checkpoint, warm_up, write_picture
from jigsolve.checkpoint import FORMAT
from jigsolve.cli_types import DURATION_TYPE
from jigsolve.history import from_csv

PIECE = 20
# Some seconds of work, so that each life is long enough to do some of it.
LONG = {
    "best": ("--piece-size", 10, "--population", 400, "--generations", 160, "--patience", 0, "--effort", 6),
    "paper": ("--piece-size", 10, "--preset", "paper", "--population", 500, "--generations", 150),
}
QUICK = ("--population", 20, "--generations", 6, "--effort", 1)
# Goes on until it is stopped.
ENDLESS = ("--population", 50, "--generations", 100_000, "--patience", 0)
OUTPUTS = ("-o", "s.png", "--json", "r.json", "--history", "h.csv", "--animation", "a.gif")
OUTPUT_NAMES = set(OUTPUTS[1::2])
SAVED = ("--checkpoint", "run", "--every", "0.05s")
KILLS = 11
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "TTY_COMPATIBLE", "COLUMNS")
}


def start(folder, *arguments, **options):
    command = [sys.executable, "-m", "jigsolve", *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=folder, text=True, env=ENVIRONMENT, **pipes, **options)


def run(folder, *arguments, **options):
    """Run jigsolve to its end: the exit code and what it said, on standard output and error."""
    process = start(folder, *arguments, **options)
    output, errors = process.communicate(timeout=300)
    return process.returncode, output, errors


def wait_for_a_save(path, process):
    """Wait until a checkpoint is replaced by the next, or the process ends."""
    while not path.exists() and process.poll() is None:
        sleep(0.01)
    first = path.stat().st_ino if path.exists() else None
    while path.exists() and path.stat().st_ino == first and process.poll() is None:
        sleep(0.01)


def stop(process, words, number, saved=None):
    """Send a signal when a line begins with some words and a save has come; the exit code and what was said."""
    assert any(line.startswith(words) for line in process.stderr)
    if saved is not None:
        wait_for_a_save(saved, process)
    process.send_signal(number)
    output, errors = process.communicate(timeout=60)
    return process.returncode, output, errors


def names(folder):
    return {path.name for path in folder.iterdir()}


def outcome(folder):
    """What was written, but for the time it took."""
    result = json.loads((folder / "r.json").read_text())
    del result["seconds"]
    history = [replace(generation, seconds=0.0) for generation in from_csv((folder / "h.csv").read_text())]
    return result, history, (folder / "s.png").read_bytes(), (folder / "a.gif").read_bytes()


@pytest.fixture(scope="session")
def ready():
    warm_up()
    warm_up("paper")


@pytest.fixture(scope="session")
def picture(photo):
    """A shuffled photograph of 80 pieces."""
    whole = Puzzle.from_array(photo.pixels[100 : 100 + 8 * PIECE, 150 : 150 + 10 * PIECE], PIECE)
    puzzle = whole.shuffled(seed=1)[0]
    return puzzle.assemble(puzzle.as_given())


@pytest.fixture
def make_folder(tmp_path, picture, ready):
    def make(name):
        (tmp_path / name).mkdir()
        write_picture(tmp_path / name / "puzzle.png", Picture(picture.pixels))
        return tmp_path / name

    return make


@pytest.fixture
def folder(make_folder):
    return make_folder("folder")


@pytest.fixture
def expected(make_folder):
    """What comes of the same command when nothing happens to it."""

    def solve(*options):
        folder = make_folder("undisturbed")
        code, _, errors = run(folder, "solve", "puzzle.png", "--piece-size", PIECE, *OUTPUTS, *options)
        assert code == 0, errors
        return outcome(folder)

    return solve


def solve(*options):
    return ("solve", "puzzle.png", "--piece-size", PIECE, *OUTPUTS, *SAVED, *options)


# Killed


def killed_and_resumed(preset, undisturbed, folder):
    """Kill a run at random moments, over and over, until it is done; how often, and how far it was each time."""
    code, _, errors = run(undisturbed, "solve", "puzzle.png", *OUTPUTS, *LONG[preset])
    assert code == 0, errors
    seconds = json.loads((undisturbed / "r.json").read_text())["seconds"]["total"]
    # So short that all lives together do not reach the end, even when the machine is twice as busy now as later.
    longest = seconds / 40
    random, kills, lengths = Random(preset), 0, []
    while kills < KILLS:
        begun = (folder / "run").exists()
        arguments = ("resume", "run", "--threads", 1 + kills % 3) if begun else solve(*LONG[preset])
        process, said = start(folder, *arguments), []
        if kills % 4 == 3:  # While Python starts, reads or compiles.
            sleep(random.uniform(0, 1))
        else:
            any(said.append(line) or line.startswith("finding candidates") for line in process.stderr)
            if kills % 4 == 1:  # However slow the machine is, some lives get somewhere.
                wait_for_a_save(folder / "run", process)
            sleep(random.uniform(0, longest))
        process.kill()
        _, errors = process.communicate(timeout=60)
        said = "".join(said) + errors
        assert process.returncode == -signal.SIGKILL, f"life {kills} ended before it was killed, {lengths}: {said}"
        kills += 1
        if (folder / "run").exists():
            lengths.append(len(read_checkpoint(folder / "run").history))
    code, _, errors = run(folder, "resume", "run")
    assert code == 0, errors
    return kills, lengths


def test_killed_at_random_moments_over_and_over_it_ends_the_same(make_folder):
    folders = {preset: (make_folder(f"{preset}-undisturbed"), make_folder(preset)) for preset in LONG}
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda preset: killed_and_resumed(preset, *folders[preset]), LONG))
    for (undisturbed, folder), (kills, lengths) in zip(folders.values(), done, strict=True):
        assert kills >= 10
        # Nothing that was saved is ever lost, and some lives were long enough to save more.
        assert all(before <= after for before, after in pairwise(lengths))
        assert len(set(lengths)) > 2
        assert outcome(folder) == outcome(undisturbed)
        assert names(folder) == {"puzzle.png", *OUTPUT_NAMES}


# Terminated and interrupted


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (LONG["paper"], "finding candidates"),
        (LONG["best"], "generation"),  # The line comes when the refinement has begun.
    ],
)
def test_sigterm_saves_and_says_how_to_go_on(folder, expected, options, words):
    code, output, errors = stop(start(folder, *solve(*options)), words, signal.SIGTERM, folder / "run")
    assert (code, output) == (143, ""), errors
    assert errors.endswith("saved; go on with: jigsolve resume run\n")
    assert "Traceback" not in errors
    assert names(folder) == {"puzzle.png", "run"}
    # All that is needed is in the file: not the puzzle, not the folder it was begun in.
    (folder / "puzzle.png").unlink()
    code, output, errors = run(folder.parent, "resume", "folder/run", "--threads", 1)
    assert code == 0, errors
    assert errors.startswith("resuming ")
    assert errors.endswith("removed folder/run, as all is done\n")
    assert names(folder) == OUTPUT_NAMES
    assert outcome(folder) == expected(*options)


def test_sigterm_in_a_resumed_run_saves_again(folder):
    code, _, _ = stop(start(folder, *solve(*ENDLESS)), "generation", signal.SIGTERM)
    assert code == 143
    before = len(read_checkpoint(folder / "run").history)
    code, _, errors = stop(start(folder, "resume", "run", "--every", "1h"), "generation", signal.SIGTERM)
    assert code == 143
    assert errors.endswith("saved; go on with: jigsolve resume run\n")
    assert len(read_checkpoint(folder / "run").history) > before


def test_sigterm_without_a_checkpoint_writes_the_best_so_far(folder):
    process = start(folder, "solve", "puzzle.png", "--piece-size", PIECE, *OUTPUTS, *ENDLESS)
    code, output, errors = stop(process, "generation", signal.SIGTERM)
    assert code == 143
    assert "generations (interrupted)" in output
    assert "resume" not in errors
    assert names(folder) == {"puzzle.png", *OUTPUT_NAMES}
    assert json.loads((folder / "r.json").read_text())["stopped"] == "interrupted"


def test_sigterm_before_anything_is_saved_leaves_nothing(folder):
    process = start(folder, *solve(*ENDLESS))
    sleep(0.5)
    process.terminate()
    process.communicate(timeout=60)
    # Python itself, before jigsolve is loaded, dies of it.
    assert process.returncode in (143, -signal.SIGTERM)
    assert not names(folder) & OUTPUT_NAMES


def test_ctrl_c_writes_the_best_so_far_and_saves(folder, expected):
    options = LONG["paper"]
    code, output, errors = stop(start(folder, *solve(*options)), "finding", signal.SIGINT, folder / "run")
    assert code == 130
    assert "(interrupted)" in output
    assert errors.endswith("saved; go on with: jigsolve resume run\n")
    assert names(folder) == {"puzzle.png", "run", *OUTPUT_NAMES}
    # These are the run's own: it may replace them.
    code, _, errors = run(folder, "resume", "run")
    assert code == 0, errors
    assert names(folder) == {"puzzle.png", *OUTPUT_NAMES}
    assert outcome(folder) == expected(*options)


# What is refused, and what is not overwritten


def refusal(folder, *arguments):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    code, output, errors = run(folder, *arguments)
    assert (code, output) == (2, "")
    assert errors.startswith("jigsolve: ")
    assert errors.count("\n") == 1
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    return errors


def test_somebody_elses_file_is_not_overwritten(folder):
    stop(start(folder, *solve(*ENDLESS)), "generation", signal.SIGTERM)
    (folder / "s.png").write_bytes(b"mine")
    assert "s.png exists already; choose another name or pass --force" in refusal(folder, "resume", "run")
    (folder / "elsewhere").mkdir()
    code, _, _ = stop(start(folder, "resume", "run", "--into", "elsewhere"), "generation", signal.SIGINT)
    assert code == 130
    assert names(folder / "elsewhere") == OUTPUT_NAMES
    assert (folder / "s.png").read_bytes() == b"mine"
    code, _, _ = stop(start(folder, "resume", "run", "--force"), "generation", signal.SIGINT)
    assert code == 130
    assert (folder / "s.png").read_bytes() != b"mine"


def test_a_checkpoint_is_not_overwritten_unasked(folder):
    (folder / "run").write_bytes(b"mine")
    assert "run exists already; jigsolve resume run goes on with it" in refusal(folder, *solve(*QUICK))
    code, _, _ = run(folder, *solve(*QUICK), "--force")
    assert code == 0
    assert names(folder) == {"puzzle.png", *OUTPUT_NAMES}


def test_damaged_and_foreign_checkpoints_are_refused(folder):
    stop(start(folder, *solve(*ENDLESS)), "generation", signal.SIGTERM)
    data = (folder / "run").read_bytes()
    (folder / "short").write_bytes(data[: len(data) // 2])
    (folder / "flipped").write_bytes(data[:-1000] + bytes([data[-1000] ^ 4]) + data[-999:])
    other = data.replace(f"checkpoint {FORMAT}\n".encode(), f"checkpoint {FORMAT - 1}\n".encode(), 1)
    assert other != data
    (folder / "version").write_bytes(other)
    assert "short is damaged or truncated" in refusal(folder, "resume", "short")
    assert "flipped is damaged or truncated" in refusal(folder, "resume", "flipped")
    assert "version is damaged, or a checkpoint of a jigsolve other than" in refusal(folder, "resume", "version")
    assert "puzzle.png is not a checkpoint" in refusal(folder, "resume", "puzzle.png")
    assert "cannot read missing: No such file" in refusal(folder, "resume", "missing")


def test_a_checkpoint_from_python_has_nowhere_to_write(folder):
    code = "import jigsolve; jigsolve.solve(jigsolve.Puzzle.from_image('puzzle.png', 20), effort=0, checkpoint='run')"
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True)
    assert "run was saved from Python: go on with it by jigsolve.resume()" in refusal(folder, "resume", "run")


def test_options_that_make_no_sense_are_refused(folder):
    plain = ("solve", "puzzle.png", "-o", "s.png", "--piece-size", PIECE)
    assert "pass --checkpoint FILE too" in refusal(folder, *plain, "--every", "5m")
    soon = refusal(folder, *plain, "--checkpoint", "run", "--every", "soon")
    assert "'soon' is not a time; write 90, 90s, 5m or 1h" in soon
    assert "s.png is named for two outputs" in refusal(folder, *plain, "--checkpoint", "s.png")
    assert "puzzle.png is named for" in refusal(folder, *plain, "--checkpoint", "puzzle.png", "--force")
    assert "folder missing does not exist" in refusal(folder, *plain, "--checkpoint", "missing/run")


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("1.5m", 90), ("5M", 300), ("2h", 7200), ("0", 0), ("1e2", 100)]
)
def test_times_are_understood(text, seconds):
    assert DURATION_TYPE.convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "m", "soon", "-5", "nan", "inf", "5 minutes", "5d"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(click.UsageError, match="is not a time; write 90, 90s, 5m or 1h"):
        DURATION_TYPE.convert(text, None, None)


# A full disk


def room_for(size):
    """Let no file grow beyond a size, as on a disk that is nearly full."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


# Of the first save nearly all is pixels, and there is no population in it yet.
FIRST_SAVE = 8 * PIECE * 10 * PIECE * 3
NEARLY_FULL = {"preexec_fn": room_for(FIRST_SAVE + 4000)}


def test_on_a_full_disk_the_run_goes_on_and_the_last_save_stands(folder, expected):
    options = ("--population", 400, "--generations", 10, "--effort", 0)
    process = start(folder, *solve(*options, "--every", 0), **NEARLY_FULL)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "jigsolve: cannot write run: File too large; the checkpoint saved " in errors
    assert "removed run" in errors
    assert outcome(folder) == expected(*options)


def test_sigterm_on_a_full_disk_keeps_the_last_save(folder):
    process = start(folder, *solve(*ENDLESS, "--population", 400, "--every", "1h"), **NEARLY_FULL)
    code, _, errors = stop(process, "generation", signal.SIGTERM)
    assert code == 143
    assert "cannot write run: File too large; the checkpoint saved " in errors
    assert names(folder) == {"puzzle.png", "run"}
    assert read_checkpoint(folder / "run").history == ()
    # With room again it goes on from there.
    assert stop(start(folder, "resume", "run"), "generation", signal.SIGTERM)[0] == 143
    assert len(read_checkpoint(folder / "run").history) > 0


def test_without_room_for_the_first_save_nothing_is_begun(folder):
    before = names(folder)
    code, _, errors = run(folder, *solve(*QUICK, "-q"), preexec_fn=room_for(2000))
    assert (code, errors) == (2, "jigsolve: cannot write run: File too large\n")
    assert names(folder) == before
