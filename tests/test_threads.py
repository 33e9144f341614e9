import subprocess
import sys

import pytest

from jigsolve import InputError
from jigsolve.threads import Threads


@pytest.mark.parametrize("length", [0, 1, 7, 100])
@pytest.mark.parametrize("count", [1, 3])
def test_every_item_is_in_one_slice(length, count):
    seen = []
    with Threads(count) as threads:
        threads.run(length, lambda begin, end: seen.extend(range(begin, end)))
    assert sorted(seen) == list(range(length))


def test_an_error_in_a_slice_comes_through_when_all_are_done():
    seen = []

    def work(begin, end):
        seen.append(begin)
        if begin == 3:
            raise ZeroDivisionError

    with Threads(2) as threads, pytest.raises(ZeroDivisionError):
        threads.run(8, work)
    assert sorted(seen) == list(range(8))


def test_there_is_at_least_one():
    with pytest.raises(InputError, match="threads must be at least 1, not 0"):
        Threads(0)


INTERRUPTED = """
import random, signal
from jigsolve.threads import Threads

def interrupt(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)
random.seed(1)
with Threads(2) as threads:
    for _ in range(500):
        try:
            signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-4, 2e-3))
            while True:
                threads.run(16, lambda begin, end: None)
        except KeyboardInterrupt:
            pass
    made = []
    threads.run(16, lambda begin, end: made.extend(range(begin, end)))
print(sorted(made) == list(range(16)))
"""


def test_interrupted_at_any_moment_it_neither_hangs_nor_breaks():
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=100, check=True)
    assert done.stdout == "True\n"
