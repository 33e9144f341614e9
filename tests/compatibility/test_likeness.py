import numpy as np
import pytest

from jigsolve import Puzzle, arrangement_cost, solve
from jigsolve.compatibility import candidates
from jigsolve.compatibility import likeness as module
from jigsolve.compatibility import likeness_costs as costs_module
from jigsolve.compatibility.candidates import find_candidates, learn
from jigsolve.compatibility.costs import cost_of, squared_distance
from jigsolve.compatibility.likeness import find_units, learned_likeness, worth_of
from jigsolve.compatibility.likeness_costs import COLUMNS as COLUMNS_OF_SHEETS
from jigsolve.compatibility.likeness_costs import COMPARED, FLAT, UNITS, Likeness, no_likeness, unlikeness, vagueness
from jigsolve.compatibility.lists import _untraced, find_lists
from jigsolve.compatibility.ramp_costs import BESIDE, ROUGHNESS
from jigsolve.compatibility.ramps import sum_up
from jigsolve.compatibility.seams import traced_seams
from jigsolve.compatibility.trace_costs import MASK
from jigsolve.refine import rounds
from jigsolve.refine.patches import ON_BORDERS, ON_BORDERS_BY_LIKENESS, grounds_of
from jigsolve.threads import Threads
from tests import naive
from tests.compatibility.test_ramps import true_partners
from tests.puzzles import compressed_colours, drawing, sky, squares_of

ROWS, COLUMNS = 14, 16
PIECES = ROWS * COLUMNS


@pytest.fixture(scope="module")
def heaven():
    puzzle = Puzzle.from_array(sky(ROWS, COLUMNS), 12)
    features = traced_seams(puzzle)
    with Threads(2) as threads:
        found = learned_likeness(features.ramps.summaries, true_partners(), 2.0, threads)
    return features._replace(likeness=found)


@pytest.fixture(scope="module")
def landscape():
    """A sky above a drawing."""
    pixels = np.concatenate([sky(ROWS, COLUMNS), drawing(4 * 12, 12 * COLUMNS)])
    features = traced_seams(Puzzle.from_array(pixels, 12))
    with Threads(2) as threads:
        found = learned_likeness(features.ramps.summaries, true_partners(ROWS + 4), 2.0, threads)
    return features._replace(likeness=found)


def test_units_are_the_medians_of_the_most_similar_pairs():
    rng = np.random.default_rng(1)
    keys, middles, differences = rng.normal(size=(30, 5)), rng.normal(size=(200, 5)), rng.random((200, COMPARED))
    units = np.empty((30, COMPARED))
    find_units(keys, middles, differences, units, 0, 30)
    for piece in range(30):
        nearest = np.argsort(((middles - keys[piece]) ** 2).sum(axis=1))[: module.SIMILAR]
        np.testing.assert_array_equal(units[piece], np.sort(differences[nearest], axis=0)[module.SIMILAR // 2])


def test_what_makes_a_pair_unlikely_is_added_up_and_the_same_from_either_side(heaven):
    rng = np.random.default_rng(2)
    for _ in range(300):
        one, two, direction = *rng.choice(PIECES, 2, replace=False), rng.integers(4)
        said = rng.exponential(300), *rng.choice([0.0, 0.1, 0.5, 2.0, np.inf], 2), rng.integers(-2, 3)
        side, other = 4 * one + direction, 4 * two + (direction ^ 2)
        found = unlikeness(heaven.likeness, side, other, *said)
        assert found == unlikeness(heaven.likeness, other, side, *said)
        first, second = (one, two) if direction < 2 else (two, one)
        sheets = heaven.likeness.sheets.reshape(PIECES, 2, -1)[:, direction % 2].astype(np.float64)
        expected = naive.unlikeness(sheets[first], sheets[second], *said)
        assert found == pytest.approx(expected / 2, rel=1e-6)  # As a logarithm is worth a half.


def test_sheets_say_what_pieces_are_along_either_axis(heaven):
    summaries, sheets = heaven.ramps.summaries, heaven.likeness.sheets.reshape(PIECES, 2, -1)
    for axis in range(2):
        np.testing.assert_allclose(sheets[:, axis, costs_module.ACROSS], summaries[:, 1 + axis], atol=1 / 256)
        np.testing.assert_allclose(sheets[:, axis, costs_module.ALONG], summaries[:, 2 - axis], atol=1 / 256)
        for column, direction in ((costs_module.END, axis), (costs_module.BEGIN, axis + 2)):
            np.testing.assert_allclose(sheets[:, axis, column], summaries[:, BESIDE + direction], atol=1 / 256)
    assert (sheets[..., FLAT] == 1).all()
    assert (sheets[..., UNITS : UNITS + COMPARED] > 0).all()


def test_the_flatter_two_pieces_are_the_more_it_counts(landscape):
    without = landscape._replace(likeness=no_likeness())
    flat = module.how_flat(landscape.ramps.summaries[:, ROUGHNESS])
    assert 0.5 < (flat == 1).mean() < 0.9
    assert (flat == 0).any()
    rng = np.random.default_rng(3)
    for one, two in rng.choice(len(flat), size=(300, 2)):
        side, other = 4 * one + 1, 4 * two + 3
        cost, plain = (cost_of(features, squared_distance(features, side, other)) for features in (landscape, without))
        if flat[one] * flat[two] == 0:
            assert cost == plain
        elif flat[one] * flat[two] == 1:
            assert cost <= (costs_module.LEAST + costs_module.MOST) / 2


def test_pieces_are_flat_or_not_or_rarely_in_between():
    flat = module.how_flat(np.array([0.0, 1.0, module.HALF_FLAT, 2 * module.HALF_FLAT, 3 * module.HALF_FLAT]))
    assert flat.tolist()[:3] == [1, 1, 0.5]
    assert 0 < flat[3] < 0.1
    assert flat[4] == 0


def test_what_is_in_between_costs_a_bit_of_both(heaven):
    half = heaven.likeness.sheets.copy()
    half[:, FLAT] = 0.5
    rng = np.random.default_rng(4)
    for one, two in rng.choice(PIECES, size=(100, 2)):
        costs = [
            np.sqrt(squared_distance(heaven._replace(likeness=found), 4 * one, 4 * two + 2))
            for found in (no_likeness(), heaven.likeness, heaven.likeness._replace(sheets=half))
        ]
        plain = np.sqrt(costs[0]) * np.sqrt(np.sqrt(costs[0]))  # The 3/8th power of a square.
        assert costs[2] == pytest.approx(0.25 * costs[1] + 0.75 * plain, rel=1e-5)


def test_in_a_sky_it_tells_neighbours_that_lines_do_not(heaven):
    partners = true_partners()
    first = []
    for features in (heaven._replace(likeness=no_likeness()), heaven):
        squares = squares_of(features)
        squares[np.arange(PIECES), :, np.arange(PIECES)] = np.inf
        first.append((squares.argmin(axis=2) == partners)[partners >= 0].mean())
    assert 1 - first[1] < (1 - first[0]) / 2 < 0.2


def test_lists_hold_those_that_fit_without_it_in_order_of_costs_with_it(heaven):
    with Threads(2) as threads:
        found, plain = find_lists(heaven, 9, threads), find_lists(_untraced(heaven), 9, threads)
    np.testing.assert_array_equal(np.sort(found.candidates), np.sort(plain.candidates))
    assert (found.candidates != plain.candidates).any()
    assert (np.diff(found.costs) >= 0).all()


def test_nothing_is_learned_from_few_partners_or_costs_that_tell_nothing():
    summaries, partners = sum_up(Puzzle.from_array(sky(ROWS, COLUMNS), 12)).summaries, true_partners()
    few = np.where(np.arange(PIECES)[:, np.newaxis] < module.FEWEST, partners, -1)
    with Threads(1) as threads:
        assert len(learned_likeness(summaries, partners, 1.0, threads).sheets) == 2 * PIECES
        assert len(learned_likeness(summaries, few, 1.0, threads).sheets) == 0
        assert len(learned_likeness(summaries, partners, 0.0, threads).sheets) == 0


def test_a_large_puzzle_is_judged_by_it_and_a_small_one_is_not(monkeypatch):
    puzzle, _ = Puzzle.from_array(sky(ROWS, COLUMNS), 12).shuffled(seed=1)
    monkeypatch.setattr(module, "FEWEST", 50)
    monkeypatch.setattr(candidates, "SEVERAL", 2.0)
    with Threads(2) as threads:
        small, _ = learn(traced_seams(puzzle), threads)
        monkeypatch.setattr(candidates, "SMALL_PUZZLE", 100)
        large, told = learn(traced_seams(puzzle), threads)
        found = find_candidates(traced_seams(puzzle), 8, threads, frame=(ROWS, COLUMNS))
    assert worth_of(small) == 0 < worth_of(large) == worth_of(told)
    assert worth_of(np.zeros((4, 8), dtype=np.int32)) == 0
    # Annealing begins at what a plausible mistake costs, and doubts may lie within patches.
    assert rounds.cost_unit(found) <= rounds.LIKELY * worth_of(large)
    assert grounds_of(found).on_borders == ON_BORDERS_BY_LIKENESS < ON_BORDERS
    result = solve(puzzle, seed=1, effort=1)
    assert result.cost == pytest.approx(arrangement_cost(puzzle, result.arrangement))
    assert solve(puzzle, seed=1, effort=1, threads=1).arrangement == result.arrangement


@pytest.mark.parametrize(("mask", "other"), [(1, 1), (0b1101, 0b0101), (0xFFFF, 0b1000), (0b11, 0b1100)])
def test_who_may_be_of_several_phases_is_less_likely_to_suit_another(mask, other):
    """As many pairs of phases as there are, and those of them that suit each other, of which none counts as one."""
    pairs = mask.bit_count() * other.bit_count() / max((mask & other).bit_count(), 1)
    assert vagueness(np.uint64(mask), np.uint64(other)) == pytest.approx(np.log(pairs), abs=0.01)


def test_several_phases_cost_more_where_candidates_are_compared():
    features = traced_seams(Puzzle.from_array(compressed_colours(6, 8, flat=4), 28))
    sheets = np.zeros((2 * 48, COLUMNS_OF_SHEETS), dtype=np.float32)
    sheets[:, FLAT] = 1
    plain, vague = (
        features._replace(likeness=Likeness(sheets, np.array([2.0]), np.array([counts]))) for counts in (0.0, 1.0)
    )
    masks = features.traces.colour.keys[:, MASK]
    dearer = 0
    for side in range(0, 4 * 40, 4):
        other = side + 6
        costs = [np.sqrt(squared_distance(one, side, other)) for one in (plain, vague)]
        assert costs[1] - costs[0] == pytest.approx(2 * vagueness(masks[side], masks[other]), abs=1e-3)
        dearer += costs[1] > costs[0] + 1
    assert dearer > 10
