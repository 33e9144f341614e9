import os
import sys
from pathlib import Path
from time import sleep

import numpy as np
import pytest
from rich.console import Console

from jigsolve import Arrangement, Generation, Parameters, Progress
from jigsolve import display as display_module
from jigsolve.display import Display, decoders_silenced

HUNDRED = Parameters(generations=100)
PATIENT = Parameters(generations=100, patience=4)
REFINED = Parameters(generations=100, effort=1)


def progress(number, cost=1234.56, seconds=0.0, stage="evolve"):
    generation = Generation(number, stage, cost, 2 * cost, 0.5, 0.3, 0.2, seconds, 0)
    return Progress(generation, Arrangement(np.array([[0]])), Parameters())


@pytest.fixture
def clock(monkeypatch):
    """A clock that only the test moves."""

    class Clock:
        now = 100.0

    monkeypatch.setattr(display_module, "monotonic", lambda: Clock.now)
    return Clock


def test_what_is_said_goes_to_standard_error_as_it_is(capsys):
    text = "[bold]brackets[/bold] and " + 50 * "a long line "
    Display(quiet=False).say(text)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == text + "\n"


def test_quiet_says_nothing(capsys, monkeypatch):
    monkeypatch.setattr(display_module, "PATIENCE_SECONDS", 0.0)
    display = Display(quiet=True)
    display.say("something")
    with display.patiently("something"):
        sleep(0.05)
    with display.generations(Parameters(generations=2), 10) as shown:
        shown.prepare(0.5)
        for number in range(3):
            shown.show(progress(number))
        shown.show(progress(3, stage="refine"))
    captured = capsys.readouterr()
    assert captured.out + captured.err == ""


def test_patience_ends_after_a_while(capsys, monkeypatch):
    monkeypatch.setattr(display_module, "PATIENCE_SECONDS", 0.01)
    with Display(quiet=False).patiently("still at it"):
        sleep(0.3)
    assert capsys.readouterr().err == "still at it\n"


def test_what_is_quick_is_not_worth_a_word(capsys, monkeypatch):
    monkeypatch.setattr(display_module, "PATIENCE_SECONDS", 0.3)
    with Display(quiet=False).patiently("still at it"):
        pass
    sleep(0.5)
    assert capsys.readouterr().err == ""


def test_lines_come_now_and_then_and_at_the_end(capsys, clock):
    with Display(quiet=False).generations(HUNDRED, 432) as shown:
        for number in range(5):
            shown.show(progress(number))
        clock.now += 1.0
        shown.show(progress(5))
        clock.now += 1.5
        shown.show(progress(10))
        shown.show(progress(100))
    lines = capsys.readouterr().err.splitlines()
    figures = "cost 1,234.6, agreed 50%, buddy 30%, greedy 20%"
    assert lines[0] == "finding candidates for 432 pieces"
    assert lines[1].startswith(f"generation 10/100: {figures}, about ")
    assert lines[2] == f"generation 100/100: {figures}"


def test_candidates_that_take_long_are_told_of_now_and_then(capsys, clock):
    with Display(quiet=False).generations(HUNDRED, 90_000) as shown:
        clock.now += 60  # Before the first share is told: no part of what is estimated.
        for share in (0.0, 0.005, 0.25, 0.3, 0.5, 1.0):
            shown.prepare(share)
            clock.now += 1.5
        clock.now += 2.5
        shown.show(progress(0))
    assert capsys.readouterr().err.splitlines() == [
        "finding candidates for 90000 pieces",
        "candidates: 25%, about 9 s until evolution begins",
        "candidates: 50%, about 6 s until evolution begins",
        "generation 0/100: cost 1,234.6, agreed 50%, buddy 30%, greedy 20%",
    ]


def test_candidates_that_are_found_at_once_are_not_worth_a_line(capsys, clock):
    with Display(quiet=False).generations(HUNDRED, 100) as shown:
        shown.prepare(0.0)
        clock.now += 0.5
        shown.prepare(1.0)
    assert capsys.readouterr().err.splitlines() == ["finding candidates for 100 pieces"]


@pytest.mark.parametrize(("max_seconds", "left"), [(None, "about 180"), (150, "at most 140"), (5, "at most 0")])
def test_the_time_left_goes_by_the_last_generations_and_the_limit(capsys, clock, max_seconds, left):
    with Display(quiet=False).generations(HUNDRED, 4, max_seconds) as shown:
        for number in range(10):
            # The first five take an hour in all, the others two seconds each.
            shown.show(progress(number, seconds=2.0 * (number - 10) + 10.0 if number > 4 else -3600.0))
        clock.now += 60
        shown.show(progress(10, seconds=10.0))
    assert capsys.readouterr().err.splitlines()[-1].endswith(f"{left} s left")


def test_no_time_is_foretold_before_a_few_generations(capsys, clock):
    with Display(quiet=False).generations(HUNDRED, 4) as shown:
        for number in range(5):
            clock.now += 60
            shown.show(progress(number, seconds=60.0 * number))
    assert "left" not in capsys.readouterr().err


def test_the_refinement_is_told_apart_and_each_stage_ends_with_a_line(capsys, clock):
    with Display(quiet=False).generations(PATIENT, 432) as shown:
        for number in range(3):
            shown.show(progress(number))
        shown.show(progress(3, cost=1000.0, stage="refine"))
        clock.now += 2.5
        shown.show(progress(4, cost=900.0, stage="refine"))
        shown.show(progress(5, cost=800.0, stage="refine"))
        shown.show(progress(6, cost=700.0, stage="refine"))
    assert capsys.readouterr().err.splitlines()[1:] == [
        "generation 2: cost 1,234.6, agreed 50%, buddy 30%, greedy 20%",
        "refining, part 2: cost 900.0, mean 1,800.0",
        "refining, part 4: cost 700.0, mean 1,400.0",
    ]


def test_a_run_that_ends_early_ends_with_a_line(capsys, clock):
    with Display(quiet=False).generations(HUNDRED, 4) as shown:
        for number in range(3):
            shown.show(progress(number))
    assert capsys.readouterr().err.splitlines()[-1].startswith("generation 2/100: ")


def test_a_line_is_said_once(capsys, clock):
    with Display(quiet=False).generations(HUNDRED, 4) as shown:
        clock.now += 60
        shown.show(progress(0))
    assert len(capsys.readouterr().err.splitlines()) == 2


def last_line(capsys, clock, parameters, stage="evolve", seconds=1.0, **options):
    """The last of 20 lines, of which each took so many seconds."""
    with Display(quiet=False).generations(parameters, 4, **options) as shown:
        for number in range(20):
            shown.show(progress(number, seconds=seconds * number))
        shown.show(progress(20, seconds=seconds * 20, stage=stage))
        clock.now += 60
        shown.show(progress(21, seconds=seconds * 21, stage=stage))
    return capsys.readouterr().err.splitlines()[-1]


BOTH = Parameters(generations=100, patience=4, effort=1)


@pytest.mark.parametrize(
    ("parameters", "options", "left"),
    [
        (HUNDRED, {}, "about 79 s left"),
        (HUNDRED, {"stops_early": True}, "at most 79 s left"),
        (PATIENT, {}, "at most 79 s left"),
        (REFINED, {}, "about 79 s of evolution left"),
        (BOTH, {}, "at most 79 s of evolution left"),
        (BOTH, {"max_seconds": 1000.0}, "at most 79 s of evolution left"),
        (BOTH, {"max_seconds": 51.0}, "at most 30 s left"),
        (PATIENT, {"max_seconds": 10.0}, "at most 0 s left"),
        (HUNDRED, {"seconds": 10.0}, "about 13 min left"),
        (HUNDRED, {"seconds": 600.0}, "about 13 h 10 min left"),
    ],
)
def test_what_is_left_is_said_as_far_as_it_is_known(capsys, clock, parameters, options, left):
    assert last_line(capsys, clock, parameters, **options).endswith(f"greedy 20%, {left}")


def test_how_long_a_refinement_takes_only_a_limit_tells(capsys, clock):
    assert last_line(capsys, clock, REFINED, "refine").endswith("mean 2,469.1")
    assert last_line(capsys, clock, REFINED, "refine", max_seconds=51.0).endswith("mean 2,469.1, at most 30 s left")


def test_a_resumed_run_counts_on_and_times_its_own_generations(capsys, clock):
    past = [progress(number, seconds=float(number)).generation for number in range(50)]
    with Display(quiet=False).generations(HUNDRED, 4, past=past) as shown:
        for number in range(50, 56):
            clock.now += 60
            # Between them the candidates were found again.
            shown.show(progress(number, seconds=1000.0 + 2 * number))
    lines = capsys.readouterr().err.splitlines()[1:]
    assert all(line.endswith("greedy 20%") for line in lines[:-1])
    assert lines[-1].startswith("generation 55/100: ")
    assert lines[-1].endswith("about 90 s left")


def test_a_resumed_refinement_counts_on(capsys, clock):
    past = [progress(number).generation for number in range(9)] + [progress(9, stage="refine").generation]
    with Display(quiet=False).generations(REFINED, 4, past=past) as shown:
        shown.show(progress(10, stage="refine"))
    assert capsys.readouterr().err.splitlines()[-1].startswith("refining, part 2: ")


def test_what_went_wrong_is_said_even_when_quiet(capsys):
    for quiet in (False, True):
        Display(quiet=quiet).warn("the disk is full")
        assert capsys.readouterr().err == "jigsolve: the disk is full\n"


def live(monkeypatch, capsys, parameters, stages):
    """What a terminal of 100 columns shows after each of these stages, and at the end."""
    monkeypatch.setenv("COLUMNS", "100")
    display = Display(quiet=False)
    display.console = Console(stderr=True, force_terminal=True, highlight=False, no_color=True)
    shown_lines = []
    with display.generations(parameters, 4) as shown:
        for number, stage in enumerate(stages):
            shown.show(progress(number, stage=stage))
            shown._progress.refresh()
            shown_lines.append(capsys.readouterr().err)
    return [*shown_lines, capsys.readouterr().err]


def test_a_terminal_shows_evolution_and_refinement(monkeypatch, capsys):
    first, second, third, end = live(monkeypatch, capsys, HUNDRED, ["evolve", "evolve", "refine"])
    assert "generation 0/100" in first
    assert "generation 1/100" in second
    assert "refining, part 1" in third
    assert "cost 1,234.6, mean 2,469.1" in third
    assert "agreed" not in third
    # The bar is full at the end and not before.
    full = 20 * "━"
    assert full in end
    assert full not in first + second


def test_a_terminal_shows_how_far_the_candidates_are(monkeypatch, capsys, clock):
    monkeypatch.setenv("COLUMNS", "100")
    display = Display(quiet=False)
    display.console = Console(stderr=True, force_terminal=True, highlight=False, no_color=True)
    with display.generations(HUNDRED, 4) as shown:
        shown.prepare(0.0)
        clock.now += 3.0
        shown.prepare(0.25)
        shown._progress.refresh()
        line = capsys.readouterr().err
        shown.show(progress(0))
        shown._progress.refresh()
        first = capsys.readouterr().err
    assert "finding candidates for 4 pieces" in line
    assert "about 9 s until evolution begins" in line
    assert 5 * "━" in line
    assert "until" not in first.splitlines()[-1]


def test_a_terminal_counts_without_a_total_where_there_is_none(monkeypatch, capsys):
    first, *_ = live(monkeypatch, capsys, PATIENT, ["evolve"])
    assert "generation 0 " in first
    assert "/100" not in first


def test_c_libraries_are_silenced_and_heard_again(capfd):
    with decoders_silenced():
        os.write(2, b"libpng warning\n")
    os.write(2, b"heard\n")
    assert capfd.readouterr().err == "heard\n"


def silenced_failure():
    with decoders_silenced():
        raise ValueError("damaged")


def test_they_are_heard_again_after_an_error(capfd):
    with pytest.raises(ValueError, match="damaged"):
        silenced_failure()
    os.write(2, b"heard\n")
    assert capfd.readouterr().err == "heard\n"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere open files are listed elsewhere")
def test_silencing_leaves_no_file_open():
    before = len(list(Path("/proc/self/fd").iterdir()))
    with decoders_silenced():
        pass
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_without_standard_error_number_two_is_left_alone(capfd, monkeypatch):
    # Whatever file was opened after it was closed may have its number.
    monkeypatch.setattr(sys, "stderr", None)
    with decoders_silenced():
        os.write(2, b"some file's contents")
    assert capfd.readouterr().err == "some file's contents"
