import subprocess
import sys

import pytest

from jigsolve import InputError
from jigsolve.threads import Threads, borrowed


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
from jigsolve.threads import Threads, borrowed

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


def test_what_is_borrowed_is_lent_again_and_lost_in_an_error():
    pool, made = [], []

    def make():
        made.append(object())
        return made[-1]

    for _ in range(3):
        with borrowed(pool, make) as thing, borrowed(pool, make) as another:
            assert pool == []
            assert {thing, another} == set(made)
    assert len(made) == 2
    assert set(pool) == set(made)
    with pytest.raises(ValueError, match="no"), borrowed(pool, make):
        raise ValueError("no")
    assert len(pool) == 1
