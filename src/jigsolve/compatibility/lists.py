"""The exact best candidates of every side, best first; never a table of all pairs."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._access import uncounted
from .._jit import inlined, kernel
from ..threads import Threads
from .costs import Features, cost_of, number_of_sides, squared_distance, squared_distance_below
from .likeness_costs import no_likeness
from .products import Factors, bound_tiles, factors_of
from .seam_costs import Seams
from .trace_costs import no_traces

# How many more than asked for are taken by their lower bounds, so that few sides need a second look.
MARGIN = 8
# Where a side can meet fewer than this many times as many as are taken, as traces say, traces are not minded.
FEW = 4
# The share of all sides beyond which a side that is looked at again is taken to reach nearly all.
WIDE = 0.2
# Where a list has no more candidates.
NOBODY = np.int32(-1)
# Entries of a tile that are compared with their limits at once.
CHUNK = 64
# The share of the time for candidates that bounding all pairs takes, about; the rest is a second look where it is due.
BOUNDED = 0.7

Tell = Callable[[float], object]
"""Told from time to time which share of the work is done."""


class Lists(NamedTuple):
    """The candidates of every side, and what they cost (see `Compatibility`).

    Behind a list that has become shorter than others are NOBODY and infinite costs.
    """

    candidates: NDArray[np.int32]
    costs: NDArray[np.float32]


def find_lists(
    features: Features, keep: int, threads: Threads, tell: Tell | None = None, *, exact: bool = True
) -> Lists:
    """Find the `keep` cheapest candidates of every side; if it need not be exact, faster, and nearly so.

    Where there are traces of compression, these are the cheapest without them, of the sides that can meet, in order of
    their costs with them.
    """
    lists = _candidates(features, keep, threads, tell, exact)
    if isinstance(features, Seams) and _has_more(features):
        threads.run(len(lists.candidates), partial(weigh, features, lists))
    return lists


def _has_more(seams: Seams) -> bool:
    """Return whether more is known of sides than what lists are found by."""
    return (
        len(seams.ramps.variates) > 0
        or len(seams.likeness.sheets) > 0
        or any(len(plane.keys) > 0 for plane in (seams.traces.brightness, seams.traces.colour))
    )


def _untraced(features: Features) -> Features:
    """Return features without what has no bounds: traces of compression, likeness, and an end to what ramps add."""
    if not isinstance(features, Seams):
        return features
    ramps = features.ramps._replace(most=np.array([np.inf]))
    return features._replace(traces=no_traces(), ramps=ramps, likeness=no_likeness())


def _candidates(features: Features, keep: int, threads: Threads, tell: Tell | None, exact: bool) -> Lists:
    """Return the lists.

    A matrix product bounds the costs of all pairs from below, tile by tile. A pair has one cost, seen from either side,
    so each tile serves the sides of its rows and those of its columns. Of those with the lowest bounds the costs are
    then computed exactly; where a side that was left out could still belong into the list, the side is looked at again.
    """
    pieces = number_of_sides(features) // 4
    keep = min(keep, pieces - 1)
    lists = Lists(np.empty((4 * pieces, keep), dtype=np.int32), np.empty((4 * pieces, keep), dtype=np.float32))
    if keep == 0:
        return lists
    traced, features = features, _untraced(features)
    for direction in (0, 1):
        left, right = factors_of(traced, direction, least=FEW * (keep + MARGIN))
        begin, bounded, end = direction / 2, (direction + BOUNDED) / 2, (direction + 1) / 2
        half = (bounded + end) / 2
        short = min(keep + MARGIN, pieces - 1)
        own, others = _nearest_by_bound(left, right, short, threads, part_of(tell, begin, bounded))
        again = _settle(features, direction, own, lists, threads)
        others_again = _settle(features, direction + 2, others, lists, threads)
        if exact:
            _look_again(features, direction, again, left, right, lists, threads, part_of(tell, bounded, half))
            _look_again(features, direction + 2, others_again, right, left, lists, threads, part_of(tell, half, end))
    return lists


def part_of(tell: Tell | None, begin: float, end: float) -> Tell:
    """Return what a part of the work tells its share to."""

    def told(share: float) -> None:
        if tell is not None:
            tell(begin + share * (end - begin))

    return told


class Nearest(NamedTuple):
    """For the sides of one direction, the pieces with the lowest bounds, lowest first."""

    bounds: NDArray[np.float32]
    pieces: NDArray[np.int32]


def _nothing_yet(pieces: int, short: int) -> Nearest:
    return Nearest(np.full((pieces, short), np.inf, dtype=np.float32), np.full((pieces, short), -1, dtype=np.int32))


def _nearest_by_bound(
    left: Factors, right: Factors, short: int, threads: Threads, tell: Tell
) -> tuple[Nearest, Nearest]:
    """Return the nearest by bound of the sides in `left` among those in `right`, and the other way round."""
    pieces = len(left.pieces)
    own, others = _nothing_yet(pieces, short), _nothing_yet(pieces, short)
    column_of = np.argsort(right.pieces)
    done = 0
    for first_row, first_column, bounds, ends_rows in bound_tiles(left, right):
        itself = column_of[left.pieces[first_row : first_row + len(bounds)]] - first_column
        here = np.flatnonzero((itself >= 0) & (itself < bounds.shape[1]))
        bounds[here, itself[here]] = np.inf  # No piece lies beside itself.
        threads.run(len(bounds), partial(collect_by_row, bounds, first_row, first_column, own))
        threads.run(bounds.shape[1], partial(collect_by_column, bounds, first_row, first_column, others))
        if ends_rows:
            done += len(bounds)
            tell(done / pieces)
    return _by_number(own, left, right), _by_number(others, right, left)


def _by_number(nearest: Nearest, own: Factors, others: Factors) -> Nearest:
    """Return by numbers of pieces what was found in the orders of factors."""
    bounds, pieces = np.empty_like(nearest.bounds), np.empty_like(nearest.pieces)
    bounds[own.pieces], pieces[own.pieces] = nearest.bounds, others.pieces[nearest.pieces]
    return Nearest(bounds, pieces)


def _settle(features: Features, direction: int, nearest: Nearest, lists: Lists, threads: Threads) -> NDArray[np.intp]:
    """Fill the lists of one direction; return the pieces whose lists may lack some, with what they have."""
    unsettled = np.zeros(len(nearest.pieces), dtype=np.bool_)
    threads.run(len(unsettled), partial(settle, features, direction, nearest, lists, unsettled))
    return np.flatnonzero(unsettled)


def _look_again(
    features: Features,
    direction: int,
    pieces: NDArray[np.intp],
    own: Factors,
    others: Factors,
    lists: Lists,
    threads: Threads,
    tell: Tell,
) -> None:
    """Find the candidates of some pieces' sides among all whose bounds allow it."""
    if len(pieces) == 0:
        tell(1.0)
        return
    sides, other_sides = 4 * own.pieces + direction, 4 * others.pieces + (direction ^ 2)
    limits = costs_squared(features, sides, lists.candidates[sides, -1])
    least, greatest = own.reaches(limits)
    distances = np.sort(others.distances)
    reached = np.searchsorted(distances, greatest) - np.searchsorted(distances, least)
    at = np.flatnonzero(np.isin(own.pieces, pieces))
    # Of each mask those that can reach few others come first, apart from those that must see nearly all.
    at = at[np.lexsort((reached[at] > WIDE * len(other_sides), own.masks[at]))]
    some, sides, limits = own.part(at), sides[at], limits[at]
    squares = np.full((len(sides), lists.candidates.shape[1]), np.inf)
    done = 0
    for first_row, first_column, bounds, ends_rows in bound_tiles(some, others, limits):
        rows, columns = slice(first_row, first_row + len(bounds)), slice(first_column, first_column + bounds.shape[1])
        these = (sides[rows], other_sides[columns])
        look = partial(look_again, features, *these, bounds, limits[rows], squares[rows], lists.candidates)
        threads.run(len(bounds), look)
        if ends_rows:
            lists.costs[sides[rows]] = costs_from(features, squares[rows])
            done += len(bounds)
            tell(done / len(sides))


@inlined
def insert(values, sides, count, value, side):
    """Insert into a sorted list of at most len(values), behind equals; return the new count.

    The caller has made sure that there is room or that `value` is below the last.
    """
    position = min(count, len(values) - 1)
    while position > 0 and values[position - 1] > value:
        values[position] = values[position - 1]
        sides[position] = sides[position - 1]
        position -= 1
    values[position] = value
    sides[position] = side
    return min(count + 1, len(values))


@kernel
def collect_by_row(tile, first_row, first_column, nearest, begin, end):
    """Put the entries of the rows begin .. end-1 of a tile into the lists of their sides.

    Most entries are above the limit of their list: one bit tells a chunk of them, and quickly, as the compiler
    turns 32-bit results at unsigned places into vector instructions.
    """
    bounds, pieces = nearest
    last = bounds.shape[1] - 1
    for row in range(begin, end):
        own_bounds, own_pieces = bounds[first_row + row], pieces[first_row + row]
        for chunk in range(0, tile.shape[1], CHUNK):
            stop = min(chunk + CHUNK, tile.shape[1])
            limit = own_bounds[last]
            below = np.int32(0)
            for column in range(chunk, stop):
                below |= np.int32(tile[row, np.uint64(column)] < limit)
            if below:
                for column in range(chunk, stop):
                    if tile[row, column] < own_bounds[last]:
                        insert(own_bounds, own_pieces, last + 1, tile[row, column], first_column + column)


@kernel
def collect_by_column(tile, first_row, first_column, nearest, begin, end):
    """Put the entries of the columns begin .. end-1 of a tile into the lists of their sides, likewise."""
    bounds, pieces = nearest
    last = bounds.shape[1] - 1
    limits = bounds[first_column + begin : first_column + end, last].copy()
    for row in range(tile.shape[0]):
        for chunk in range(begin, end, CHUNK):
            stop = min(chunk + CHUNK, end)
            below = np.int32(0)
            for column in range(chunk, stop):
                below |= np.int32(tile[row, np.uint64(column)] < limits[np.uint64(column - begin)])
            if below:
                for column in range(chunk, stop):
                    if tile[row, column] < limits[column - begin]:
                        other = first_column + column
                        insert(bounds[other], pieces[other], last + 1, tile[row, column], first_row + row)
                        limits[column - begin] = bounds[other, last]


@kernel
def settle(features, direction, nearest, lists, unsettled, begin, end):
    """Fill the lists of one direction of the pieces begin .. end-1 with the best of those nearest by bound.

    Invariant: what the short list leaves out has a bound of its last entry or above. If the last candidate kept is
    below that, the list is exact; if not, the piece is marked unsettled.
    """
    features = uncounted(features)
    bounds, pieces = nearest
    candidates, costs = lists
    short = bounds.shape[1]
    keep = candidates.shape[1]
    opposite = direction ^ 2
    squares = np.empty(keep, np.float64)
    for piece in range(begin, end):
        side = 4 * piece + direction
        kept = 0
        # Equal sums go by number: insert() keeps the order in which equals come.
        for other in np.sort(pieces[piece]):
            other_side = 4 * other + opposite
            square = squared_distance(features, side, other_side)
            if kept < keep or square < squares[keep - 1]:
                kept = insert(squares, candidates[side], kept, square, other_side)
        for rank in range(keep):
            costs[side, rank] = cost_of(features, squares[rank])
        unsettled[piece] = short < len(pieces) - 1 and squares[keep - 1] >= bounds[piece, short - 1]


@kernel
def weigh(features, lists, begin, end):
    """Put the candidates of the sides begin .. end-1 in order of their costs with all that is known, ties by number."""
    features = uncounted(features)
    candidates, costs = lists
    keep = candidates.shape[1]
    squares = np.empty(keep, np.float64)
    for side in range(begin, end):
        kept = 0
        for other in np.sort(candidates[side]):
            square = squared_distance(features, side, other)
            kept = insert(squares, candidates[side], kept, square, other)
        for rank in range(keep):
            costs[side, rank] = cost_of(features, squares[rank])


@kernel
def costs_squared(features, sides, others):
    """The exact sums of pairs of sides."""
    features, squares = uncounted(features), np.empty(len(sides))
    for index in range(len(sides)):
        squares[index] = squared_distance(features, sides[index], others[index])
    return squares


@kernel
def costs_from(features, squares):
    """The costs that the sums in an array stand for."""
    costs = np.empty(squares.shape, np.float32)
    for row, rank in np.ndindex(squares.shape):
        costs[row, rank] = cost_of(features, squares[row, rank])
    return costs


@kernel
def look_again(features, sides, others, tile, limits, squares, candidates, begin, end):
    """Go on with the candidates of the sides begin .. end-1 of a list, from a tile of their bounds with other sides.

    Invariant: `squares` holds the sums of the best so far, in order, equal ones by number, infinite where there are not
    enough. The list that was found before bounds the last sum by `limits`.
    """
    features, last = uncounted(features), candidates.shape[1] - 1
    for row in range(begin, end):
        side = sides[row]
        own, own_candidates = squares[row], candidates[side]
        for chunk in range(0, tile.shape[1], CHUNK):
            stop = min(chunk + CHUNK, tile.shape[1])
            limit = np.nextafter(np.float32(min(limits[row], own[last])), np.float32(np.inf))
            below = np.int32(0)
            for column in range(chunk, stop):
                below |= np.int32(tile[row, np.uint64(column)] <= limit)
            if below:
                for column in range(chunk, stop):
                    other = others[column]
                    if tile[row, column] > limit or other >> 2 == side >> 2:
                        continue
                    if own[last] == 0 and other > own_candidates[last]:
                        continue  # All that the list holds fit exactly, and come first.
                    square = squared_distance_below(features, side, other, np.nextafter(own[last], np.inf))
                    if square < own[last] or (square == own[last] and other < own_candidates[last]):
                        insert_by_number(own, own_candidates, square, other)


@inlined
def insert_by_number(values, sides, value, side):
    """Insert into a sorted list, equal values by number, in place of the last, unless that comes before it."""
    position = len(values) - 1
    if values[position] == value and NOBODY < sides[position] < side:
        return
    while position > 0 and (
        values[position - 1] > value or (values[position - 1] == value and sides[position - 1] > side)
    ):
        values[position] = values[position - 1]
        sides[position] = sides[position - 1]
        position -= 1
    values[position] = value
    sides[position] = side
