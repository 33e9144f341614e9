"""Lower bounds of the costs of all pairs, as a matrix product in single precision.

The product of the factors of two sides estimates their squared cost; what rounding can add to it is taken off, so that
no entry is above the true sum. So a side's best candidates are among those with the lowest bounds, and once some sums
are computed exactly, every side with a bound above them is out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .costs import Features
from .ramp_costs import FLATNESS, NUMBERS
from .seam_costs import Seams, line_array
from .trace_costs import MASK

# Rows and columns of a tile of the matrix product: enough for its speed, and small enough to stay in cache.
TILE_ROWS = 512
TILE_COLUMNS = 4096
# Every so manieth tile of rows comes first, then those beside them.
STRIDE = 8
# Sides of masks that fewer have are compared with all.
RARE = 0.005
RARE_COUNT = 16
# How far a product of m terms can be off, in parts of the sum of the terms' sizes: m roundings of the sum, and a few of
# the factors themselves.
ROUNDING = 2.0**-24
MORE_ROUNDINGS = 16
# What distances of lines may be off, in steps and in parts of them: far more than double precision is.
REACH_SLACK = 1e-6


@dataclass(frozen=True)
class Factors:
    """The factors of one side of every piece, in an order of their own.

    Those of `Seams` have two halves: what a side does as the judge of another's line x (inverse covariances, linear
    term, constant), and what it is to another judge (x x', its differences, x, 1). One's first half meets the other's
    second. So what the terms of a pair are off is bounded by what either judge could make of the largest line of the
    other's tile, and each side's part of that is taken off its own constant, tile by tile.
    """

    pieces: NDArray[np.intp]
    """Whose sides they are."""
    values: NDArray[np.float32]
    judge: int
    """Where a side's half as a judge begins."""
    sizes: NDArray[np.float32]
    """Those of that half, or of no columns where the error is taken off already."""
    constants: NDArray[np.float32]
    """The last column of that half, from which nothing is taken off yet."""
    masks: NDArray[np.uint64]
    """Only sides that have a bit in common can meet (see `Traces`); they are in order of it."""
    distances: NDArray[np.float64]
    """How far a side's line is from that which all are measured from; those of a mask are in order of it."""
    strictness: NDArray[np.float64]
    """The least that a judge can make of a line, per squared distance from its own; 0 if that is not known."""

    def part(self, part: slice | NDArray[np.intp]) -> Self:
        """Return some of them: views of these for a slice, copies for a list."""
        sizes, constants, masks = self.sizes[part], self.constants[part], self.masks[part]
        distances, strictness = self.distances[part], self.strictness[part]
        pieces, values = self.pieces[part], self.values[part]
        return type(self)(pieces, values, self.judge, sizes, constants, masks, distances, strictness)

    def spans(self, most: int) -> list[slice]:
        """Return slices of at most so many, each of one mask."""
        ends = [*(np.flatnonzero(np.diff(self.masks)) + 1), len(self.masks)]
        begins = [0, *ends[:-1]]
        return [
            slice(first, min(first + most, end))
            for begin, end in zip(begins, ends, strict=True)
            for first in range(begin, end, most)
        ]

    def reaches(self, limits: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the least and the greatest distance of those that a side could judge no worse than its limit.

        Two lines differ at least by the difference of their distances from a third.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.sqrt(limits / self.strictness) * (1 + REACH_SLACK) + REACH_SLACK
        reach = np.where(self.strictness > 0, reach, np.inf)
        return self.distances - reach, self.distances + reach


class Tile(NamedTuple):
    """Lower bounds of pairs."""

    first_row: int
    first_column: int
    bounds: NDArray[np.float32]
    ends_rows: bool
    """Whether it is the last of its rows."""


def factors_of(features: Features, direction: int, least: int = 0) -> tuple[Factors, Factors]:
    """Return the factors of all sides of a direction, 0 or 1, and of those that they could meet.

    Where traces say which can, but for some side leave fewer than `least`, they are not minded.
    """
    if isinstance(features, Seams):
        return _seam_factors(features, direction, _masks(features, direction, least))
    return _distance_factors(features, direction)


def _masks(seams: Seams, direction: int, least: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the masks of the sides of a direction, and of those facing them; rare ones are widened.

    Colour tells more phases apart than brightness, if there is enough of each.
    """
    for plane in (seams.traces.colour, seams.traces.brightness):
        if len(plane.keys) > 0:
            both = [_without_rare(plane.keys[facing::4, MASK]) for facing in (direction, direction + 2)]
            if _fewest_that_meet(*both) > least and _fewest_that_meet(*both[::-1]) > least:
                return both[0], both[1]
    everything = np.full(len(seams.weights) // 4, np.uint64(2**64 - 1))
    return everything, everything


def _fewest_that_meet(masks: NDArray[np.uint64], others: NDArray[np.uint64]) -> int:
    kinds, counts = np.unique(others, return_counts=True)
    return min(int(counts[kinds & mask != 0].sum()) for mask in np.unique(masks))


def _without_rare(masks: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the masks with rare ones widened to the narrowest that is not rare, or else to all bits."""
    kinds, which, counts = np.unique(masks, return_inverse=True, return_counts=True)
    rare = counts < np.maximum(RARE * len(masks), RARE_COUNT)
    frequent = kinds[~rare]
    frequent = np.append(frequent[np.argsort(np.bitwise_count(frequent), kind="stable")], np.uint64(2**64 - 1))
    wide = [
        frequent[np.argmax(frequent & kind == kind)] if few else kind for kind, few in zip(kinds, rare, strict=True)
    ]
    return np.array(wide, dtype=np.uint64)[which]


def bound_tiles(rows: Factors, columns: Factors, limits: NDArray[np.float64] | None = None) -> Iterator[Tile]:
    """Yield the lower bounds of all pairs that can meet, all columns for some rows before the next rows.

    Given limits of the rows' costs, tiles of which no pair can be within them are left out. A tile is there until the
    next is asked for: all use the same memory, which is faster than new.

    For each row the columns most alike come first, and rows come from everywhere early on: lists of the best are soon
    so good that little of what comes later enters them.
    """
    spans = columns.spans(TILE_COLUMNS)
    largest = [_largest(columns.part(span)) for span in spans]
    masks = np.array([columns.masks[span.start] for span in spans])
    ends = np.array([(columns.distances[span][0], columns.distances[span][-1]) for span in spans])
    room = np.empty(min(TILE_ROWS, len(rows.pieces)) * min(TILE_COLUMNS, len(columns.pieces)), dtype=np.float32)
    row_spans = rows.spans(TILE_ROWS)
    for these in (span for begin in range(STRIDE) for span in row_spans[begin::STRIDE]):
        some = rows.part(these)
        _take_off(columns, _largest(some))
        order = np.argsort(np.abs(ends.mean(axis=1) - np.median(some.distances)), kind="stable")
        order = order[masks[order] & some.masks[0] != 0]
        if limits is not None:
            least, greatest = some.reaches(limits[these])
            order = order[(ends[order, 1] >= least.min()) & (ends[order, 0] <= greatest.max())]
        for index in order:
            _take_off(some, largest[index])
            those = columns.values[spans[index]]
            bounds = room[: len(some.values) * len(those)].reshape(len(some.values), len(those))
            np.matmul(some.values, those.T, out=bounds)
            yield Tile(these.start, spans[index].start, bounds, index == order[-1])


def _largest(judged: Factors) -> NDArray[np.float32]:
    """Return the largest that sides are to any judge, term by term."""
    half = judged.sizes.shape[1]
    begin = half - judged.judge
    return np.abs(judged.values[:, begin : begin + half]).max(axis=0)


def _take_off(judges: Factors, largest: NDArray[np.float32]) -> None:
    """Take off the constants what their products with others of at most this size can be off."""
    half = judges.sizes.shape[1]
    if half > 0:
        error = _relative_error(2 * half) * (judges.sizes @ largest)
        judges.values[:, judges.judge + half - 1] = judges.constants - error


def _distance_factors(features: NDArray[np.int32], direction: int) -> tuple[Factors, Factors]:
    """Return |a|^2 + |b|^2 - 2ab, less the error of at most r (|a|^2 + |b|^2 + 2|a||b|) <= 2r (|a|^2 + |b|^2)."""
    both = []
    for facing in (direction, direction + 2):
        exact = features[facing::4].astype(np.float64)
        pieces, length = exact.shape
        squares = np.einsum("sf,sf->s", exact, exact)
        squares -= 2 * _relative_error(length + 2) * squares
        values = np.empty((pieces, length + 2), dtype=np.float32)
        if facing == direction:
            values[:, :length], values[:, length], values[:, length + 1] = -2 * exact, squares, 1
        else:
            values[:, :length], values[:, length], values[:, length + 1] = exact, 1, squares
        nothing, zeros = np.empty((pieces, 0), dtype=np.float32), np.zeros(pieces)
        masks = np.ones(pieces, dtype=np.uint64)
        both.append(Factors(np.arange(pieces), values, 0, nothing, nothing, masks, zeros, zeros))
    return both[0], both[1]


def _seam_factors(
    seams: Seams, direction: int, masks_of_both: tuple[NDArray[np.uint64], NDArray[np.uint64]]
) -> tuple[Factors, Factors]:
    """Return the quadratic forms of `Seams`, multiplied out, of colours measured from that of the flattest sides.

    Those are the strictest judges: what they make of colours like their own is then bounded most closely. Sides come in
    order of their masks and of how far their colours are from that, so that tiles are of sides alike.
    """
    lines = line_array(seams)[:, :, : seams.lengths[direction]]
    traces = seams.weights[direction::2, :3].sum(axis=1, dtype=np.float64)
    centre = np.average(lines[direction::2].mean(axis=2), axis=0, weights=traces)
    ramps = _centred(seams, direction)
    both = []
    for facing, masks in zip((direction, direction + 2), masks_of_both, strict=True):
        x = lines[facing::4].astype(np.float64) - centre[:, np.newaxis]
        distances = np.sqrt(np.einsum("scp,scp->s", x, x))
        order = np.lexsort((distances, masks))
        means = seams.means[facing::4][order] if len(seams.means) else None
        weights = seams.weights[facing::4][order].astype(np.float64)
        judge, judged = _halves(x[order], weights, means, ramps[facing::4][order])
        values = np.concatenate([judge, judged] if facing == direction else [judged, judge], axis=1)
        begin = 0 if facing == direction else judge.shape[1]
        strictness = np.zeros(len(order))
        if means is None:
            strictness[:] = np.linalg.eigvalsh(_full(weights[:, :6]))[:, 0]
        constants = judge[:, -1].copy()
        sizes = np.abs(judge)
        both.append(Factors(order, values, begin, sizes, constants, masks[order], distances[order], strictness))
    return both[0], both[1]


def _relative_error(terms: int) -> float:
    return (terms + MORE_ROUNDINGS) * ROUNDING


def _halves(
    lines: NDArray[np.float64],
    weights: NDArray[np.float64],
    means: NDArray[np.float64] | None,
    ramps: NDArray[np.float64],
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return what sides are as judges, and to other judges. Of ramps each says half."""
    half = 3 * lines.shape[2] + 13 + (NUMBERS + 2 if ramps.shape[1] > 0 else 0)
    judge, judged = (np.zeros((len(lines), half), dtype=np.float32) for _ in range(2))
    across, along = weights[:, :6], weights[:, 6:]
    line = slice(12, 12 + 3 * lines.shape[2])
    expected = lines if means is None else lines + means[:, :, np.newaxis]
    pull = _full(across) @ expected
    judge[:, :6], judged[:, :6] = across, _moments(lines)
    constants = np.einsum("scp,scp->s", pull, expected)
    if along.shape[1] > 0:
        differences = np.diff(lines, axis=2)
        tension = _full(along) @ differences
        judge[:, 6:12], judged[:, 6:12] = along, _moments(differences)
        constants += np.einsum("scp,scp->s", tension, differences)
        pull[:, :, 1:] += tension
        pull[:, :, :-1] -= tension
    judge[:, line], judged[:, line] = -2 * pull.reshape(len(lines), -1), lines.reshape(len(lines), -1)
    if ramps.shape[1] > 0:
        flat, values = ramps[:, -1:], ramps[:, :NUMBERS]
        squares = (values * values).sum(axis=1, keepdims=True)
        judge[:, line.stop : -1] = flat * np.concatenate([0.5 * squares, -values, np.full_like(flat, 0.5)], axis=1)
        judged[:, line.stop : -1] = flat * np.concatenate([np.ones_like(flat), values, squares], axis=1)
    judge[:, -1], judged[:, -1] = constants, 1
    return judge, judged


def _centred(seams: Seams, direction: int) -> NDArray[np.float64]:
    """Return what ramps are compared by, measured from that of the flattest, and how flat sides are.

    Of no columns where nothing was learned, or no side of these directions is to be compared.
    """
    values, flat = seams.ramps.variates[:, :NUMBERS].astype(np.float64), seams.ramps.variates[:, [FLATNESS]]
    if not flat[direction::2].any():
        return np.empty((len(seams.weights), 0))
    centre = np.average(values[direction::2], axis=0, weights=flat[direction::2, 0])
    return np.concatenate([values - centre, flat], axis=1)


def _moments(lines: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums over pixels of products of channels 00 11 22 01 02 12."""
    channels = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    return np.stack([np.einsum("sp,sp->s", lines[:, u], lines[:, v]) for u, v in channels], axis=1)


def _full(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return symmetric matrices from their entries 00 11 22 01 02 12, of which those off the diagonal are doubled."""
    doubled = weights * np.array([1, 1, 1, 0.5, 0.5, 0.5])
    return doubled[:, [0, 3, 4, 3, 1, 5, 4, 5, 2]].reshape(-1, 3, 3)
