"""Random numbers for kernels: splitmix64, whose whole state is one integer.

    state += GAMMA
    piece = below(mix(state), pieces)

The state is a plain number, not an array, so that it stays in a register. It is keyed by what it is for (seed,
generation, child), never by a thread, so that the number of threads changes nothing.
"""

import numpy as np

from .._jit import kernel

GAMMA = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
_27, _30, _31, _32, _11 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32), np.uint64(11)
TO_UNIT = 2.0**-53


@kernel
def mix(state):
    """The 64 random bits of a state."""
    bits = (state ^ (state >> _30)) * MIX_1
    bits = (bits ^ (bits >> _27)) * MIX_2
    return bits ^ (bits >> _31)


@kernel
def below(bits, bound):
    """An integer from 0 to bound - 1, for a bound below 2^32 (bias below 2^-32)."""
    return np.int64(((bits >> _32) * np.uint64(bound)) >> _32)


@kernel
def unit(bits):
    """A float64 from 0 up to, not including, 1."""
    return np.float64(bits >> _11) * TO_UNIT


@kernel
def first_state(seed, generation, index):
    """The state for the `index`-th task of a generation; each key is scrambled before the next is mixed in."""
    state = mix(np.uint64(seed) + GAMMA)
    state = mix((state ^ np.uint64(generation)) + GAMMA)
    return mix((state ^ np.uint64(index)) + GAMMA)


@kernel
def fill_with_units(values, seed, generation, index):
    """Fill an array with the numbers from 0 to 1 of one task."""
    state = first_state(seed, generation, index)
    for position in range(len(values)):
        state += GAMMA
        values[position] = unit(mix(state))
