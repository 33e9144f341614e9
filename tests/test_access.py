import sys
from typing import NamedTuple

import numpy as np
import pytest

from jigsolve._access import prefetch, uncounted
from jigsolve._jit import kernel


class Inner(NamedTuple):
    numbers: np.ndarray
    factor: int


class Outer(NamedTuple):
    table: np.ndarray
    inner: Inner


@kernel
def total_of(outer):
    return outer.table.sum() + (outer.inner.numbers * outer.inner.factor).sum()


@kernel
def total_uncounted(outer):
    outer = uncounted(outer)
    return total_of(outer) + outer.table[-1, -1]


@kernel
def total_fetched(table, size):
    total = 0.0
    for row in range(len(table)):
        prefetch(table, row, size)
        total += table[row].sum()
    return total


def outer_of(rows):
    return Outer(np.arange(3.0 * rows).reshape(rows, 3), Inner(np.arange(rows), 7))


def test_what_is_not_counted_is_the_same():
    outer = outer_of(5)
    expected = outer.table.sum() + 7 * outer.inner.numbers.sum() + outer.table[-1, -1]
    assert total_uncounted(outer) == total_uncounted.py_func(outer) == expected


def test_what_is_not_counted_is_not_given_up_either():
    outer = outer_of(5)
    total_uncounted(outer)
    arrays = outer.table, outer.inner.numbers
    before = [sys.getrefcount(array) for array in arrays]
    for _ in range(10):
        total_uncounted(outer)
    assert [sys.getrefcount(array) for array in arrays] == before


@pytest.mark.parametrize("size", [0, 1, 64, 10_000])  # Asking for what lies behind an array does no harm.
def test_what_is_asked_for_early_is_the_same(size):
    table = np.random.default_rng(1).random((50, 30))
    assert total_fetched(table, size) == pytest.approx(table.sum())
    assert total_fetched.py_func(table, size) == pytest.approx(table.sum())
