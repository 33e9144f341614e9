"""Memory of pair costs: what was computed a moment ago is mostly what is asked for next.

Arrangements are changed a little at a time, so nearly all their pairs were there before. A memory is a table that
forgets: a cost has one place in it, and takes it from the one that was there. It never changes a result.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._jit import inlined, kernel
from .costs import cost_of, squared_distance

LOW = np.int64(0xFFFFFFFF)


class Memory(NamedTuple):
    """Costs of pairs, for one thread.

    A pair has its left or upper piece's row, 2 * piece + (0 to the right, 1 down), of 2^bits places; the last bits of
    the other piece's number say which. An entry is the other piece above 32 bits of the cost. Kernels look it up like
    this, with no array but `entries` on the way, as each would be counted:

        slot = slot_of(row, other, bits)
        entry = entries[slot]
        if entry >> 32 != other:
            entry = remember(features, entries, slot, row, other)
        total += cost_in(entry)
    """

    entries: NDArray[np.int64]
    bits: int


def empty_memory(pieces: int, bits: int) -> Memory:
    """Return a memory of nothing, for Python.

    What a kernel returns must be no named tuple: Ctrl-C while its constructor runs would crash the process.
    """
    return Memory(np.full((2 * pieces) << bits, -1, np.int64), bits)


@inlined
def new_memory(pieces, bits):
    """A memory of nothing, for kernels."""
    return Memory(np.full((2 * pieces) << bits, -1, np.int64), bits)


@inlined
def row_and_other(piece, direction, other):
    """How the memory names the pair of a piece and the one beside it."""
    row = 2 * piece + direction if direction < 2 else 2 * other + direction - 2
    return row, (other if direction < 2 else piece)


@inlined
def slot_of(row, other, bits):
    """The place of a pair."""
    return (row << bits) | (other & ((1 << bits) - 1))


@inlined
def cost_in(entry):
    """The cost that an entry holds."""
    return np.int32(entry & LOW).view(np.float32)


@kernel
def remember(features, entries, slot, row, other):
    """Compute the cost of a pair that is not in memory, keep it in its place, and return the entry."""
    side = 4 * (row >> 1) + (row & 1)
    other_side = 4 * other + (row & 1) + 2
    cost = np.float32(cost_of(features, squared_distance(features, side, other_side)))
    entry = (np.int64(other) << 32) | (np.int64(np.float32(cost).view(np.int32)) & LOW)
    entries[slot] = entry
    return entry
