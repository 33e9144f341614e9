import json
import multiprocessing
import resource
import signal
from dataclasses import replace

import pytest

from jigsolve import InputError
from jigsolve.bench.results import ResultsFile, read_runs
from tests.bench.runs import a_run, append


def test_rows_come_back_as_they_went(tmp_path):
    path = tmp_path / "results.csv"
    runs = [a_run(seed=seed, stopped='reached "1", 2\nseconds') for seed in (1, 2)]
    append(path, *runs)
    assert read_runs(path) == runs
    with ResultsFile(path) as results:
        assert results.runs == runs


@pytest.mark.parametrize("cut", [1, 10, 200])
def test_a_half_written_row_is_dropped_and_the_next_goes_in_its_place(tmp_path, cut):
    path = tmp_path / "results.csv"
    append(path, a_run(seed=1), a_run(seed=2))
    path.write_bytes(path.read_bytes()[:-cut])
    with ResultsFile(path) as results:
        assert results.runs == [a_run(seed=1)]
        results.append(a_run(seed=3))
    assert read_runs(path) == [a_run(seed=1), a_run(seed=3)]


def test_an_empty_file_and_a_lone_header_are_a_beginning(tmp_path):
    path = tmp_path / "results.csv"
    path.touch()
    append(path, a_run())
    header = path.read_text().splitlines(keepends=True)[0]
    for beginning in (header, header[:50]):
        path.write_text(beginning)
        append(path, a_run())
        assert read_runs(path) == [a_run()]


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "a,b\n1,2", "{}", "set,image"])
def test_another_file_is_refused_and_left_alone(tmp_path, text):
    path = tmp_path / "other.csv"
    path.write_text(text + "!")
    with pytest.raises(InputError, match="not a file of benchmark results"):
        ResultsFile(path)
    assert path.read_text() == text + "!"


def test_one_bench_at_a_time(tmp_path):
    path = tmp_path / "results.csv"
    with ResultsFile(path), pytest.raises(InputError, match="another bench is writing to"):
        ResultsFile(path)
    append(path, a_run())


def test_a_damaged_row_is_named_by_its_line(tmp_path):
    path = tmp_path / "results.csv"
    append(path, a_run())
    path.write_text(path.read_text().replace(",432,", ",many,", 1) + path.read_text().splitlines()[1] + "\n")
    with pytest.raises(InputError, match="line 2"):
        read_runs(path)


def append_with_little_room(path, room):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    try:
        append(path, a_run(seed=2))
    except OSError:
        return
    raise SystemExit(9)


def test_a_full_disk_leaves_the_rows_that_were_there(tmp_path):
    path = tmp_path / "results.csv"
    append(path, a_run(seed=1))
    before = path.read_bytes()
    process = multiprocessing.get_context("spawn").Process(
        target=append_with_little_room, args=(path, len(before) + 100)
    )
    process.start()
    process.join(60)
    assert process.exitcode == 0
    assert path.read_bytes() == before


def test_the_key_tells_runs_apart():
    keys = {a_run().key, a_run(seed=2).key, a_run(image="b.png").key, a_run(parameters="{}").key, a_run(set="540").key}
    assert len(keys) == 5
    assert replace(a_run(), total_seconds=9.0).key == a_run().key


def test_a_parameter_that_came_later_counts_with_the_value_of_the_preset():
    parameters = json.loads(a_run().parameters)
    del parameters["selection"]
    assert a_run(parameters=json.dumps(parameters)).key == a_run().key
