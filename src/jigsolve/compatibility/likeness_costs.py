"""Likeness of flat pieces: what is known of a piece, and how unlikely two flat ones are to be neighbours.

How pieces come by it is in `likeness`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._access import prefetch
from .._jit import inlined, kernel

# What is in which column of `Likeness.sheets`: numbers that sum a piece up, as in `ramps`, but by how they change
# across the seam and along it; how much of it changes from pixel to pixel, as logarithms; how flat it is, 0 to 1; how
# bright it is where it begins and where it ends; and from UNITS on, in what units some of these differ among
# neighbours.
BRIGHT, ACROSS, ALONG, BUSY, BUSY_DOWN, FLAT, BEGIN, END, UNITS = range(9)
COMPARED = 5
COLUMNS = 16
# How much less likely a pair is, in natural logarithms: for the root of what its lines say, for blocks of brightness
# and of colour being broken at all and for each, and for each unit by which numbers differ. These were fitted to
# photographs, but broken blocks count about twice as much, as chains find whole squares by them (docs/research.md).
OF_LINES = 0.18
OF_BROKEN, OF_BLOCK = 4.0, 4.0
OF_BROKEN_COLOUR, OF_COLOUR_BLOCK = 3.0, 4.0
OF_BRIGHT, OF_STEP, OF_ALONG, OF_BUSY, OF_BUSY_DOWN = 0.48, 0.5, 0.47, 0.25, 0.25
# The same for each colour that changes somewhere across a seam that cuts its blocks; and how much more likely a pair is
# for each that does between blocks.
OF_CHANGED, OF_CHANGED_BETWEEN = 4.0, 1.0
# The same at most for differing in brightness at the seam, and the squared levels at which it is half of that.
OF_BESIDE, HALF_LEVEL = 3.0, 0.81
# How much of a block is broken in whole ones at most; how many broken blocks count; and squared units that do.
HARDLY = 0.15
MOST_BROKEN = 3.0
MOST_UNITS = 100.0
# All that counts in all, and what even the most likely pair costs, so that the ratio of two costs says something.
MOST = 30.0
LEAST = 10.0
# Of whole numbers, of 0 as of 1, in parts that every machine computes the same.
LOGARITHMS = np.rint(256 * np.log(np.maximum(np.arange(65), 1))) / 256


class Likeness(NamedTuple):
    """What flat pieces are like, in units of how neighbours differ."""

    sheets: NDArray[np.float32]
    """(2 * pieces, COLUMNS), a cache line each: a piece as seams to the right see it, and as seams down do; of no rows
    where nothing was learned."""
    worth: NDArray[np.float64]
    """(1,): what a natural logarithm costs."""
    vague: NDArray[np.float64]
    """(1,): how much it counts that pieces may be of several phases: 1 where candidates are compared by what is told of
    phases, else 0, as it would draw such pieces together."""


def no_likeness() -> Likeness:
    """Return what is known where there is nothing to know."""
    return Likeness(np.empty((0, COLUMNS), np.float32), np.ones(1), np.zeros(1))


@inlined
def sheet_of(side):
    """The number of the sheet on which a side's piece is as that side sees it."""
    return 2 * (side >> 2) + (side & 1)


@inlined
def fetch_sheet(likeness, side):
    """Ask for what is known of a side's piece."""
    if len(likeness.sheets) > 0:
        prefetch(likeness.sheets, sheet_of(side), 4 * COLUMNS)


@inlined
def share_of_likeness(likeness, side, other):
    """How much likeness counts between two sides: 1 if both pieces are flat, 0 if one is not, or nothing is known."""
    sheets = likeness.sheets
    if len(sheets) == 0:
        return 0.0
    return np.float64(sheets[sheet_of(side), FLAT]) * np.float64(sheets[sheet_of(other), FLAT])


@inlined
def off(difference, one, two, index):
    """By how many units two neighbours differ too much, nearly: little if it is less than one."""
    unit = np.float64(one[UNITS + index]) * np.float64(two[UNITS + index])
    return np.sqrt(1 + min(difference * difference * unit, MOST_UNITS)) - 1


@inlined
def differs(difference, half):
    """By how much two levels differ, from 0 to 1, which is half where the square of it is."""
    square = difference * difference
    return square / (square + half)


@inlined
def number_of_bits(mask):
    """How many bits are set."""
    count = 0
    while mask != 0:
        mask &= mask - np.uint64(1)
        count += 1
    return count


@inlined
def vagueness(mask, other):
    """How much less likely it is that two pieces suit each other if they may be of several phases, as a logarithm."""
    common = LOGARITHMS[number_of_bits(mask & other)]
    return LOGARITHMS[number_of_bits(mask)] + LOGARITHMS[number_of_bits(other)] - common


@kernel
def unlikeness(likeness, side, other, square, broken, broken_colour, changed):
    """What two sides of flat pieces cost: what makes it unlikely that they are neighbours, added up.

    `square` is what their lines say, and so many blocks are broken between them; `changed` is how many colours change
    within blocks, or less how many do between blocks.
    """
    first, second = (side, other) if side & 2 == 0 else (other, side)
    one, two = likeness.sheets[sheet_of(first)], likeness.sheets[sheet_of(second)]
    total = OF_LINES * np.sqrt(square)
    if broken > HARDLY:
        total += OF_BROKEN
    if broken_colour > HARDLY:
        total += OF_BROKEN_COLOUR
    total += OF_BLOCK * min(broken, MOST_BROKEN) + OF_COLOUR_BLOCK * min(broken_colour, MOST_BROKEN)
    total += (OF_CHANGED if changed > 0 else OF_CHANGED_BETWEEN) * changed
    brighter = np.float64(two[BRIGHT]) - np.float64(one[BRIGHT])
    expected = 0.5 * (np.float64(one[ACROSS]) + np.float64(two[ACROSS]))
    total += OF_BRIGHT * off(brighter, one, two, 0)
    total += OF_STEP * off(brighter - expected, one, two, 1)
    total += OF_ALONG * off(np.float64(two[ALONG]) - np.float64(one[ALONG]), one, two, 2)
    total += OF_BUSY * off(np.float64(two[BUSY]) - np.float64(one[BUSY]), one, two, 3)
    total += OF_BUSY_DOWN * off(np.float64(two[BUSY_DOWN]) - np.float64(one[BUSY_DOWN]), one, two, 4)
    total += OF_BESIDE * differs(np.float64(two[BEGIN]) - np.float64(one[END]), HALF_LEVEL)
    return likeness.worth[0] * (LEAST + min(total, MOST))
