import errno
import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jigsolve import (
    Checkpoints,
    Film,
    InputError,
    MaxGenerations,
    OutputError,
    Progress,
    Puzzle,
    __version__,
    read_checkpoint,
    resume,
    solve,
)
from jigsolve.checkpoint import FORMAT, MAGIC, Checkpoint, add_notes, remove_checkpoint, write_checkpoint
from jigsolve.genetic.algorithm import Evolution
from jigsolve.refine import rounds
from jigsolve.refine.rounds import RoundStart
from tests.puzzles import drawn_puzzle

QUICK = {"best": {"population": 6, "generations": 3, "effort": 1}, "paper": {"population": 12, "generations": 6}}
BOTH = pytest.mark.parametrize("preset", ["best", "paper"])


def shuffled():
    return drawn_puzzle(5, 6).shuffled(seed=1)[0]


def facts(result):
    """Everything of a result but the time it took."""
    kept = {name: value for name, value in result.to_dict().items() if name != "seconds"}
    return kept, result.certain_share, [replace(generation, seconds=0.0) for generation in result.history]


@pytest.fixture
def small_parts(monkeypatch):
    """Rounds of several parts, as large puzzles have them."""
    monkeypatch.setattr(rounds, "PART_MOVES", 100)


@cache
def undisturbed(preset):
    return facts(solve(shuffled(), preset, **QUICK[preset]))


def interrupting(number):
    """A callback that does as Ctrl-C does when this record is made, and never again."""
    seen = []

    def callback(progress):
        if progress.generation.number == number and not seen:
            seen.append(number)
            raise KeyboardInterrupt

    return callback


# Going on


@BOTH
def test_wherever_it_is_stopped_it_ends_as_if_it_had_not_been(tmp_path, small_parts, preset):
    expected = facts(solve(shuffled(), preset, **QUICK[preset]))
    states = set()
    for number in range(len(expected[2])):
        path = tmp_path / str(number)
        options = Checkpoints(path, every=1000)
        stopped = solve(
            shuffled(), preset, **QUICK[preset], checkpoint=options, callback=interrupting(number), threads=1
        )
        assert stopped.stopped == "interrupted"
        saved = read_checkpoint(path)
        states.add(type(saved.state))
        assert len(saved.history) <= number
        assert facts(resume(path, threads=2)) == expected
    assert states == {type(None), Evolution} | ({RoundStart} if preset == "best" else set())


@BOTH
def test_stopped_again_and_again_it_ends_the_same(tmp_path, preset):
    path, stops = tmp_path / "file", 0
    result = solve(shuffled(), preset, **QUICK[preset], checkpoint=Checkpoints(path, every=0), stop=MaxGenerations(0))
    while stops == 0 or (result.stopped == "interrupted" and stops < 100):
        stops += 1
        # Always in the one after the next: a round that never ends is begun over and over.
        result = resume(path, callback=interrupting(len(read_checkpoint(path).history) + 1), threads=1 + stops % 3)
    assert stops > 3
    assert facts(result) == undisturbed(preset)


def interrupt(*_, **__):
    raise KeyboardInterrupt


# The package's solve is the function; the module of that name is only found here.
SOLVE = sys.modules["jigsolve.solve"]


def test_a_finished_evolution_is_not_evolved_further(tmp_path, monkeypatch):
    options = {"population": 30, "generations": 50, "patience": 2, "effort": 1}
    expected = solve(shuffled(), **options)
    with monkeypatch.context() as patch:
        patch.setattr(SOLVE, "refine", interrupt)
        solve(shuffled(), **options, checkpoint=tmp_path / "file")
    saved = read_checkpoint(tmp_path / "file")
    assert isinstance(saved.state, Evolution)
    assert len(saved.history) == sum(generation.stage == "evolve" for generation in expected.history)
    assert facts(resume(tmp_path / "file")) == facts(expected)


def test_a_run_that_a_rule_ended_can_go_on(tmp_path):
    result = solve(shuffled(), "paper", **QUICK["paper"], checkpoint=tmp_path / "file", stop=MaxGenerations(3))
    assert result.generations == 3
    assert facts(resume(tmp_path / "file")) == undisturbed("paper")


def test_saving_changes_nothing(tmp_path):
    for preset, options in QUICK.items():
        saved = solve(shuffled(), preset, **options, checkpoint=Checkpoints(tmp_path / preset, every=0))
        assert facts(saved) == undisturbed(preset)


def test_from_the_first_moment_there_is_something_to_go_on_with(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(SOLVE, "find_candidates", interrupt)
        with pytest.raises(KeyboardInterrupt):
            solve(shuffled(), "paper", **QUICK["paper"], checkpoint=tmp_path / "file")
    assert facts(resume(tmp_path / "file")) == undisturbed("paper")


def test_it_goes_on_saving_to_the_same_file(tmp_path):
    path = tmp_path / "file"
    solve(shuffled(), "paper", **QUICK["paper"], checkpoint=Checkpoints(path, every=1000), stop=MaxGenerations(1))
    lengths = []
    resume(path, every=0, callback=lambda progress: lengths.append(len(read_checkpoint(path).history)))
    assert lengths == [1, 2, 3, 4, 5, 6]
    assert [found.name for found in tmp_path.iterdir()] == ["file"]


def test_it_is_saved_no_more_often_than_asked(tmp_path):
    path, lengths = tmp_path / "file", set()
    solve(
        shuffled(),
        "paper",
        **QUICK["paper"],
        checkpoint=Checkpoints(path, every=1000),
        callback=lambda progress: lengths.add(len(read_checkpoint(path).history)),
    )
    assert lengths == {0}


def test_seconds_go_on_from_those_before(tmp_path):
    options = {"checkpoint": tmp_path / "file", "stop": MaxGenerations(2)}
    before = solve(shuffled(), "paper", **QUICK["paper"], **options)
    add_seconds = replace(read_checkpoint(tmp_path / "file"), seconds={"costs": 30.0, "evolve": 70.0, "total": 100.0})
    after = resume(add_seconds)
    assert before.seconds["total"] < 50
    assert after.seconds["total"] > 100
    assert after.seconds["costs"] > 30
    assert after.seconds["evolve"] > 70
    assert "candidates" in after.seconds
    assert all(generation.seconds > 100 for generation in after.history[3:])


def test_the_puzzle_is_in_it_with_all_it_has(tmp_path):
    pixels = np.random.default_rng(1).integers(0, 65536, size=(6, 3, 2, 4)).astype(np.uint16)
    puzzle = Puzzle(pixels, 2, 3, b"profile", tuple("abcdef"))
    notes = {"name": os.fsdecode(b"\xff"), "numbers": [1, 2.5, None]}
    checkpoint = Checkpoints(tmp_path / "file", notes=notes)
    solve(puzzle, population=6, generations=1, effort=0, seed=2**64 - 1, checkpoint=checkpoint)
    read = read_checkpoint(tmp_path / "file")
    assert (read.puzzle.digest, read.puzzle.icc_profile, read.puzzle.tiles) == (puzzle.digest, b"profile", puzzle.tiles)
    assert (read.seed, read.preset, read.parameters.population) == (2**64 - 1, "best", 6)
    assert (read.notes, read.path) == (notes, tmp_path / "file")


def test_notes_can_be_added(tmp_path):
    options = Checkpoints(tmp_path / "file", notes={"one": 1, "two": 2})
    solve(shuffled(), "paper", **QUICK["paper"], checkpoint=options, stop=MaxGenerations(2))
    add_notes(tmp_path / "file", {"two": 3, "four": 4})
    assert read_checkpoint(tmp_path / "file").notes == {"one": 1, "two": 3, "four": 4}
    assert facts(resume(tmp_path / "file")) == undisturbed("paper")


def test_with_a_trail_a_film_is_whole(tmp_path):
    whole = Film(shuffled())
    expected = solve(shuffled(), **QUICK["best"], callback=whole.add)
    number = len(expected.history) - 1
    options = Checkpoints(tmp_path / "file", every=0, trail=True)
    solve(shuffled(), **QUICK["best"], checkpoint=options, callback=interrupting(number))
    run = read_checkpoint(tmp_path / "file")
    film = Film(run.puzzle)
    for generation, best in run.records():
        film.add(Progress(generation, best, run.parameters))
    assert facts(resume(run, callback=film.add)) == facts(expected)
    assert film.to_gif() == whole.to_gif()


# What is refused


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The bytes of a checkpoint of each kind, of a puzzle of four pieces."""
    folder, contents = tmp_path_factory.mktemp("saved"), []
    for stage in ("evolve", "refine"):
        puzzle = drawn_puzzle(2, 2, 2).shuffled(seed=1)[0]
        path = folder / stage
        solve(puzzle, population=6, generations=2, effort=0, checkpoint=path, stop=MaxGenerations(1))
        run = read_checkpoint(path)
        if stage == "refine":
            state = RoundStart(1, 8, 100, 2, True, False, np.arange(4, dtype=np.int32))
            write_checkpoint(path, replace(run, state=state), overwrite=True)
        contents.append(path.read_bytes())
    return contents


def test_the_start_of_a_round_is_read_back_as_it_was(tmp_path, saved):
    (tmp_path / "file").write_bytes(saved[1])
    state = read_checkpoint(tmp_path / "file").state
    assert isinstance(state, RoundStart)
    assert {**vars(state), "grid": state.grid.tolist()} == {
        "rounds": 1,
        "moves_per_doubt": 8,
        "moves_in_all": 100,
        "in_vain": 2,
        "exchanges_pay": True,
        "shifts_pay": False,
        "grid": [0, 1, 2, 3],
    }


def problem_with(path, data):
    path.write_bytes(data)
    try:
        read_checkpoint(path)
    except InputError as error:
        return str(error)
    return None


def test_truncated_anywhere_it_is_refused(tmp_path, saved):
    for data in saved:
        for length in range(len(data)):
            assert str(tmp_path / "file") in problem_with(tmp_path / "file", data[:length]), length


def test_damaged_anywhere_it_is_refused(tmp_path, saved):
    for data in saved:
        for place in range(len(data)):
            damaged = bytearray(data)
            damaged[place] ^= 1 << place % 8
            assert str(tmp_path / "file") in problem_with(tmp_path / "file", damaged), place


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_whatever_is_done_to_it_it_is_refused(tmp_path_factory, saved, data):
    content = data.draw(st.sampled_from(saved))
    begin, end = sorted(data.draw(st.tuples(*2 * [st.integers(0, len(content))])))
    changed = content[:begin] + data.draw(st.binary(max_size=50)) + content[end:]
    found = problem_with(tmp_path_factory.getbasetemp() / "changed", changed)
    assert (found is None) == (changed == content)


def test_with_something_behind_it_it_is_refused(tmp_path, saved):
    assert "checksum" in problem_with(tmp_path / "file", saved[0] + b"\0")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is not a checkpoint"),
        (b"hello", "is not a checkpoint"),
        (b"\x89PNG\r\n\x1a\n" + bytes(1000), "is not a checkpoint"),
        (b"\n" * 1000, "is not a checkpoint"),
        (MAGIC + b"%d\n" % (FORMAT - 1) + bytes(100), "of a jigsolve other than this"),
        (MAGIC + b"%d\n" % FORMAT, "damaged or truncated"),
    ],
)
def test_what_is_no_checkpoint_is_refused(tmp_path, data, message):
    assert message in problem_with(tmp_path / "file", data)


def test_what_cannot_be_read_is_refused(tmp_path):
    for path, message in ((tmp_path / "missing", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(InputError, match=f"cannot read {path}: {message}"):
            resume(path)


def forged(data, change):
    """A checkpoint with another header and the right checksum."""
    first, _, header, arrays = data.split(b"\n", 3)
    rest = json.dumps(change(json.loads(header))).encode() + b"\n" + arrays
    return b"\n".join([first, hashlib.sha256(rest).hexdigest().encode(), rest])


def test_another_version_is_refused(tmp_path, saved):
    data = forged(saved[0], lambda header: header | {"version": "0.0.9"})
    message = problem_with(tmp_path / "file", data)
    assert f"was saved by jigsolve 0.0.9, whose result could differ from that of this {__version__}" in message
    assert message.endswith("resume it with jigsolve 0.0.9")
    assert problem_with(tmp_path / "file", forged(saved[0], lambda header: header)) is None


@pytest.mark.parametrize(
    "change",
    [
        {"arrays": []},
        {"arrays": [["pieces", "|O", [4, 2, 2, 3]]]},
        {"arrays": [["pieces", "|u1", [4, -2, 2, 3]]]},
        {"arrays": [["pieces", "|u1", [10**15]]]},
        {"arrays": 7},
        {"rows": 3},
        {"seed": -1},
        {"every": "soon"},
        {"history": []},
        {"history": [[1]]},
        {"parameters": {"population": 0}},
        {"parameters": {"people": 5}},
        {"evolved": None, "history": []},
    ],
)
def test_what_makes_no_sense_is_refused_though_its_checksum_is_right(tmp_path, saved, change):
    message = problem_with(tmp_path / "file", forged(saved[0], lambda header: header | change))
    assert "file makes no sense: " in message


@pytest.mark.parametrize("bad", [-1, 4, 3])
def test_arrangements_that_kernels_would_trip_over_are_refused(tmp_path, saved, bad):
    (tmp_path / "file").write_bytes(saved[0])
    run = read_checkpoint(tmp_path / "file")
    run.state.population.grids[2] = [0, 1, 2, bad] if bad != 3 else [0, 1, 1, 3]
    write_checkpoint(tmp_path / "file", run, overwrite=True)
    with pytest.raises(InputError, match="an arrangement does not hold every piece once"):
        read_checkpoint(tmp_path / "file")


def test_a_checkpoint_of_another_run_is_left_alone(tmp_path):
    (tmp_path / "file").write_bytes(b"theirs")
    with pytest.raises(OutputError, match=r"file exists already; jigsolve resume .*file goes on with it, .*--force"):
        solve(shuffled(), checkpoint=tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"theirs"
    solve(shuffled(), **QUICK["paper"], checkpoint=Checkpoints(tmp_path / "file", overwrite=True))
    assert isinstance(read_checkpoint(tmp_path / "file"), Checkpoint)


@pytest.mark.parametrize("every", [-1, float("nan"), float("inf")])
def test_a_time_between_saves_that_makes_no_sense_is_refused(tmp_path, every):
    with pytest.raises(InputError, match=f"not {every}"):
        Checkpoints(tmp_path / "file", every=every)


def test_where_nothing_can_be_saved_no_work_is_begun(tmp_path):
    for path in (tmp_path, tmp_path / "missing" / "file"):
        with pytest.raises(OutputError, match="folder"):
            solve(shuffled(), checkpoint=path)


# Saves that fail


def full_after(saves, monkeypatch):
    """A disk on which there is room for so many saves."""
    done, fsync = [], os.fsync

    def maybe_full(descriptor):
        done.append(descriptor)
        if len(done) > saves:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", maybe_full)


def test_on_a_full_disk_the_last_save_stands_and_the_run_goes_on(tmp_path, monkeypatch):
    full_after(3, monkeypatch)
    said = []
    options = Checkpoints(tmp_path / "file", every=0, warn=said.append)
    result = solve(shuffled(), "paper", **QUICK["paper"], checkpoint=options)
    assert facts(result) == undisturbed("paper")
    assert len(said) == 5
    assert said[0] == f"cannot write {tmp_path / 'file'}: No space left on device; the checkpoint saved 0 s ago stands"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    monkeypatch.undo()
    assert len(read_checkpoint(tmp_path / "file").history) == 2
    assert facts(resume(tmp_path / "file")) == undisturbed("paper")


def test_without_another_way_a_failed_save_is_a_warning(tmp_path, monkeypatch):
    full_after(1, monkeypatch)
    with pytest.warns(UserWarning, match="No space left on device; the checkpoint saved 0 s ago stands"):
        solve(shuffled(), "paper", **QUICK["paper"], checkpoint=tmp_path / "file", callback=interrupting(3))


def test_a_disk_without_room_for_the_first_save_is_found_out_at_once(tmp_path, monkeypatch):
    full_after(0, monkeypatch)
    with pytest.raises(OutputError, match="No space left on device"):
        solve(shuffled(), checkpoint=tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_during_a_save_saves_all_the_same(tmp_path, monkeypatch):
    saves, fsync = [], os.fsync

    def interrupt_the_fourth(descriptor):
        saves.append(descriptor)
        if len(saves) == 4:
            raise KeyboardInterrupt
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", interrupt_the_fourth)
    result = solve(shuffled(), "paper", **QUICK["paper"], checkpoint=Checkpoints(tmp_path / "file", every=0))
    assert result.stopped == "interrupted"
    assert len(read_checkpoint(tmp_path / "file").history) == len(result.history) == 3
    assert facts(resume(tmp_path / "file")) == undisturbed("paper")


def test_what_killed_saves_left_is_cleared_away_and_nothing_else(tmp_path):
    mine = {".file.part", ".file.notes.part", f".other.{'0' * 32}.part", f"file.{'0' * 32}.part"}
    for name in (*mine, f".file.{'0' * 32}.part", f".file.{'af' * 16}.part"):
        (tmp_path / name).touch()
    solve(shuffled(), "paper", **QUICK["paper"], checkpoint=tmp_path / "file")
    assert {path.name for path in tmp_path.iterdir()} == mine | {"file"}
    remove_checkpoint(tmp_path / "file")
    assert {path.name for path in tmp_path.iterdir()} == mine


# In other processes


def test_a_file_is_resumed_in_another_process(tmp_path):
    solve(shuffled(), **QUICK["best"], checkpoint=tmp_path / "file", callback=interrupting(5))
    code = "import jigsolve, sys; print(jigsolve.resume(sys.argv[1], threads=1).to_json())"
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "file"], capture_output=True, check=True)
    found = json.loads(done.stdout)
    del found["seconds"]
    assert found == undisturbed("best")[0]
