import os
import sys
from pathlib import Path
from time import sleep

import numpy as np
import pytest

from jigsolve import Arrangement, Generation, Parameters, Progress
from jigsolve import display as display_module
from jigsolve.display import Display, decoders_silenced


def progress(number, cost=1234.56, seconds=0.0):
    generation = Generation(number, cost, 2 * cost, 0.5, 0.3, 0.2, seconds, 0)
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
    with display.generations(2, 10) as shown:
        for number in range(3):
            shown.show(progress(number))
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
    with Display(quiet=False).generations(100, 432) as shown:
        shown.show(progress(0))
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


@pytest.mark.parametrize(("max_seconds", "left"), [(None, 180), (150, 140), (5, 0)])
def test_the_time_left_goes_by_the_last_generations_and_the_limit(capsys, clock, max_seconds, left):
    with Display(quiet=False).generations(100, 4, max_seconds) as shown:
        for number in range(10):
            # The first five take an hour in all, the others two seconds each.
            shown.show(progress(number, seconds=2.0 * (number - 10) + 10.0 if number > 4 else -3600.0))
        clock.now += 60
        shown.show(progress(10, seconds=10.0))
    assert capsys.readouterr().err.splitlines()[-1].endswith(f"about {left} s left")


def test_no_time_is_foretold_before_a_few_generations(capsys, clock):
    with Display(quiet=False).generations(100, 4) as shown:
        for number in range(5):
            clock.now += 60
            shown.show(progress(number, seconds=60.0 * number))
    assert "left" not in capsys.readouterr().err


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
