"""Merging two arrangements: of every region where they differ, the cheaper version."""

import numpy as np

from .._access import uncounted
from .._jit import kernel
from ..compatibility.memory import pair_in, recalled


@kernel
def root_of(parents, cell):
    """The representative of a cell's region."""
    while parents[cell] != cell:
        parents[cell] = parents[parents[cell]]
        cell = parents[cell]
    return cell


@kernel
def merge(features, codes, several, columns, grid, other, memory, least_gain):
    """Take over into `grid` every region of `other` that is cheaper by more than `least_gain`; return what was gained.

    A region is a set of cells where the two differ. It holds the same pieces in both, and no cell of it lies beside a
    cell of another region, so that each can be taken or left for itself: the gain is the sum of the regions' gains.
    What pairs cost by where they lie is for `pair_in` to tell from `codes` and `several`.
    """
    features = uncounted(features)
    entries, step = memory
    cells = len(grid)
    place_in_other = np.empty(cells, np.int32)
    for cell in range(cells):
        place_in_other[other[cell]] = cell
    parents = np.arange(cells)
    for cell in range(cells):
        if grid[cell] != other[cell]:
            root = root_of(parents, cell)
            joined = (
                np.int64(place_in_other[grid[cell]]),
                cell + 1 if (cell + 1) % columns != 0 and grid[cell + 1] != other[cell + 1] else cell,
                cell + columns if cell + columns < cells and grid[cell + columns] != other[cell + columns] else cell,
            )
            for index in range(3):
                parents[root_of(parents, joined[index])] = root

    dearer = np.zeros(cells)
    for cell in range(cells):
        for direction in range(2):
            if direction == 0 and (cell + 1) % columns == 0:
                continue
            beside = cell + 1 if direction == 0 else cell + columns
            if beside >= cells or (grid[cell] == other[cell] and grid[beside] == other[beside]):
                continue
            root = root_of(parents, cell if grid[cell] != other[cell] else beside)
            for turn in range(2):
                first = np.int64(grid[cell] if turn == 0 else other[cell])
                second = np.int64(grid[beside] if turn == 0 else other[beside])
                row, second = pair_in(codes, several, first, direction, second, cell, beside)
                dearer[root] += recalled(features, entries, step, row, second) * (-1.0 if turn == 0 else 1.0)

    gain = 0.0
    for cell in range(cells):
        if grid[cell] != other[cell] and dearer[root_of(parents, cell)] < -least_gain:
            grid[cell] = other[cell]
    for cell in range(cells):
        if dearer[cell] < -least_gain:
            gain -= dearer[cell]
    return gain
