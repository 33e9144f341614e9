"""Random numbers for kernels: splitmix64, whose whole state is one integer.

A state is keyed by what it is for (seed, generation, child), never by a thread, so that the number of threads
changes nothing.
"""

import numpy as np

from .._jit import inlined, kernel

GAMMA = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
_27, _30, _31, _32, _11 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32), np.uint64(11)
TO_UNIT = 2.0**-53


@inlined
def next_random(state):
    """The next 64 random bits; `state` is an array of one uint64."""
    state[0] += GAMMA
    bits = state[0]
    bits = (bits ^ (bits >> _30)) * MIX_1
    bits = (bits ^ (bits >> _27)) * MIX_2
    return bits ^ (bits >> _31)


@inlined
def random_below(state, bound):
    """An integer from 0 to bound - 1, for a bound below 2^32 (bias below 2^-32)."""
    return np.int64(((next_random(state) >> _32) * np.uint64(bound)) >> _32)


@inlined
def random_unit(state):
    """A float64 from 0 up to, not including, 1."""
    return np.float64(next_random(state) >> _11) * TO_UNIT


@kernel
def seed_state(state, seed, generation, index):
    """Set `state` for the `index`-th task of a generation; each key is scrambled before the next is mixed in."""
    state[0] = np.uint64(seed)
    state[0] = next_random(state) ^ np.uint64(generation)
    state[0] = next_random(state) ^ np.uint64(index)
    state[0] = next_random(state)


@kernel
def fill_with_units(values, seed, generation, index):
    """Fill an array with the `random_unit` numbers of one task."""
    state = np.empty(1, np.uint64)
    seed_state(state, seed, generation, index)
    for position in range(len(values)):
        values[position] = random_unit(state)
