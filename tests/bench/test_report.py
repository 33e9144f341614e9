from pathlib import Path

import pytest

from jigsolve import InputError
from jigsolve.bench.report import write_report
from jigsolve.bench.summary import summarize
from tests.bench.runs import PARAMETERS, a_run, append

GOLDEN = Path(__file__).parent / "golden_report.md"


def some_runs():
    """Two sets of the literature, one of them with two runs an image, one set of its own, and other parameters."""
    runs = [
        a_run(image="a.png", seed=1, neighbour=0.90, direct=0.80, cost=2000.0),
        a_run(image="a.png", seed=2, neighbour=0.94, direct=0.86, cost=2011.0, total_seconds=3.0),
        a_run(image="b.png", seed=1, neighbour=1.0, direct=1.0, perfect=1, component=1.0, cost=2010.25),
        a_run(image="b.png", seed=2, neighbour=0.98, direct=0.0, cost=2010.0),
        a_run(set="5015", image="c.jpg", pieces=5015, total_seconds=40.0, peak_megabytes=600.0, cost=2100.0),
        a_run(set="holidays", image="d.jpg", pieces=100, total_seconds=0.5),
    ]
    window = PARAMETERS.replace('"selection": "inverse"', '"selection": "window"')
    return [*runs, a_run(parameters=window, neighbour=0.5)]


def test_the_report_is_the_golden_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    append(Path("results.csv"), *some_runs())
    out = Path("report.md")
    write_report([Path("results.csv"), Path("results.csv")], out, notes="A note.\n")
    # When the report is changed on purpose: read the new one, then copy it over the golden one.
    assert out.read_text() == GOLDEN.read_text()
    charts = {path.name: path.read_bytes() for path in (tmp_path / "report").iterdir()}
    names = [
        f"{variant}-{chart}.png"
        for variant in ("paper", "paper-selection-window")
        for chart in ("accuracy", "cost", "seconds")
    ]
    assert sorted(charts) == sorted(names)
    assert all(data.startswith(b"\x89PNG") and len(data) > 5000 for data in charts.values())


def test_averages_are_over_runs_of_an_image_then_over_images():
    summaries = {(summary.variant, summary.name): summary for summary in summarize(some_runs())}
    assert list(summaries) == [
        ("paper", "432"),
        ("paper", "5015"),
        ("paper", "holidays"),
        ("paper, selection window", "432"),
    ]
    small = summaries["paper", "432"]
    spread = small.spread(lambda run: run.neighbour)
    assert spread.best == pytest.approx((94 + 100) / 2)
    assert spread.worst == pytest.approx((90 + 98) / 2)
    assert spread.average == pytest.approx((92 + 99) / 2)
    assert spread.deviation == pytest.approx((2 + 1) / 2)
    assert small.perfect() == pytest.approx(0.5)
    assert small.least_accurate(1) == [("a.png", pytest.approx(94))]
    assert [(run.image, run.seed) for run in small.better_than_perfect()] == [("a.png", 1), ("b.png", 2)]
    assert small.at_most_true_cost() == pytest.approx(75)
    assert small.runs_per_image == "2"


def test_no_runs_are_nothing_to_report_on(tmp_path):
    path = tmp_path / "results.csv"
    append(path, a_run())
    path.write_text(path.read_text().splitlines(keepends=True)[0])
    with pytest.raises(InputError, match="no run in"):
        write_report([path], tmp_path / "report.md")
    assert not (tmp_path / "report.md").exists()
