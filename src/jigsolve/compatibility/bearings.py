"""Bearings: how far from each other pieces can lie, as the blocks of a compressed picture repeat.

Two pieces are neighbours only if their phases suit each other, and most phases are known (see `phases`). But so it is
over any distance: who knows the phase of one piece knows it of all cells of the frame. If phases repeat after four
pieces, a piece can lie in one of sixteen cells.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._jit import inlined, kernel
from .costs import Features
from .memory import code_of_phase
from .seam_costs import Seams
from .trace_costs import BLOCK, MASK, UNKNOWN, Plane, number_of_phases

# The mask of a piece of which nothing is known.
EVERY = np.uint64(2**64 - 1)


class Bearings(NamedTuple):
    """The phases of all pieces, and of what lies so many cells from a piece. Without phases it is of no pieces."""

    masks: NDArray[np.uint64]
    """(pieces,): the phases that are plausible, a bit each."""
    several: NDArray[np.bool_]
    """(pieces,): whether what is beyond doubt leaves more than one: then what a pair costs depends on where it lies."""
    moved: NDArray[np.int64]
    """(rows, columns, phases): the phase of what lies so many rows below and columns behind a piece of a phase, modulo
    the number of rows and columns after which phases repeat."""


def bearings_of(features: Features, told: Features) -> Bearings:
    """Return what blocks say: those of colour, which repeat after more pieces, else those of brightness.

    Costs go by what `features` know of phases, `told` is what comparing pieces told of them besides.
    """
    if isinstance(features, Seams) and isinstance(told, Seams):
        for kind in ("colour", "brightness"):
            own, likely = getattr(features.traces, kind), getattr(told.traces, kind)
            if len(own.keys) > 0:
                # At a left side a piece is the right one of the two, whose phase counts there.
                masks = np.ascontiguousarray(likely.keys[2::4, MASK])
                return Bearings(masks, np.bitwise_count(own.keys[2::4, MASK]) > 1, _moved(own))
    return no_bearings()


def no_bearings() -> Bearings:
    """Return what is known where there is nothing to know."""
    return Bearings(np.empty(0, np.uint64), np.empty(0, np.bool_), np.empty((1, 1, 0), np.int64))


def _moved(plane: Plane) -> NDArray[np.int64]:
    periods = BLOCK // np.gcd(plane.size, BLOCK)
    number = number_of_phases(plane.phases)
    moved = np.empty((*periods, len(plane.phases)), dtype=np.int64)
    for steps in np.ndindex(*periods):
        there = (plane.phases + np.array(steps) * plane.size) % BLOCK
        moved[steps] = number[there[:, 0], there[:, 1]]
    return moved


@inlined
def moved_mask(bearings, mask, down, right):
    """The phases of what lies so many rows below and columns behind a piece of one of the phases of a mask."""
    table = bearings.moved[down % bearings.moved.shape[0], right % bearings.moved.shape[1]]
    there = np.uint64(0)
    for phase in range(len(table)):
        if mask >> np.uint64(phase) & np.uint64(1):
            there |= np.uint64(1) << np.uint64(table[phase])
    return there


def frame_phases(bearings: Bearings, grid: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return the phases of the cells of the frame (see `phases_around`), as most pieces of an arrangement tell.

    Of no rows where they do not.
    """
    numbers = frame_numbers(bearings, grid)
    if numbers[0, 0] == UNKNOWN:
        return np.empty((0, 0), dtype=np.uint64)
    return np.uint64(1) << numbers.astype(np.uint64)


@kernel
def phases_around(bearings, mask):
    """The phases of what lies so many rows below and columns behind what is of one of the phases of a mask.

    That many modulo what phases repeat after; of no rows where nothing is known.
    """
    if len(bearings.masks) == 0:
        return np.empty((0, 0), np.uint64)
    around = np.empty(bearings.moved.shape[:2], np.uint64)
    for down in range(around.shape[0]):
        for right in range(around.shape[1]):
            around[down, right] = moved_mask(bearings, mask, down, right)
    return around


@kernel
def frame_numbers(bearings, grid):
    """The numbers of the phases of the frame's cells, modulo what phases repeat after, as most pieces tell.

    A single UNKNOWN where they do not.
    """
    if len(bearings.masks) > 0:
        allowing = count_corners(bearings, grid)
        corner = np.argmax(allowing)
        if allowing[corner] > grid.size / 2:
            return bearings.moved[:, :, corner].copy()
    return np.full((1, 1), np.int64(UNKNOWN))


@kernel
def fill_codes(bearings, columns, grid, codes):
    """Find what pairs are called of which the right or lower piece lies in a cell, as `memory` has it: by its phase.

    That is as most pieces of the arrangement tell, else zero.
    """
    numbers = frame_numbers(bearings, grid.reshape(-1, columns))
    down, across = numbers.shape
    for cell in range(len(grid)):
        codes[cell] = code_of_phase(numbers[cell // columns % down, cell % columns % across])


@inlined
def suits(masks, around, piece, down, right):
    """Whether a piece can lie so many rows below and columns behind what `around` is told from."""
    return len(around) == 0 or masks[piece] & around[down % around.shape[0], right % around.shape[1]] != 0


@kernel
def count_corners(bearings, grid):
    """How many pieces of an arrangement allow the corner of the frame to be of each phase."""
    phases = bearings.moved.shape[2]
    allowing = np.zeros(phases, np.int64)
    if phases == 0:
        return allowing
    for row in range(grid.shape[0]):
        for column in range(grid.shape[1]):
            corner = moved_mask(bearings, bearings.masks[grid[row, column]], -row, -column)
            for phase in range(phases):
                allowing[phase] += np.int64(corner >> np.uint64(phase) & np.uint64(1))
    return allowing
