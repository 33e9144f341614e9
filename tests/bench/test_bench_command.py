"""jigsolve bench through real processes: stopped, killed, crashed, resumed."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from jigsolve import Picture, write_picture
from jigsolve.bench import runner
from jigsolve.bench.results import read_runs
from jigsolve.bench.runner import Failure, Task, run_tasks
from tests.puzzles import drawing

# What is timed is the bench, not the compiler.
pytestmark = pytest.mark.usefixtures("compiled")

QUICK = ("--piece-size", "8", "--population", "12", "--generations", "3", "--effort", "1")


@pytest.fixture
def images(tmp_path):
    """Two sets of three small drawings."""
    for name, height in (("one", 24), ("two", 32)):
        (tmp_path / "images" / name).mkdir(parents=True)
        for number in range(3):
            pixels = drawing(height, 40 + 8 * number)
            write_picture(tmp_path / "images" / name / f"{number}.png", Picture(pixels))
    return tmp_path / "images"


def command(*arguments):
    return [sys.executable, "-m", "jigsolve", "bench", *map(str, arguments)]


def bench(*arguments, cwd):
    return subprocess.run(command(*arguments), cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


def without_time(runs):
    """What of the rows must not depend on when and how they were made, in an order of their own."""
    nothing = dict.fromkeys(
        [f"{stage}_seconds" for stage in ("read", "costs", "candidates", "evolve", "refine", "total")], 0.0
    )
    bare = [replace(run, **nothing, peak_megabytes=0.0, threads=0, jobs=0, commit="") for run in runs]
    return sorted(bare, key=lambda run: run.key)


def test_a_bench_killed_half_way_ends_with_the_rows_of_an_undisturbed_one(images, tmp_path):
    arguments = ("run", "--images", images, "--runs", 2, *QUICK)
    whole = bench(*arguments, "--out", "whole.csv", cwd=tmp_path)
    assert whole.returncode == 0, whole.stderr
    rows = read_runs(tmp_path / "whole.csv")
    assert len(rows) == 12

    torn = tmp_path / "torn.csv"
    for _ in range(20):
        process = subprocess.Popen(
            command(*arguments, "--out", torn.name), cwd=tmp_path, start_new_session=True, stderr=subprocess.DEVNULL
        )
        before = torn.stat().st_size if torn.exists() else 0
        while process.poll() is None and (torn.stat().st_size if torn.exists() else 0) == before:
            time.sleep(0.005)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if process.returncode == 0:
            break
    else:
        pytest.fail("it never came to an end")
    assert without_time(read_runs(torn)) == without_time(rows)

    again = bench(*arguments, "--out", torn.name, cwd=tmp_path)
    assert "12 runs, 12 of them in torn.csv already" in again.stderr
    assert without_time(read_runs(torn)) == without_time(rows)


def test_jobs_side_by_side_give_the_same_rows(images, tmp_path):
    for jobs in (1, 2):
        done = bench(
            "run", "--images", images, "--runs", 1, *QUICK, "--jobs", jobs, "--out", f"{jobs}.csv", cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
    one, two = (without_time(read_runs(tmp_path / f"{jobs}.csv")) for jobs in (1, 2))
    assert one == two


def test_costs_are_charted_by_generation_without_the_refinement(images):
    image = images / "one" / "0.png"
    run = runner.run_task(Task("one", image, 8, 8, 1, "best", (("effort", 1), ("generations", 3)), None, 1, 1, ""))
    assert run.refine_seconds > 0
    assert run.generations == 3
    assert [entry.partition(":")[0] for entry in run.costs_by_generation.split()] == ["0", "1", "2", "3"]


def test_a_picture_over_the_limit_fails_with_the_advice_and_the_limit_is_no_part_of_a_run(images, tmp_path):
    arguments = ["run", "--images", images, "--set", "one", "--only", 1, "--runs", 1, *QUICK, "--out", "r.csv"]
    refused = bench(*arguments, "--max-megapixels", 0.0001, cwd=tmp_path)
    assert refused.returncode == 1
    assert "pass --max-megapixels 1 (max_megapixels=1)" in refused.stderr
    assert bench(*arguments, "--max-megapixels", 500, cwd=tmp_path).returncode == 0
    assert "1 runs, 1 of them in r.csv already" in bench(*arguments, cwd=tmp_path).stderr


def test_ctrl_c_keeps_the_rows_that_are_done(images, tmp_path):
    out = tmp_path / "results.csv"
    process = subprocess.Popen(
        command("run", "--images", images, "--runs", 500, *QUICK, "--out", out.name),
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    lines = [process.stderr.readline() for _ in range(4)]
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(60) == 130
    rest = process.stderr.read()
    process.stderr.close()
    assert "Traceback" not in rest
    assert len(read_runs(out)) >= 3, lines


def members(group):
    """The living processes of a process group."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, pgrp = path.read_text().rpartition(")")[2].split()[:3]
            if int(pgrp) == group and state != "Z":
                found.append(path.parent.name)
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_workers_end_with_the_bench_even_when_it_alone_is_killed(images, tmp_path):
    arguments = ("run", "--images", images, "--runs", 500, *QUICK, "--jobs", 2, "--out", "results.csv")
    process = subprocess.Popen(
        command(*arguments), cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    for _ in range(3):
        process.stderr.readline()
    assert len(members(process.pid)) >= 3
    process.kill()
    process.wait()
    process.stderr.close()
    deadline = time.monotonic() + 20
    while members(process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert members(process.pid) == []


def test_one_unreadable_picture_does_not_stop_the_others(images, tmp_path):
    (images / "one" / "1.png").write_bytes(b"not a picture")
    done = bench("run", "--images", images, "--runs", 1, *QUICK, "--out", "results.csv", cwd=tmp_path)
    assert done.returncode == 1
    assert "1.png is not a picture" in done.stderr
    assert "1 runs failed; the same command tries them again" in done.stderr
    assert len(read_runs(tmp_path / "results.csv")) == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--images", "nowhere"), "there is no folder nowhere"),
        (("--images", "images", "--set", "432"), "no set '432' in images; there are one, two"),
        (("--images", "images", "--time-limit", "0"), "--time-limit must be more than 0 seconds"),
        (("--images", "images", "--population", "3"), "population of 3"),
        (("--images", "images", "--out", "no/where.csv"), "the folder no does not exist"),
        (("--images", "images", "--out", "other.csv"), "not a file of benchmark results"),
        (("--images", "images", "--piece-size", "0"), "0x0"),
    ],
)
def test_bad_input_is_one_sentence_and_no_row(images, tmp_path, arguments, message):
    (tmp_path / "other.csv").write_text("a,b\n")
    done = bench("run", "--runs", 1, "--population", 12, "--generations", 1, *arguments, cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "results.csv").exists()


def test_a_worker_that_dies_takes_only_its_own_run_with_it(images, monkeypatch):
    monkeypatch.setattr(runner, "run_task", die_on_the_second)
    tasks = [
        Task("one", path, 8, 8, 1, "paper", (("generations", 1), ("population", 6)), None, 1, 2, "")
        for path in sorted((images / "one").iterdir())
    ]
    outcomes = list(run_tasks(tasks, jobs=2))
    failures = [outcome for outcome in outcomes if isinstance(outcome, Failure)]
    assert [failure.task.image.name for failure in failures] == ["1.png"]
    assert sorted(outcome for outcome in outcomes if isinstance(outcome, str)) == ["0.png", "2.png"]


def die_on_the_second(task):
    """Stands in for run_task in a worker process."""
    if task.image.name == "1.png":
        os.kill(os.getpid(), signal.SIGKILL)
    return task.image.name


def test_sets_crop_poster_report_and_peers_as_commands(images, tmp_path):
    listed = bench("sets", cwd=tmp_path)
    assert "22755  folder sholomon_22755" in listed.stdout
    checked = bench("sets", images, cwd=tmp_path)
    assert checked.stdout.splitlines() == ["one: 3 images, a set of its own", "two: 3 images, a set of its own"]

    assert (
        bench("crop", images / "two", "-o", "sets/crops", "--pieces", 12, "--piece-size", 8, cwd=tmp_path).returncode
        == 0
    )
    assert len(list((tmp_path / "sets" / "crops").iterdir())) == 3
    poster = bench("poster", images / "two", "-o", "poster.png", "--piece-size", 8, cwd=tmp_path)
    assert poster.returncode == 0
    assert "poster.png: " in poster.stdout

    bench("run", "--images", "sets", "--runs", 2, *QUICK, "--out", "results.csv", cwd=tmp_path)
    report = bench("report", "results.csv", "-o", "report.md", cwd=tmp_path)
    assert report.returncode == 0, report.stderr
    assert "| crops | 3 | 2 |" in (tmp_path / "report.md").read_text()
    assert len(list((tmp_path / "report").iterdir())) == 3
    refused = bench("report", "results.csv", "-o", "report.md", cwd=tmp_path)
    assert refused.returncode == 2
    assert "report.md exists already" in refused.stderr

    assert "To get it: clone" in bench("peers", cwd=tmp_path).stdout
