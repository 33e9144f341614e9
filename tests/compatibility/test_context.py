import numpy as np
import pytest

from jigsolve import Puzzle
from jigsolve.compatibility import context
from jigsolve.compatibility.candidates import find_candidates
from jigsolve.compatibility.context import MEMORY_BITS, REACH, SETTLED, judge_in_context
from jigsolve.compatibility.lists import NOBODY, Lists
from jigsolve.compatibility.memory import empty_memory
from jigsolve.compatibility.partners import NO_PARTNER
from jigsolve.compatibility.seams import midline_seams
from jigsolve.threads import Threads
from tests import naive
from tests.compatibility.test_loops import drawn_pairs
from tests.puzzles import compatibility_of, costs_of, drawn_puzzle, random_features


def table(pairs, pieces):
    partners = np.full((pieces, 4), -1, dtype=np.int32)
    for (piece, direction), other in pairs.items():
        partners[piece, direction] = other
    return partners


def judged(features, lists, sure, settled, slices=1, bits=MEMORY_BITS):
    """By the kernel, in slices."""
    pieces = len(sure)
    result = Lists(np.empty_like(lists.candidates), np.empty_like(lists.costs))
    memory = empty_memory(pieces, bits)
    for index in range(slices):
        begin, end = 4 * pieces * index // slices, 4 * pieces * (index + 1) // slices
        judge_in_context(features, lists, sure, settled, memory, result, begin, end)
    return result


@pytest.mark.parametrize("seed", range(20))
def test_judged_as_the_obvious_version_does(seed):
    rng = np.random.default_rng(seed)
    pieces, keep = int(rng.integers(2, 15)), int(rng.integers(1, 6))
    features = random_features(rng, pieces, high=int(rng.choice([-997, 1000])))  # Many alike, or none.
    found = compatibility_of(features, keep)
    lists = Lists(found.candidates, found.costs)
    keep = lists.candidates.shape[1]
    sure = drawn_pairs(rng, pieces, rng.choice([0.3, 1]))
    settled = {place: other for place, other in sure.items() if rng.random() < 0.2}
    settled.update({(other, direction ^ 2): piece for (piece, direction), other in settled.items()})
    expected = naive.judged_in_context(costs_of(features), lists.candidates.tolist(), sure, settled, keep, REACH)
    result = judged(features, lists, table(sure, pieces), table(settled, pieces), slices=3, bits=seed % 6)
    for side, best in enumerate(expected):
        as_before = list(zip(lists.costs[side], lists.candidates[side], strict=True))
        those = as_before if best is None else best + [(np.inf, NOBODY)] * (keep - len(best))
        assert list(zip(result.costs[side], result.candidates[side], strict=True)) == those
    # Once more, from lists some of which have become shorter.
    again = judged(features, result, table(sure, pieces), table(settled, pieces))
    shorter = [[other for other in others if other != NOBODY] for others in result.candidates.tolist()]
    expected = naive.judged_in_context(costs_of(features), shorter, sure, settled, keep, REACH)
    for side, best in enumerate(expected):
        if best is not None:
            assert list(zip(again.costs[side], again.candidates[side], strict=True))[: len(best)] == best
            assert (again.candidates[side, len(best) :] == NOBODY).all()


def test_a_seam_is_as_long_as_both_have_partners():
    # 0 2    whose seams cost 1, 3, 5 and 9 from top to bottom; in its first row 6 would fit as well as 2.
    # 1 3
    rng = np.random.default_rng(1)
    features = random_features(rng, 8)
    costs = costs_of(features)
    lists = compatibility_of(features, 7)
    lists = Lists(lists.candidates, lists.costs)
    pairs = {
        (0, 1): 1,
        (1, 3): 0,
        (2, 1): 3,
        (3, 3): 2,
        (1, 1): 4,
        (4, 3): 1,
        (3, 1): 5,
        (5, 3): 3,
        (4, 1): 6,
        (6, 3): 4,
    }
    nothing = table({}, 8)
    result = judged(features, lists, table(pairs, 8), nothing)

    def cost_beside(piece, other):
        side = 4 * piece + naive.RIGHT
        return result.costs[side][result.candidates[side].tolist().index(4 * other + naive.LEFT)]

    assert cost_beside(0, 2) == np.float32(np.mean([costs[0, 0, 2], costs[1, 0, 3], costs[4, 0, 5]], dtype=np.float64))
    assert cost_beside(1, 3) == np.float32(np.mean([costs[1, 0, 3], costs[0, 0, 2], costs[4, 0, 5]], dtype=np.float64))
    assert cost_beside(6, 7) == costs[6, 0, 7]  # 7 has no partners.


def noisy_blots(size, noise, seed=3):
    """Soft blots of colour under noise that hides most of what single seams say."""
    rng = np.random.default_rng(seed)
    blots = rng.normal(size=(size, size, 3))
    bell = np.exp(-(np.arange(-12, 13) ** 2) / 4.5)
    for axis in (0, 1):
        blots = np.apply_along_axis(np.convolve, axis, blots, bell, "same")
    pixels = 128 + 30 * blots / blots.std() + rng.normal(0, noise, blots.shape)
    return np.clip(np.rint(pixels), 0, 255).astype(np.uint8)


def test_partners_in_context_are_more_and_as_right():
    features = midline_seams(Puzzle.from_array(noisy_blots(240, noise=10), 12))
    grid = np.arange(400).reshape(20, 20)
    with Threads(2) as threads:
        before, after = (find_candidates(features, 32, threads, frame=frame) for frame in (None, (20, 20)))
    right = [
        (found.partners[grid[:, :-1], naive.RIGHT] == grid[:, 1:]).sum()
        + (found.partners[grid[:-1], naive.DOWN] == grid[1:]).sum()
        for found in (before, after)
    ]
    named = [(found.doubt < NO_PARTNER).sum() // 2 for found in (before, after)]
    assert right[1] > 1.3 * right[0] > 500
    assert right[1] >= 0.99 * named[1]
    assert np.array_equal(before.candidates, after.candidates)
    assert np.array_equal(before.costs, after.costs)
    for piece, direction in np.argwhere(after.partners >= 0):
        assert after.partners[after.partners[piece, direction], direction ^ 2] == piece


def test_what_is_settled_stays(monkeypatch):
    features = midline_seams(drawn_puzzle(9, 9))
    monkeypatch.setattr(context, "ROUNDS", 1)
    first = settled_of(features, 1)
    monkeypatch.setattr(context, "ROUNDS", 3)
    third = settled_of(features, 2)
    assert (first >= 0).any()
    assert (third[first >= 0] == first[first >= 0]).all()


def settled_of(features, count):
    with Threads(count) as threads:
        found = find_candidates(features, 16, threads, frame=(9, 9))
    return np.where(found.doubt.reshape(-1, 4) == SETTLED, found.partners, -1)


@pytest.mark.parametrize("pieces", [1, 2, 3])
def test_few_pieces(pieces):
    features = random_features(np.random.default_rng(pieces), pieces)
    with Threads(2) as threads:
        found = find_candidates(features, 8, threads, frame=(1, pieces))
    assert found.partners.shape == (pieces, 4)
    assert (found.partners >= 0).any() == (pieces > 1)
    for piece, direction in np.argwhere(found.partners >= 0):
        assert found.partners[found.partners[piece, direction], direction ^ 2] == piece
