"""Memory of pair costs: what was computed a moment ago is mostly what is asked for next.

Arrangements are changed a little at a time, so nearly all their pairs were there before. A memory is a table that
forgets: a cost has a few places in it, and the one that was put there first gives way. It never changes a result.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._access import prefetch
from .._jit import inlined, kernel
from .costs import cost_of, squared_distance_in

LOW = np.int64(0xFFFFFFFF)
# The number of a piece is below this bit; above it stands one more than the number of the phase that it lies in.
PHASE_BITS = np.int64(24)
# Steps that spread numbers evenly: 2^32 parted by the golden ratio.
SPREAD = np.int64(0x9E3779B1)
# How many places a cost has at most, as a power of two: half a cache line, so that they mostly come as one.
WAY_BITS = 2


class Memory(NamedTuple):
    """Costs of pairs, for one thread.

    A pair is known by its row, 2 * piece + (0 to the right, 1 down) of its left or upper piece, and the other piece,
    with the code of the phase that this one lies in, if what they cost depends on it (see `pair_in`).
    Its slot is so many `step`s from its row as the other piece's number says, around a table of a power of two of
    slots. With no step there is one slot for a row; with a large odd one pairs spread over the whole table, as
    most of them are of a few rows when those are searched.

    A slot has a few places, so that pairs that are asked for by turns rarely take them from each other. An entry is the
    other piece with its code above 32 bits of the cost: there are at least as many slots as rows, so that a slot and
    its entry tell the row.
    """

    entries: NDArray[np.int64]
    """(slots, places): those of a slot as they came, the last first; -1 where there is none."""
    step: int


@inlined
def shape_and_step(pieces, bits):
    """The slots and places of a memory of about 2^bits places a row, and its step: one that gives all pairs of two
    pieces places of their own if there is room for them; those that differ in their code only share a slot.

    It has no less than one place a row and less than twice as many as asked for.
    """
    rows = np.int64(1)
    while rows < 2 * pieces:
        rows *= 2
    ways = min(bits, WAY_BITS)
    step = SPREAD
    if bits == 0:
        step = np.int64(0)
    elif pieces <= 1 << bits:
        step = rows
    return (rows << (bits - ways), np.int64(1) << ways), step


def empty_memory(pieces: int, bits: int) -> Memory:
    """Return a memory of nothing, for Python.

    What a kernel returns must be no named tuple: Ctrl-C while its constructor runs would crash the process.
    """
    shape, step = shape_and_step(pieces, bits)
    return Memory(np.full(shape, -1, np.int64), step)


@inlined
def new_memory(pieces, bits):
    """A memory of nothing, for kernels."""
    shape, step = shape_and_step(pieces, bits)
    return Memory(np.full(shape, -1, np.int64), step)


@inlined
def row_and_other(piece, direction, other):
    """How the memory names the pair of a piece and the one beside it."""
    row = 2 * piece + direction if direction < 2 else 2 * other + direction - 2
    return row, (other if direction < 2 else piece)


@inlined
def code_of_phase(phase):
    """What stands above the number of a piece that lies in a cell of a phase."""
    return np.int32((phase + 1) << PHASE_BITS)


@inlined
def pair_in(codes, several, piece, direction, other, cell, beside):
    """How the memory names the pair of a piece in a cell and the other one, beside it, as `codes` of cells have it.

    Only if one of the two may be of several phases does it depend on where they lie.
    """
    row, second = row_and_other(piece, direction, other)
    code = np.int64(codes[beside if direction < 2 else cell])
    if code != 0 and (several[piece] or several[other]):
        second |= code
    return row, second


@inlined
def slot_of(row, other, step, slots):
    """The slot of a pair."""
    return (row + other * step) & (slots - 1)


@inlined
def fetch_cost(entries, step, row, other):
    """Ask for the slot of a pair, which will be recalled a moment later."""
    prefetch(entries, slot_of(row, other, step, len(entries)), 1)


@inlined
def cost_in(entry):
    """The cost that an entry holds."""
    return np.int32(entry & LOW).view(np.float32)


@kernel
def remember(features, entries, slot, row, other):
    """Compute the cost of a pair that is not in memory, keep it in its slot, and return the entry."""
    side = 4 * (row >> 1) + (row & 1)
    phase = (other >> PHASE_BITS) - 1
    other_side = 4 * (other & ((np.int64(1) << PHASE_BITS) - 1)) + (row & 1) + 2
    cost = np.float32(cost_of(features, squared_distance_in(features, side, other_side, phase)))
    entry = (np.int64(other) << 32) | (np.int64(np.float32(cost).view(np.int32)) & LOW)
    for way in range(entries.shape[1] - 1, 0, -1):
        entries[slot, way] = entries[slot, way - 1]
    entries[slot, 0] = entry
    return entry


@inlined
def recalled(features, entries, step, row, other):
    """The cost of a pair: from memory if it is there, else it is computed and kept.

    It takes the parts of a memory, so that a kernel reads no array but `entries` on the way.
    """
    slot = slot_of(row, other, step, len(entries))
    entry = entries[slot, 0]
    way = 1
    while entry >> 32 != other and way < entries.shape[1]:
        entry = entries[slot, way]
        way += 1
    if entry >> 32 != other:
        entry = remember(features, entries, slot, row, other)
    return cost_in(entry)
