import json

import numpy as np
import pytest

from jigsolve import InputError, Puzzle, read_record, solve, truth_to_json
from jigsolve.records import check_belong_together
from tests.encoders import noise
from tests.puzzles import drawn_puzzle


@pytest.fixture
def case(tmp_path):
    """A shuffled puzzle, its truth and the path of the truth's file."""
    puzzle, truth = drawn_puzzle(3, 4).shuffled(seed=7)
    path = tmp_path / "truth.json"
    path.write_text(truth_to_json(puzzle, truth, 7))
    return puzzle, truth, path


def test_a_truth_is_read_back(case):
    puzzle, truth, path = case
    record = read_record(path)
    assert record.arrangement == truth
    assert record.puzzle == puzzle.digest
    assert record.path == path


def test_a_truth_says_what_it_is_of(case):
    data = json.loads(case[2].read_text())
    assert data["format"] == "jigsolve-truth"
    assert (data["piece_width"], data["piece_height"], data["shuffle_seed"]) == (8, 8, 7)


def test_a_result_is_read_back(case, tmp_path):
    result = solve(case[0], population=10, generations=1)
    (tmp_path / "result.json").write_text(result.to_json())
    record = read_record(str(tmp_path / "result.json"))
    assert record.arrangement == result.arrangement
    check_belong_together(record, read_record(case[2]))


def test_records_of_two_puzzles_do_not_belong_together(case, tmp_path):
    other, truth = Puzzle.from_array(noise(24, 32), 8).shuffled(7)
    (tmp_path / "other.json").write_text(truth_to_json(other, truth, 7))
    with pytest.raises(InputError, match=r"truth\.json and .*other\.json do not belong together"):
        check_belong_together(read_record(case[2]), read_record(tmp_path / "other.json"))


@pytest.mark.parametrize("part", [0.0, 0.1, 0.5, 0.99])
def test_a_truncated_file_is_refused(case, part):
    text = case[2].read_text()
    case[2].write_text(text[: int(part * len(text))])
    with pytest.raises(InputError, match=r"truth\.json is not JSON"):
        read_record(case[2])


@pytest.mark.parametrize("data", [b"\xff\xfe\0", b"[" * 100_000, b"1" * 5000], ids=["bytes", "nested", "long"])
def test_bytes_that_are_no_json_are_refused(tmp_path, data):
    (tmp_path / "file.json").write_bytes(data)
    with pytest.raises(InputError, match=r"file\.json is not JSON"):
        read_record(tmp_path / "file.json")


@pytest.mark.parametrize(
    "data", [[], 1, None, "text", {}, {"format": "other"}, {"format": ["jigsolve-truth"]}], ids=str
)
def test_json_of_another_kind_is_refused(tmp_path, data):
    (tmp_path / "file.json").write_text(json.dumps(data))
    with pytest.raises(InputError, match="neither a result nor a truth that jigsolve wrote"):
        read_record(tmp_path / "file.json")


@pytest.mark.parametrize(
    "arrangement", [None, {}, [[0, 1]], {"rows": 1, "columns": 2, "pieces": [[0, 0]]}, "text"], ids=str
)
def test_a_damaged_arrangement_is_refused(tmp_path, arrangement):
    (tmp_path / "file.json").write_text(json.dumps({"format": "jigsolve-truth", "arrangement": arrangement}))
    with pytest.raises(InputError, match=r"file\.json is damaged"):
        read_record(tmp_path / "file.json")


def test_a_truth_without_an_arrangement_is_damaged(tmp_path):
    (tmp_path / "file.json").write_text(json.dumps({"format": "jigsolve-truth"}))
    with pytest.raises(InputError, match=r"file\.json is damaged"):
        read_record(tmp_path / "file.json")


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*missing\.json: No such file"):
        read_record(tmp_path / "missing.json")
    with pytest.raises(InputError, match=r"cannot read .*: Is a directory"):
        read_record(tmp_path)


def test_the_truth_puts_the_picture_back(case):
    puzzle, _, path = case
    whole = drawn_puzzle(3, 4)
    assembled = puzzle.assemble(read_record(path).arrangement).pixels
    assert np.array_equal(assembled, whole.assemble(whole.as_given()).pixels)


def test_a_result_is_no_truth(case, tmp_path):
    result = solve(case[0], population=6, generations=1)
    (tmp_path / "result.json").write_text(result.to_json())
    record = read_record(tmp_path / "result.json")
    with pytest.raises(InputError, match=r"result\.json is a result, not a truth"):
        check_belong_together(record, record)


def test_a_truth_knows_which_pieces_are_identical(case, tmp_path):
    assert read_record(case[2]).kinds == ()
    puzzle, truth = Puzzle.from_array(np.zeros((16, 24), dtype=np.uint8), 8).shuffled(1)
    path = tmp_path / "flat.json"
    path.write_text(truth_to_json(puzzle, truth, 1))
    assert read_record(path).kinds == (0,) * 6
    for kinds in ([0], "000000", [0, 0, 0, 0, 0, "0"], {}):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"kinds": kinds}))
        with pytest.raises(InputError, match="kinds are not one number a piece"):
            read_record(path)
