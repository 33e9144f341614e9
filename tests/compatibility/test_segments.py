from collections import Counter

import numpy as np
import pytest

from jigsolve import Puzzle
from jigsolve.compatibility import segments as module
from jigsolve.compatibility.context import partners_in_context
from jigsolve.compatibility.lists import NOBODY, Lists, find_lists
from jigsolve.compatibility.partners import NO_PARTNER, Partners, find_partners
from jigsolve.compatibility.seams import midline_seams
from jigsolve.compatibility.segments import (
    BELIEVABLE,
    JOINED,
    LEAST_EVIDENCE,
    SAID_AGAIN,
    TELLING,
    UNCONFIRMED,
    Evidence,
    Hypotheses,
    absorb,
    believe,
    by_segment,
    decoded,
    find_closures,
    find_usual,
    index_of,
    join_segments,
    larger_first,
    number_of,
    partners_in_segments,
    sharpness,
    weigh,
)
from jigsolve.threads import Threads
from tests import naive
from tests.compatibility.test_context import noisy_blots
from tests.puzzles import costs_of, random_features

WAYS = ((0, 1), (1, 0), (0, -1), (-1, 0))


def grid_partners(rows, columns):
    """The true partners of pieces numbered row by row."""
    grid = np.full((rows + 2, columns + 2), -1)
    grid[1:-1, 1:-1] = np.arange(rows * columns).reshape(rows, columns)
    around = [grid[1 + down : rows + 1 + down, 1 + right : columns + 1 + right] for down, right in WAYS]
    return np.stack(around, axis=2).reshape(-1, 4).astype(np.int32)


def drawn_segments(rng, pieces, count):
    """Segments with pieces here and there, as `Segments` and as {segment: {(row, column): piece}}."""
    of = rng.integers(0, count, size=pieces).astype(np.int32)
    rows, columns = np.zeros(pieces, np.int32), np.zeros(pieces, np.int32)
    for segment in range(count):
        own = np.flatnonzero(of == segment)
        places = rng.permutation(16)[: len(own)]
        rows[own], columns[own] = places // 4 - 1, places % 4 + 2
    segments = module._boxed(of, rows, columns, count)
    shapes = {segment: {} for segment in range(count)}
    for piece in range(pieces):
        shapes[int(of[piece])][int(segments.rows[piece]), int(segments.columns[piece])] = piece
    return segments, shapes


def drawn_codes(rng, segments, count):
    pairs = rng.permutation([(a, b) for a in range(count) for b in range(a) if segments.sizes[[a, b]].all()])
    codes = {
        larger_first(segments, int(a), int(b), int(down), int(right))
        for a, b in pairs
        for down, right in rng.integers(-4, 5, size=(12, 2))
    }
    return np.array(sorted(codes), dtype=np.int64)


def meaning(code):
    return tuple(int(part) for part in decoded(np.int64(code)))


def moved(shape, down, right):
    return {(row + down, column + right): piece for (row, column), piece in shape.items()}


@pytest.mark.parametrize("seed", range(10))
def test_evidence_is_that_of_all_seams_between_two_segments(seed):
    rng = np.random.default_rng(seed)
    features = random_features(rng, 40, length=4)
    costs = costs_of(features)
    segments, shapes = drawn_segments(rng, 40, 9)
    evidence = Evidence(features, rng.uniform(0, 6, size=160), 0.002, SAID_AGAIN)
    codes = drawn_codes(rng, segments, 9)
    found, seams = np.empty(len(codes)), np.empty(len(codes), dtype=np.int64)
    for begin in range(0, len(codes), 7):
        weigh(evidence, codes, segments, found, seams, begin, min(begin + 7, len(codes)))
    for code, total, count in zip(codes, found, seams, strict=True):
        larger, smaller, down, right = meaning(code)
        assert segments.sizes[larger] >= segments.sizes[smaller]
        placed = moved(shapes[smaller], down, right)
        if placed.keys() & shapes[larger].keys():
            assert total == -np.inf
            continue
        said = []
        for (row, column), piece in placed.items():
            for direction, (below, beyond) in enumerate(WAYS):
                other = shapes[larger].get((row + below, column + beyond))
                if other is not None:
                    cost = 0.002 * costs[piece, direction, other]
                    usual = [evidence.usual[4 * piece + direction], evidence.usual[4 * other + (direction ^ 2)]]
                    said.append(np.mean([max(one - cost, LEAST_EVIDENCE) for one in usual]))
        assert count == len(said)
        assert total == pytest.approx(sum(said) - SAID_AGAIN * max(len(said) - 1, 0), rel=1e-6)
    assert (seams[found > 0] > 1).any()


def drawn_evidence(rng, count=9):
    segments, _ = drawn_segments(rng, 40, count)
    codes = drawn_codes(rng, segments, count)
    evidence = np.sort(rng.uniform(0, 14, size=len(codes)))[::-1].copy()
    return rng.permutation(codes), evidence, segments


@pytest.mark.parametrize("seed", range(10))
def test_closures_are_the_best_third_segment(seed):
    codes, evidence, segments = drawn_evidence(np.random.default_rng(seed))
    closures = np.full(len(codes), -1.0)
    closures[::5] = 77
    find_closures(codes, evidence, *index_of(codes), *by_segment(codes, 9), segments, closures, 0, len(codes))
    known = {}
    for code, value in zip(codes, evidence, strict=True):
        larger, smaller, down, right = meaning(code)
        known[larger, smaller, down, right] = known[smaller, larger, -down, -right] = value
    counts = Counter(first for first, *_ in known)
    best_of_all = 0
    for index, code in enumerate(codes):
        one, two, down, right = meaning(code)
        if counts[one] > counts[two]:
            one, two, down, right = two, one, -down, -right
        best = max(
            (
                min(value, known.get((two, third, below - down, beyond - right), 0))
                for (first, third, below, beyond), value in known.items()
                if first == one and third != two and value > TELLING
            ),
            default=0,
        )
        best_of_all = max(best_of_all, best)
        assert closures[index] == (77 if index % 5 == 0 else best)
    assert best_of_all > TELLING


def test_codes_are_looked_up():
    rng = np.random.default_rng(1)
    codes = np.unique(rng.integers(0, 2**62, size=3000))
    index = index_of(codes[::2])
    assert [number_of(*index, codes[::2], code) for code in codes[::2]] == list(range(len(codes[::2])))
    assert {number_of(*index, codes[::2], code) for code in codes[1::2]} == {-1}


@pytest.mark.parametrize("margin", [0.5, 2.0, 6.0])
@pytest.mark.parametrize("seed", range(6))
def test_what_is_believed_is_not_contradicted_and_fits(seed, margin):
    rng = np.random.default_rng(seed)
    segments, shapes = drawn_segments(rng, 40, 12)
    codes = rng.permutation(drawn_codes(rng, segments, 12))[:60]
    evidence = np.sort(rng.uniform(0, 40, size=len(codes)))[::-1].copy()
    seams = rng.integers(1, 9, size=len(codes))
    possible = np.array(
        [not moved(shapes[b], down, right).keys() & shapes[a].keys() for a, b, down, right in map(meaning, codes)]
    )
    codes, evidence, seams = codes[possible], evidence[possible], seams[possible]
    believed = np.zeros(len(codes), dtype=np.bool_)
    frame = (9, 9)
    hypotheses = Hypotheses(codes, evidence, np.zeros(len(codes)), seams)
    count = believe(hypotheses, *by_segment(codes, 12), segments, frame, margin, believed)
    assert count == believed.sum()
    assert (evidence[believed] >= BELIEVABLE).all()
    for index in np.flatnonzero(believed):
        needed = margin * np.sqrt(max(1, seams[index] / 2))
        for rival in np.flatnonzero(evidence >= evidence[index] - needed):
            assert rival == index or not contradict(meaning(codes[index]), meaning(codes[rival]), shapes)
    # All at once they make segments that fit the frame, with every piece in a place of its own.
    of, rows, columns = (array.copy() for array in segments[:3])
    changed = np.zeros(12, dtype=np.bool_)
    absorb(codes[believed], segments, of, rows, columns, changed)
    assert changed.sum() == len({part for code in codes[believed] for part in meaning(code)[:2]})
    joined = module._boxed(of, rows, columns, 12)
    assert (joined.sizes > 0).sum() == (segments.sizes > 0).sum() - count
    assert (joined.boxes >= 0).sum() == 40
    grown = changed & (joined.sizes > 0)
    assert (joined.heights[grown] <= 9).all()
    assert (joined.widths[grown] <= 9).all()


def contradict(one, two, shapes):
    """Whether two hypotheses about a common segment put two others, or one, in one place or in two."""
    seen = []
    for larger, smaller, down, right in (one, two):
        seen.append({larger: (smaller, down, right), smaller: (larger, -down, -right)})
    for common in seen[0].keys() & seen[1].keys():
        (first, *place), (second, *other_place) = seen[0][common], seen[1][common]
        if first == second or moved(shapes[first], *place).keys() & moved(shapes[second], *other_place).keys():
            return True
    return False


def test_something_is_believed():
    rng = np.random.default_rng(1)
    segments, _ = drawn_segments(rng, 40, 12)
    codes = drawn_codes(rng, segments, 12)[::40]
    evidence = np.linspace(40, 20, len(codes))
    believed = np.zeros(len(codes), dtype=np.bool_)
    seams = np.ones(len(codes), dtype=np.int64)
    hypotheses = Hypotheses(codes, evidence, np.zeros(len(codes)), seams)
    assert believe(hypotheses, *by_segment(codes, 12), segments, (99, 99), 0.0, believed) > 0


def test_a_bridge_between_halves_is_not_trusted():
    left, right = grid_partners(10, 10), grid_partners(10, 10)
    partners = np.concatenate([left, np.where(right >= 0, right + 100, -1)]).astype(np.int32)
    assert module._first_segments(partners).sizes.max() == 100
    for row in (3, 4, 5):
        partners[10 * row + 9, 0], partners[100 + 10 * row + 10, 2] = 100 + 10 * row + 10, 10 * row + 9
    assert module._first_segments(partners).sizes.max() == 100
    partners[69, 0], partners[170, 2] = 170, 69
    whole = module._first_segments(partners)
    assert whole.sizes.max() == 200
    assert (whole.boxes >= 0).sum() == 200


def test_what_hangs_on_a_large_segment_stays_together():
    small = grid_partners(2, 2)
    partners = np.concatenate([grid_partners(10, 10), np.where(small >= 0, small + 100, -1)]).astype(np.int32)
    partners[99, 1], partners[100, 3] = 100, 99
    assert sorted(module._first_segments(partners).sizes) == [4, 100]


def test_partners_that_contradict_each_other_make_two_segments():
    # Five pieces in a circle of right, down, left, up: the last one comes to lie on the first.
    partners = np.full((5, 4), -1, dtype=np.int32)
    for piece, direction in ((0, 0), (1, 1), (2, 2), (3, 3)):
        partners[piece, direction], partners[piece + 1, direction ^ 2] = piece + 1, piece
    segments = module._first_segments(partners)
    assert sorted(segments.sizes) == [1, 4]
    assert sorted(segments.boxes[segments.boxes >= 0]) == [0, 1, 2, 3, 4]


def test_partners_that_wind_through_more_room_than_there_is_are_not_trusted():
    stairs = np.full((60, 4), -1, dtype=np.int32)
    for piece in range(59):
        direction = piece % 2
        stairs[piece, direction], stairs[piece + 1, direction ^ 2] = piece + 1, piece
    segments = module._first_segments(stairs)
    assert (segments.sizes[segments.sizes > 0] == 1).all()
    stairs[20, 0] = stairs[21, 2] = stairs[40, 0] = stairs[41, 2] = -1
    assert sorted(module._first_segments(stairs).sizes) == [19, 20, 21]


def test_sharpness_is_that_of_the_chances():
    rng = np.random.default_rng(1)
    settled = np.full((2000, 4), -1, dtype=np.int32)
    candidates = np.full((8000, 20), NOBODY, dtype=np.int32)
    costs = np.sort(rng.uniform(0, 10, size=(8000, 20)).astype(np.float32), axis=1)
    for side in range(8000):
        candidates[side] = 4 * rng.permutation(2000)[:20] + (side & 3 ^ 2)
        chances = np.exp(-0.8 * costs[side])
        settled[side // 4, side % 4] = candidates[side, rng.choice(20, p=chances / chances.sum())] >> 2
    assert sharpness(Lists(candidates, costs), settled) == pytest.approx(0.8, rel=0.2)
    assert sharpness(Lists(candidates, 10 * costs), settled) == pytest.approx(0.08, rel=0.2)
    assert sharpness(Lists(candidates, costs), np.full_like(settled, -1)) == 0


def test_usual_is_the_mean_over_all_pieces():
    rng = np.random.default_rng(3)
    features = random_features(rng, 40)
    features[4 * rng.permutation(40)[:20, np.newaxis] + np.arange(4)] = 0  # Pieces of one colour.
    with Threads(1) as threads:
        lists = find_lists(features, 5, threads)
    costs = costs_of(features)
    alone = module._boxed(np.arange(40, dtype=np.int32), np.zeros(40, np.int32), np.zeros(40, np.int32), 40)
    usual, sharp = np.empty(160), 5 / costs.max()
    find_usual(features, lists, alone, sharp, np.arange(40), usual, 0, 160)
    for piece in range(40):
        for direction in range(4):
            others = np.delete(costs[piece, direction], piece)
            expected = -np.log(np.exp(-sharp * others).sum() / 40)
            assert usual[4 * piece + direction] == pytest.approx(expected, abs=1e-4)
    assert np.ptp(usual) > 0.3


def found_in(features, frame, count):
    """The partners in context, and those in segments."""
    with Threads(count) as threads:
        lists = find_lists(features, 32, threads)
        before = partners_in_context(features, lists, find_partners(lists, threads), threads, lambda share: None)
        told = []
        return before, partners_in_segments(features, lists, before, frame, threads, told.append).partners, told


def test_segments_name_more_partners_and_hardly_a_wrong_one():
    features = midline_seams(Puzzle.from_array(noisy_blots(240, noise=11), 12))
    grid = np.arange(400).reshape(20, 20)
    before, after, told = found_in(features, (20, 20), 2)
    named = [found.up_to(JOINED) for found in (before, after)]
    right = [
        (sure[grid[:, :-1], naive.RIGHT] == grid[:, 1:]).sum() + (sure[grid[:-1], naive.DOWN] == grid[1:]).sum()
        for sure in named
    ]
    assert right[1] > 1.5 * right[0] > 350
    assert right[1] >= 0.99 * (named[1] >= 0).sum() / 2
    for partners in (after.pieces, after.buddies):
        for piece, direction in np.argwhere(partners >= 0):
            assert partners[partners[piece, direction], direction ^ 2] == piece
    assert ((after.doubt < NO_PARTNER) == (after.pieces.ravel() >= 0)).all()
    assert told == sorted(told)
    assert told[-1] == 1
    alone = found_in(features, (20, 20), 1)[1]
    assert all(np.array_equal(one, other) for one, other in zip(after, alone, strict=True))


def test_no_segment_is_joined_beyond_the_frame():
    features = midline_seams(Puzzle.from_array(noisy_blots(240, noise=11), 12))

    def tallest(partners):
        of, rows, columns = (np.empty(400, dtype=np.int32) for _ in range(3))
        count = module.connect(partners, of, rows, columns)
        return max(np.ptp(rows[of == segment]) + 1 for segment in range(count))

    before, free, _ = found_in(features, (20, 20), 2)
    bound = found_in(features, (12, 33), 2)[1]
    assert tallest(before.up_to(0)) <= 12 < tallest(free.up_to(JOINED))
    assert tallest(bound.up_to(JOINED)) == 12


def test_partners_between_segments_are_doubted():
    pieces = grid_partners(2, 2)
    partners = Partners(pieces.copy(), pieces.copy(), np.zeros(16, dtype=np.uint8))
    partners.doubt[pieces.ravel() < 0] = NO_PARTNER
    apart = module._boxed(np.array([0, 0, 1, 1], np.int32), np.zeros(4, np.int32), np.array([0, 1, 0, 1], np.int32), 2)
    found = module._named(apart, partners)
    assert np.array_equal(found.pieces, pieces)
    doubt = found.doubt.reshape(-1, 4)
    assert doubt[0].tolist() == [0, UNCONFIRMED, NO_PARTNER, NO_PARTNER]
    # In one segment, but elsewhere: out of the question.
    row = module._boxed(np.zeros(4, np.int32), np.zeros(4, np.int32), np.arange(4, dtype=np.int32), 1)
    found = module._named(row, partners)
    assert found.pieces[0].tolist() == [1, -1, -1, -1]
    assert found.pieces[1].tolist() == [2, -1, 0, -1]
    assert found.doubt.reshape(-1, 4)[1].tolist() == [JOINED, NO_PARTNER, 0, NO_PARTNER]


def test_little_is_settled_and_nothing_changes():
    features = random_features(np.random.default_rng(1), 12)
    before, after, _ = found_in(features, (3, 4), 1)
    assert before is after


@pytest.mark.parametrize("pieces", [2, 3, 6])
def test_few_pieces(pieces):
    features = random_features(np.random.default_rng(1), pieces)
    with Threads(1) as threads:
        lists = find_lists(features, 2, threads)
        partners = find_partners(lists, threads)
        found = join_segments(features, lists, partners, (1, pieces), 1.0, threads, lambda share: None).partners
    assert found.pieces.shape == (pieces, 4)
    for piece, direction in np.argwhere(found.pieces >= 0):
        assert found.pieces[found.pieces[piece, direction], direction ^ 2] == piece
