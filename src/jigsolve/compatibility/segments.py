"""Segments: what sure partners connect is joined to larger segments, by the evidence of all the seams between them.

In a sky hardly a seam proves anything by itself. But two segments that are right in themselves meet at several seams,
and two such places where a third fits both say more still. So the search for partners goes on with segments: a
*hypothesis* says where a segment lies beside another, its *evidence* is the sum of what its seams say, and the clearest
hypotheses are believed first, those that no other contradicts that has about as much for it. Each belief makes
segments larger, and so the next ones clearer.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._access import uncounted
from .._jit import inlined, kernel
from ..threads import Threads
from .costs import Features, cost_of, squared_distance
from .likeness import worth_of
from .lists import NOBODY, Lists, Tell
from .packing import pack
from .partners import NO_PARTNER, Partners

# Up to which level of doubt partners make the first segments, and which one those get that segments name.
SETTLED, JOINED = 0, 1
# The level at least of partners that lie in different segments in the end: all evidence together did not confirm them.
UNCONFIRMED = JOINED + 1
# Pieces that make a segment large, and how many parallel pairs of partners in a row hold it together.
LARGE = 64
WIDTH = 4
# A segment whose box has more than so many places for each piece of the puzzle is none.
MOST_ROOM = 4
# By how much more evidence than all that contradicts it a hypothesis is believed, in natural logarithms: first the
# clearest ones. What several seams say is not independent, so this grows with the root of half their number.
MARGINS = (8.0, 6.0, 4.0, 3.0, 2.0)
# Evidence that a hypothesis needs at least, and that one needs to be kept in mind at all.
BELIEVABLE = 8.0
NOTABLE = 3.0
# How much the evidence counts that a third segment would fit both, and by how much it must fit the first that is asked.
CLOSURE = 0.7
TELLING = 4.0
# A seam never says more than this against a hypothesis: single true seams fit badly.
LEAST_EVIDENCE = -4.0
# Part of what a seam says is that two segments are of one area, and the other seams between them say that again: so
# much, and where flat seams are judged by likeness, which then counts more than by itself, so much.
SAID_AGAIN, SAID_AGAIN_BY_LIKENESS = 1.5, 2.5
EMPHASIS = 1.5
# Rounds of a margin end when one joins less than a pair for so many pieces.
PIECES_A_JOIN = 1000
# Pieces that say how others than the candidates fit a side.
SAMPLE = 64
# Sharpness that is tried (see `sharpness`), and from how many sides it is told, at least and at most.
SHARPNESS = np.geomspace(0.001, 1000, 121)
FEWEST_SETTLED, MOST_SETTLED = 100, 100_000
# How a hypothesis is written as one number: the larger segment, the smaller one, and by how many rows and columns the
# corner of the smaller one's box lies behind the larger one's.
OFFSET_BITS, SEGMENT_BITS = 12, 20
NO_OFFSET = 1 << (OFFSET_BITS - 1)
# Bits in the filter of an index for each place in its table.
FILTER = 8
MOST_SEGMENTS = 1 << (SEGMENT_BITS - 1)


class Segments(NamedTuple):
    """Segments of pieces, each in a box of its own. Those that were joined to others have no pieces left."""

    of: NDArray[np.int32]
    """(pieces,): the segment of a piece."""
    rows: NDArray[np.int32]
    """(pieces,): in which row of the box it lies."""
    columns: NDArray[np.int32]
    sizes: NDArray[np.int64]
    """(segments,): how many pieces it has, with the size of its box."""
    heights: NDArray[np.int64]
    widths: NDArray[np.int64]
    corners: NDArray[np.int64]
    """(segments,): where in `boxes` its box begins."""
    boxes: NDArray[np.int32]
    """The pieces in all boxes, row by row, and -1 in between."""
    firsts: NDArray[np.int64]
    """(segments + 1,): where in `members` its pieces begin."""
    members: NDArray[np.int32]


class Evidence(NamedTuple):
    """What is needed to tell what a seam says.

    That is the logarithm of how much more probable its cost is if its pieces belong together than if not: `usual` less
    `sharpness` times the cost, as both sides see it on average, and never below a bound.
    """

    features: Features
    usual: NDArray[np.float64]
    """(sides,): the sharpness times the cost that says nothing; only of sides at which nothing is settled."""
    sharpness: float
    said_again: float
    """What all seams but one say less, as they say it again."""


class Hypotheses(NamedTuple):
    """Hypotheses, in the order of their numbers."""

    codes: NDArray[np.int64]
    evidence: NDArray[np.float64]
    """What the seams say, all in all."""
    closures: NDArray[np.float64]
    """The evidence that a third segment fits both, or -1 where it is not known."""
    seams: NDArray[np.int64]


class Joined(NamedTuple):
    """What segments tell."""

    partners: Partners
    several: bool
    """Whether they are several pictures, which are packed into the frame."""


def partners_in_segments(
    features: Features, lists: Lists, partners: Partners, frame: tuple[int, int], threads: Threads, tell: Tell
) -> Joined:
    """Return the partners with those that segments name, as far as they can be joined in a frame (rows, columns)."""
    worth = worth_of(features)
    sharp = EMPHASIS / worth if worth > 0 else sharpness(lists, partners.up_to(SETTLED))
    if sharp == 0 or len(partners.pieces) >= MOST_SEGMENTS or max(frame) >= NO_OFFSET:
        tell(1)
        return Joined(partners, several=False)
    return join_segments(features, lists, partners, frame, sharp, threads, tell)


def join_segments(
    features: Features,
    lists: Lists,
    partners: Partners,
    frame: tuple[int, int],
    sharp: float,
    threads: Threads,
    tell: Tell,
) -> Joined:
    """Return the partners that segments name, if costs are as sharp as that."""
    segments = _first_segments(partners.up_to(SETTLED))
    said_again = SAID_AGAIN_BY_LIKENESS if worth_of(features) > 0 else SAID_AGAIN
    evidence = Evidence(features, _usual(features, lists, segments, sharp, threads), sharp, said_again)
    segments = _join(evidence, lists.candidates, segments, frame, threads, tell)
    packed = _packed(segments, frame)
    return Joined(_named(packed or segments, partners), several=packed is not None)


def sharpness(lists: Lists, settled: NDArray[np.int32]) -> float:
    """Return by how much a cost must differ to be e times less probable, as its inverse; zero if nothing tells.

    It is told from the sides whose partners are settled: with chances of exp(-sharpness x cost) for all candidates of a
    side, those partners are most probable.
    """
    side = np.arange(4 * len(settled))
    partner = np.where(settled.ravel() >= 0, 4 * settled.ravel() + (side & 3 ^ 2), NOBODY - 1)
    found = lists.candidates == partner[:, np.newaxis]
    sides = np.flatnonzero(found.any(axis=1))
    if len(sides) < FEWEST_SETTLED:
        return 0.0
    sides = sides[:: -(-len(sides) // MOST_SETTLED)]
    costs = lists.costs[sides].astype(np.float64)
    beyond = costs - costs[found[sides]][:, np.newaxis]  # Of all candidates beyond that of the true one.

    def chance(index: int) -> float:
        """Return the mean logarithm of the chances of the partners."""
        return float(-np.log(np.exp(np.minimum(-SHARPNESS[index] * beyond, 700)).sum(axis=1)).mean())

    # It rises up to the best sharpness and falls beyond: a search by halves.
    low, high = 0, len(SHARPNESS) - 1
    while low < high:
        middle = (low + high) // 2
        if chance(middle + 1) > chance(middle):
            low = middle + 1
        else:
            high = middle
    return float(SHARPNESS[low])


def _first_segments(settled: NDArray[np.int32]) -> Segments:
    """Return the segments that settled partners make, without narrow bridges between large ones.

    Of tens of thousands of settled partners a handful are wrong, and one that connects two halves of a picture would
    spoil everything. Where it does so for a reason, the evidence of all seams between the halves will say so.
    """
    settled = _trusted(settled)
    pieces = len(settled)
    of, rows, columns = (np.empty(pieces, dtype=np.int32) for _ in range(3))
    count = connect(settled, of, rows, columns)
    # Partners that wind through more room than there is are not right, and their box would take all memory.
    _, heights = _extents(of, rows, count)
    _, widths = _extents(of, columns, count)
    count = _set_apart(of, np.flatnonzero((heights * widths > MOST_ROOM * pieces)[of]), count)
    # Partners can contradict each other: of two pieces in one place the second becomes a segment of its own.
    segments = _boxed(of, rows, columns, count)
    places = segments.corners[of] + segments.rows * segments.widths[of] + segments.columns
    count = _set_apart(of, np.flatnonzero(segments.boxes[places] != np.arange(pieces)), count)
    return _boxed(of, rows, columns, count)


def _set_apart(of: NDArray[np.int32], pieces: NDArray[np.intp], count: int) -> int:
    """Make each of these pieces a segment of its own, and return how many segments there are then."""
    of[pieces] = count + np.arange(len(pieces))
    return count + len(pieces)


def _extents(
    of: NDArray[np.int32], places: NDArray[np.int32], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where segments begin along one axis, and how long they are there; those without pieces have no length."""
    low, high = np.full(count, np.iinfo(np.int32).max, np.int64), np.full(count, np.iinfo(np.int32).min, np.int64)
    np.minimum.at(low, of, places)
    np.maximum.at(high, of, places)
    return low, np.maximum(high - low + 1, 0)


def _trusted(settled: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the settled partners, in large segments only those in a row of parallel ones.

    What falls off a large segment stays together, unless that is large itself.
    """
    wide = np.where(_in_large_segments(settled), in_rows(settled), settled)
    cores = _in_large_segments(wide)
    other = np.maximum(settled, 0)
    loose = np.where(cores | cores[other, 0], -1, settled)
    loose = np.where(_in_large_segments(loose), wide, loose)
    return np.where(wide >= 0, wide, loose).astype(np.int32)


def _in_large_segments(partners: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return (pieces, 1): whether partners connect a piece to many."""
    of, rows, columns = (np.empty(len(partners), dtype=np.int32) for _ in range(3))
    count = connect(partners, of, rows, columns)
    return (np.bincount(of, minlength=count) >= LARGE)[of][:, np.newaxis]


def _boxed(of: NDArray[np.int32], rows: NDArray[np.int32], columns: NDArray[np.int32], count: int) -> Segments:
    """Lay segments out in boxes, given where their pieces lie relative to each other."""
    sizes = np.bincount(of, minlength=count)
    top, heights = _extents(of, rows, count)
    left, widths = _extents(of, columns, count)
    rows, columns = (rows - top[of]).astype(np.int32), (columns - left[of]).astype(np.int32)
    areas = heights * widths
    corners = np.cumsum(areas) - areas
    boxes = np.full(int(areas.sum()), -1, dtype=np.int32)
    # Backwards, so that of two pieces in one place the first has it.
    boxes[(corners[of] + rows * widths[of] + columns)[::-1]] = np.arange(len(of), dtype=np.int32)[::-1]
    firsts = np.concatenate([[0], np.cumsum(sizes)])
    members = np.argsort(of, kind="stable").astype(np.int32)
    return Segments(of, rows, columns, sizes, heights, widths, corners, boxes, firsts, members)


def _usual(features: Features, lists: Lists, segments: Segments, sharp: float, threads: Threads) -> NDArray[np.float64]:
    pieces = len(segments.of)
    sample = np.unique(np.arange(SAMPLE) * pieces // SAMPLE)
    usual = np.zeros(4 * pieces)
    threads.run(4 * pieces, partial(find_usual, features, lists, segments, sharp, sample, usual))
    return usual


def _join(
    evidence: Evidence,
    candidates: NDArray[np.int32],
    segments: Segments,
    frame: tuple[int, int],
    threads: Threads,
    tell: Tell,
) -> Segments:
    """Believe hypotheses, round by round, until none is clear."""
    count = len(segments.sizes)
    nothing = np.empty(0, dtype=np.int64)
    hypotheses = Hypotheses(nothing, np.empty(0), np.empty(0), nothing)
    changed = np.ones(count, dtype=np.bool_)
    for stage, margin in enumerate(MARGINS):
        joined = len(segments.of)
        hypotheses.closures[:] = -1
        while joined > len(segments.of) // PIECES_A_JOIN:
            hypotheses = _considered(evidence, candidates, segments, frame, hypotheses, changed, threads)
            _find_closures(hypotheses, segments, threads)
            ranked = _ranked(hypotheses, hypotheses.evidence + CLOSURE * hypotheses.closures)
            believed = np.zeros(len(ranked.codes), dtype=np.bool_)
            starts, numbers = by_segment(ranked.codes, count)
            joined = believe(ranked, starts, numbers, segments, frame, margin, believed)
            changed = np.zeros(count, dtype=np.bool_)
            of, rows, columns = (array.copy() for array in segments[:3])
            absorb(ranked.codes[believed], segments, of, rows, columns, changed)
            segments = _boxed(of, rows, columns, count)
        tell((stage + 1) / len(MARGINS))
    return segments


def _packed(segments: Segments, frame: tuple[int, int]) -> Segments | None:
    """Return the segments with those that are pictures of their own as one; None if there are not several."""
    of, rows, columns = (array.copy() for array in segments[:3])
    packed = pack(of, rows, columns, segments.sizes, frame)
    if packed is None:
        return None
    pieces, rows_there, columns_there = packed
    of[pieces], rows[pieces], columns[pieces] = len(segments.sizes), rows_there, columns_there
    return _boxed(of, rows, columns, len(segments.sizes) + 1)


def _considered(
    evidence: Evidence,
    candidates: NDArray[np.int32],
    segments: Segments,
    frame: tuple[int, int],
    hypotheses: Hypotheses,
    changed: NDArray[np.bool_],
    threads: Threads,
) -> Hypotheses:
    """Return the hypotheses that are left of those before, and those that segments which have changed give rise to.

    They are in the order of their evidence.
    """
    stay = np.flatnonzero(are_untouched(hypotheses.codes, changed))
    codes = np.empty(count_proposals(candidates, segments, changed), dtype=np.int64)
    codes = np.unique(codes[: propose(candidates, segments, changed, frame, codes)])
    found, seams = np.empty(len(codes)), np.empty(len(codes), dtype=np.int64)
    threads.run(len(codes), partial(weigh, evidence, codes, segments, found, seams))
    new = np.flatnonzero(found >= NOTABLE)
    together = Hypotheses(
        np.concatenate([hypotheses.codes[stay], codes[new]]),
        np.concatenate([hypotheses.evidence[stay], found[new]]),
        np.concatenate([hypotheses.closures[stay], np.full(len(new), -1.0)]),
        np.concatenate([hypotheses.seams[stay], seams[new]]),
    )
    return _ranked(together, together.evidence)


def _ranked(hypotheses: Hypotheses, evidence: NDArray[np.float64]) -> Hypotheses:
    """Return hypotheses with this evidence in its order, the one with most first."""
    order = np.argsort(-evidence, kind="stable")
    return Hypotheses(hypotheses.codes[order], evidence[order], hypotheses.closures[order], hypotheses.seams[order])


def _find_closures(hypotheses: Hypotheses, segments: Segments, threads: Threads) -> None:
    codes, evidence, closures, _ = hypotheses
    table, known = index_of(codes)
    starts, numbers = by_segment(codes, len(segments.sizes))
    threads.run(len(codes), partial(find_closures, codes, evidence, table, known, starts, numbers, segments, closures))


def _named(segments: Segments, partners: Partners) -> Partners:
    """Return the partners as they lie in segments, and elsewhere as they were, as far as segments allow."""
    pieces, doubt = partners.pieces.copy(), partners.doubt.reshape(-1, 4).copy()
    of = segments.of
    for direction, (down, right) in enumerate(((0, 1), (1, 0), (0, -1), (-1, 0))):
        rows, columns = segments.rows + down, segments.columns + right
        inside = (rows >= 0) & (columns >= 0) & (rows < segments.heights[of]) & (columns < segments.widths[of])
        places = np.where(inside, segments.corners[of] + rows * segments.widths[of] + columns, 0)
        beside = np.where(inside, segments.boxes[places], -1)
        other = pieces[:, direction]
        impossible = (beside < 0) & (other >= 0) & (of[other] == of)
        doubt[:, direction] = np.where(
            beside >= 0,
            np.where(other == beside, np.minimum(doubt[:, direction], JOINED), JOINED),
            np.where(impossible, NO_PARTNER, np.maximum(doubt[:, direction], UNCONFIRMED)),
        )
        pieces[:, direction] = np.where(beside >= 0, beside, np.where(impossible, -1, other))
    left_alone = ~_mutual(pieces)
    doubt[left_alone & (pieces >= 0)], pieces[left_alone] = NO_PARTNER, -1
    buddies = np.where(doubt <= JOINED, pieces, partners.buddies)
    buddies[~_mutual(buddies)] = -1
    return Partners(buddies.astype(np.int32), pieces.astype(np.int32), np.ascontiguousarray(doubt.ravel()))


def _mutual(partners: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return (pieces, 4): whether there is a partner at a side, whose partner it is in turn."""
    direction = np.arange(4)
    in_turn = partners[partners, direction ^ 2] == np.arange(len(partners))[:, np.newaxis]
    return (partners >= 0) & in_turn


@kernel
def connect(partners, of, rows, columns):
    """Number the segments that partners connect, and place their pieces relative to each other; return how many."""
    count = 0
    waiting = np.empty(len(partners), np.int32)
    of[:] = -1
    for start in range(len(partners)):
        if of[start] >= 0:
            continue
        of[start], rows[start], columns[start] = count, 0, 0
        waiting[0] = start
        left = 1
        while left > 0:
            left -= 1
            piece = waiting[left]
            for direction in range(4):
                other = partners[piece, direction]
                if other >= 0 and of[other] < 0:
                    of[other] = count
                    rows[other] = rows[piece] + (0, 1, 0, -1)[direction]
                    columns[other] = columns[piece] + (1, 0, -1, 0)[direction]
                    waiting[left] = other
                    left += 1
        count += 1
    return count


@kernel
def in_rows(partners):
    """The partners that are one of several pairs in a row along their seam, all of them partners."""
    wide = np.full_like(partners, -1)
    for piece in range(len(partners)):
        for direction in range(4):
            other = partners[piece, direction]
            row = 1
            for turn in range(2):
                along = direction ^ 1 if turn == 0 else direction ^ 3
                one, two = piece, other
                while other >= 0 and row < WIDTH:
                    one, two = partners[one, along], partners[two, along]
                    if one < 0 or two < 0 or partners[one, direction] != two:
                        break
                    row += 1
            if other >= 0 and row == WIDTH:
                wide[piece, direction] = other
    return wide


@inlined
def piece_at(segments, segment, row, column):
    """The piece in a place of a segment, or -1."""
    if row < 0 or column < 0 or row >= segments.heights[segment] or column >= segments.widths[segment]:
        return np.int64(-1)
    return np.int64(segments.boxes[segments.corners[segment] + row * segments.widths[segment] + column])


@inlined
def beside(segments, piece, direction):
    """The place at a side of a piece in its segment."""
    row, column = np.int64(segments.rows[piece]), np.int64(segments.columns[piece])
    return row + (0, 1, 0, -1)[direction], column + (1, 0, -1, 0)[direction]


@inlined
def is_exposed(segments, side):
    """Whether nothing of its own segment lies at a side."""
    row, column = beside(segments, side >> 2, side & 3)
    return piece_at(segments, np.int64(segments.of[side >> 2]), row, column) < 0


@inlined
def is_listed(candidates, other):
    """Whether a side is one of the candidates."""
    found = False
    for candidate in candidates:
        found |= candidate == other
    return found


@kernel
def find_usual(features, lists, segments, sharp, sample, usual, begin, end):
    """Find what the exposed ones of the sides begin .. end-1 find usual.

    That is the logarithm of the mean of exp(-sharp * cost) over all pieces, with the sign changed: over the candidates,
    and for the others over those of the sample. Some of these can fit as well as the last candidate, as among pieces of
    one colour, or better, for the measure that candidates are chosen by is not that of the costs in all.
    """
    features = uncounted(features)
    candidates, costs = lists
    last = candidates.shape[1] - 1
    pieces = len(segments.of)
    for side in range(begin, end):
        if not is_exposed(segments, side) or candidates[side, 0] < 0:
            continue
        first = np.float64(costs[side, 0])
        total = 0.0
        for rank in range(last + 1):
            if candidates[side, rank] >= 0:
                total += np.exp(-sharp * (costs[side, rank] - first))
        if candidates[side, last] >= 0:
            others = 0.0
            for piece in sample:
                other = 4 * piece + (side & 3 ^ 2)
                cost = cost_of(features, squared_distance(features, side, other))
                if piece != side >> 2 and (cost > costs[side, last] or not is_listed(candidates[side], other)):
                    others += np.exp(-sharp * (cost - first))
            total += others * pieces / len(sample)
        usual[side] = np.log(pieces / total) + sharp * first


@inlined
def larger_first(segments, one, two, row, column):
    """The code of the hypothesis that the corner of `two` lies so many rows and columns behind that of `one`."""
    sizes = segments.sizes
    if sizes[one] < sizes[two] or (sizes[one] == sizes[two] and one > two):
        one, two, row, column = two, one, -row, -column
    return (((one << SEGMENT_BITS | two) << OFFSET_BITS | row + NO_OFFSET) << OFFSET_BITS) | column + NO_OFFSET


@inlined
def decoded(code):
    """What a code says: the larger segment, the smaller one, and how its corner lies behind the larger one's."""
    offset = (1 << OFFSET_BITS) - 1
    return (
        code >> (2 * OFFSET_BITS + SEGMENT_BITS),
        code >> (2 * OFFSET_BITS) & ((1 << SEGMENT_BITS) - 1),
        (code >> OFFSET_BITS & offset) - NO_OFFSET,
        (code & offset) - NO_OFFSET,
    )


@kernel
def are_untouched(codes, changed):
    """Whether neither segment of a hypothesis has changed, for each."""
    untouched = np.empty(len(codes), np.bool_)
    for index in range(len(codes)):
        larger, smaller, _, _ = decoded(codes[index])
        untouched[index] = not (changed[larger] or changed[smaller])
    return untouched


@kernel
def count_proposals(candidates, segments, changed):
    """How many hypotheses `propose` can find at most."""
    segments = uncounted(segments)
    count = 0
    for side in range(len(candidates)):
        if is_exposed(segments, side):
            for rank in range(candidates.shape[1]):
                other = candidates[side, rank] >> 2
                if other >= 0 and (changed[segments.of[side >> 2]] or changed[segments.of[other]]):
                    count += 1
    return count


@kernel
def propose(candidates, segments, changed, frame, codes):
    """Note all hypotheses about segments that have changed that candidates give rise to, and return how many."""
    segments = uncounted(segments)
    heights, widths = segments.heights, segments.widths
    count = 0
    for side in range(len(candidates)):
        if not is_exposed(segments, side):
            continue
        one = np.int64(segments.of[side >> 2])
        row, column = beside(segments, side >> 2, side & 3)
        for rank in range(candidates.shape[1]):
            other = candidates[side, rank] >> 2
            if other < 0:
                break
            two = np.int64(segments.of[other])
            if one == two or not (changed[one] or changed[two]):
                continue
            down, right = row - segments.rows[other], column - segments.columns[other]
            if (
                max(heights[one], down + heights[two]) - min(0, down) <= frame[0]
                and max(widths[one], right + widths[two]) - min(0, right) <= frame[1]
            ):
                codes[count] = larger_first(segments, one, two, down, right)
                count += 1
    return count


@inlined
def said_by(evidence, side, other):
    """What the seam of two sides says."""
    cost = evidence.sharpness * cost_of(evidence.features, squared_distance(evidence.features, side, other))
    one = max(evidence.usual[side] - cost, LEAST_EVIDENCE)
    return 0.5 * (one + max(evidence.usual[other] - cost, LEAST_EVIDENCE))


@kernel
def weigh(evidence, codes, segments, found, seams, begin, end):
    """Find the evidence of the hypotheses begin .. end-1 and their seams; none where pieces would lie in one place.

    The first seam counts in full, each further one less what it says again.
    """
    evidence, segments = uncounted(evidence), uncounted(segments)
    for index in range(begin, end):
        larger, smaller, down, right = decoded(codes[index])
        total = 0.0
        count = 0
        for member in range(segments.firsts[smaller], segments.firsts[smaller + 1]):
            piece = np.int64(segments.members[member])
            if piece_at(segments, larger, segments.rows[piece] + down, segments.columns[piece] + right) >= 0:
                total = -np.inf
                break
            for direction in range(4):
                row, column = beside(segments, piece, direction)
                other = piece_at(segments, larger, row + down, column + right)
                if other >= 0:
                    total += said_by(evidence, 4 * piece + direction, 4 * other + (direction ^ 2))
                    count += 1
        found[index], seams[index] = total - evidence.said_again * max(count - 1, 0), count


@inlined
def scattered(code):
    """A number that looks random, by which a code is looked up: all its bits count, the segments' too."""
    mixed = np.uint64(code) ^ (np.uint64(code) >> np.uint64(32))
    return np.int64((mixed * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(24))


@kernel
def index_of(codes):
    """An index that `number_of` looks codes up in: a table of their numbers, half of it empty, and a filter.

    The filter has a byte for each of a few bits of `scattered`, zero where no code has them. Nearly all that is looked
    up is not there, and a filter fits in a cache where a table does not.
    """
    size = 16
    while size < 2 * len(codes):
        size *= 2
    table, known = np.full(size, -1, np.int64), np.zeros(FILTER * size // 8, np.uint8)
    for number in range(len(codes)):
        place = scattered(codes[number])
        bit = place & (FILTER * size - 1)
        known[bit >> 3] |= np.uint8(1 << (bit & 7))
        slot = place & (size - 1)
        while table[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        table[slot] = number
    return table, known


@inlined
def number_of(table, known, codes, code):
    """The number of a hypothesis, or -1."""
    place = scattered(code)
    bit = place & (FILTER * len(table) - 1)
    if known[bit >> 3] >> (bit & 7) & 1 == 0:
        return np.int64(-1)
    slot = place & (len(table) - 1)
    while table[slot] >= 0 and codes[table[slot]] != code:
        slot = (slot + 1) & (len(table) - 1)
    return table[slot]


@kernel
def by_segment(codes, count):
    """Where the numbers of each segment's hypotheses begin, and these numbers, in order."""
    starts = np.zeros(count + 2, np.int64)
    for code in codes:
        one, two, _, _ = decoded(code)
        starts[one + 2] += 1
        starts[two + 2] += 1
    for segment in range(count):
        starts[segment + 2] += starts[segment + 1]
    numbers = np.empty(2 * len(codes), np.int64)
    for number in range(len(codes)):
        one, two, _, _ = decoded(codes[number])
        for segment in (one, two):
            numbers[starts[segment + 1]] = number
            starts[segment + 1] += 1
    return starts[: count + 1], numbers


@inlined
def seen_from(code, segment):
    """What a hypothesis says of the other segment: which it is, and how its corner lies behind this one's."""
    larger, smaller, down, right = decoded(code)
    if segment == larger:
        return smaller, down, right
    return larger, -down, -right


@kernel
def find_closures(codes, evidence, table, known, starts, numbers, segments, closures, begin, end):
    """Find for those of the hypotheses begin .. end-1 that have none how well a third segment fits both of theirs.

    That is as much as it fits the worse of them.
    Only the third that fits best counts. It is looked for among the hypotheses about the segment with fewer of them,
    which are in the order of their evidence: so the search ends where none can be better, or where they say little.
    """
    segments = uncounted(segments)
    for index in range(begin, end):
        if closures[index] >= 0:
            continue
        one, two, down, right = decoded(codes[index])
        if starts[one + 1] - starts[one] > starts[two + 1] - starts[two]:
            one, two, down, right = two, one, -down, -right
        best = 0.0
        for place in range(starts[one], starts[one + 1]):
            number = numbers[place]
            if evidence[number] <= max(best, TELLING):
                break
            third, below, beyond = seen_from(codes[number], one)
            below, beyond = below - down, beyond - right
            if third == two or max(abs(below), abs(beyond)) >= NO_OFFSET:
                continue
            other = number_of(table, known, codes, larger_first(segments, two, third, below, beyond))
            if other >= 0:
                best = max(best, min(evidence[number], evidence[other]))
        closures[index] = best


@kernel
def overlap(segments, one, two, down, right):
    """Whether two segments have pieces in one place if the corner of `two` lies so far behind that of `one`."""
    heights, widths, sizes = segments.heights, segments.widths, segments.sizes
    if down >= heights[one] or -down >= heights[two] or right >= widths[one] or -right >= widths[two]:
        return False
    if sizes[one] < sizes[two]:
        one, two, down, right = two, one, -down, -right
    for member in range(segments.firsts[two], segments.firsts[two + 1]):
        piece = segments.members[member]
        if piece_at(segments, one, segments.rows[piece] + down, segments.columns[piece] + right) >= 0:
            return True
    return False


@kernel
def is_contradicted(codes, evidence, starts, numbers, segments, index, margin):
    """Whether another hypothesis with nearly as much evidence, at most `margin` less, cannot be true besides this one.

    Hypotheses are in the order of their evidence, and so are the numbers of those about a segment.
    """
    for turn in range(2):
        segment = decoded(codes[index])[turn]
        other, down, right = seen_from(codes[index], segment)
        for place in range(starts[segment], starts[segment + 1]):
            number = numbers[place]
            if evidence[number] < evidence[index] - margin:
                break
            if number == index:
                continue
            rival, below, beyond = seen_from(codes[number], segment)
            if rival == other or overlap(segments, other, rival, below - down, beyond - right):
                return True
    return False


@kernel
def believe(hypotheses, starts, numbers, segments, frame, margin, believed):
    """Choose the hypotheses to believe, the one with most evidence first, and return how many they are.

    Invariant: what is believed can be true together, and a segment that is joined to a larger one is in no other: so
    all of them can be carried out at once.
    """
    codes, evidence, _, seams = hypotheses
    codes, evidence, segments = uncounted(codes), uncounted(evidence), uncounted(segments)
    starts, numbers = uncounted(starts), uncounted(numbers)
    count = len(segments.sizes)
    absorbed, grown = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    top, left = np.zeros(count, np.int64), np.zeros(count, np.int64)
    bottom, right_end = segments.heights.copy(), segments.widths.copy()
    # The hypotheses believed of a larger segment: the last one, and the one before each.
    last, before = np.full(count, -1, np.int64), np.full(len(codes), -1, np.int64)
    joined = 0
    for index in range(len(codes)):
        if evidence[index] < BELIEVABLE:
            break
        one, two, down, right = decoded(codes[index])
        if absorbed[one] or absorbed[two] or grown[two]:
            continue
        needed = margin * np.sqrt(max(1.0, seams[index] / 2))
        if is_contradicted(codes, evidence, starts, numbers, segments, index, needed):
            continue
        new_top, new_left = min(top[one], down), min(left[one], right)
        new_bottom = max(bottom[one], down + segments.heights[two])
        new_right = max(right_end[one], right + segments.widths[two])
        fits = new_bottom - new_top <= frame[0] and new_right - new_left <= frame[1]
        number = last[one]
        while fits and number >= 0:
            other, below, beyond = seen_from(codes[number], one)
            fits = not overlap(segments, other, two, down - below, right - beyond)
            number = before[number]
        if fits:
            top[one], left[one], bottom[one], right_end[one] = new_top, new_left, new_bottom, new_right
            absorbed[two] = grown[one] = believed[index] = True
            before[index], last[one] = last[one], index
            joined += 1
    return joined


@kernel
def absorb(codes, segments, of, rows, columns, changed):
    """Join the smaller segment of each hypothesis to the larger one, in `of`, `rows` and `columns`."""
    for code in codes:
        larger, smaller, down, right = decoded(code)
        changed[larger] = changed[smaller] = True
        for member in range(segments.firsts[smaller], segments.firsts[smaller + 1]):
            piece = segments.members[member]
            of[piece] = larger
            rows[piece] += down
            columns[piece] += right
