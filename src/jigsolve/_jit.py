"""The one place where kernels get their compiler options."""

from numba import njit

# nogil: slices of children are made by plain threads. cache: compiled once a machine, not once a run.
# No fastmath: sums keep the order they are written in, so that every machine computes the same costs.
kernel = njit(nogil=True, cache=True)

# For small helpers that belong inside a kernel's loop.
inlined = njit(nogil=True, cache=True, inline="always")
