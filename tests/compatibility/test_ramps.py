import numpy as np
import pytest

from jigsolve import Puzzle, arrangement_cost, solve
from jigsolve.compatibility import ramps as module
from jigsolve.compatibility.candidates import FLAT, learn
from jigsolve.compatibility.lists import _untraced, find_lists
from jigsolve.compatibility.phases import cut_sides
from jigsolve.compatibility.products import bound_tiles, factors_of
from jigsolve.compatibility.ramp_costs import FLATNESS, NUMBERS, ROUGHNESS, SUMMARY, apart, no_ramps
from jigsolve.compatibility.ramps import flatness, learned, sum_up
from jigsolve.compatibility.seams import midline_seams, traced_seams
from jigsolve.compatibility.trace_costs import no_plane
from jigsolve.threads import Threads
from tests import naive
from tests.puzzles import compressed_colours, drawing, drawn_puzzle, random_pieces, sky, squares_of

ROWS, COLUMNS = 14, 16


def learned_from(puzzle):
    with Threads(2) as threads:
        return learn(traced_seams(puzzle), threads)[0]


@pytest.fixture(scope="module")
def heaven():
    return learned_from(Puzzle.from_array(sky(ROWS, COLUMNS), 12))


def true_partners(rows=ROWS, columns=COLUMNS):
    grid = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    partners = np.full((rows * columns, 4), -1, dtype=np.int32)
    partners[grid[:, :-1], 0], partners[grid[:, 1:], 2] = grid[:, 1:], grid[:, :-1]
    partners[grid[:-1], 1], partners[grid[1:], 3] = grid[1:], grid[:-1]
    return partners


@pytest.mark.parametrize(("width", "height"), [(8, 8), (5, 9), (9, 4), (28, 28)])
def test_pieces_are_summed_up_as_by_least_squares(width, height):
    puzzle = drawn_puzzle(3, 4, width, height)
    expected = [naive.ramp(piece.astype(np.float64)) for piece in puzzle.pieces]
    np.testing.assert_allclose(sum_up(puzzle).summaries, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("width", "height"), [(1, 1), (1, 6), (6, 1)])
def test_a_piece_of_one_line_has_no_slope_across_it(width, height):
    summaries = sum_up(random_pieces(np.random.default_rng(1), 5, width, height)).summaries
    assert np.isfinite(summaries).all()
    assert width > 1 or (summaries[:, 1] == 0).all()
    assert height > 1 or (summaries[:, 2] == 0).all()


def test_depth_grey_and_transparency_are_as_a_viewer_sees_them():
    colour = drawing(16, 16)
    grey, opaque = colour[..., :1], np.full((16, 16, 1), 255, dtype=np.uint8)
    of = {
        name: sum_up(Puzzle.from_array(pixels, 8)).summaries
        for name, pixels in {
            "colour": colour,
            "deep": colour.astype(np.uint16) * 257,
            "opaque": np.concatenate([colour, opaque], axis=2),
            "grey": grey,
            "as colour": np.repeat(grey, 3, axis=2),
            "grey and opaque": np.concatenate([grey, opaque], axis=2),
            "nothing": np.concatenate([colour, 0 * opaque], axis=2),
        }.items()
    }
    np.testing.assert_allclose(of["deep"], of["colour"], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(of["opaque"], of["colour"], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(of["grey"], of["as colour"], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(of["grey and opaque"], of["grey"], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(of["nothing"], np.tile([255.0, *8 * [0], *4 * [255]], (4, 1)), atol=1e-9)


def test_the_rougher_a_piece_the_less_flat_it_is_and_neither_texture_nor_one_colour_is_flat_at_all():
    rough = np.array([0.0, module.HALF_FLAT, 2 * module.HALF_FLAT, 100 * module.HALF_FLAT])
    summaries = np.zeros((4, SUMMARY))
    summaries[:, ROUGHNESS] = rough
    flat = flatness(no_ramps()._replace(summaries=summaries))
    assert flat[:2].tolist() == [0.0, 0.5]
    assert 0 < flat[2] < 0.5
    assert flat[3] == 0


def test_ramps_add_the_weighted_squared_distance_of_variates_up_to_an_end(heaven):
    ramps, values = heaven.ramps, heaven.ramps.variates.astype(np.float64)
    rng, ended = np.random.default_rng(1), 0
    for side, other in rng.integers(0, len(values), size=(500, 2)):
        distance = ((values[side, :NUMBERS] - values[other, :NUMBERS]) ** 2).sum()
        expected = min(values[side, FLATNESS] * values[other, FLATNESS] * distance, module.MOST)
        assert apart(ramps, side, other) == pytest.approx(expected, rel=1e-12)
        assert apart(ramps, side, other) == apart(ramps, other, side)
        ended += expected == module.MOST
    assert 0 < ended < 500
    assert apart(no_ramps(), 0, 6) == 0


def test_they_come_on_top_of_all_else(heaven):
    without = heaven._replace(ramps=no_ramps())
    with_ramps, plain = squares_of(heaven)[:9, 0], squares_of(without)[:9, 0]
    added = [[apart(heaven.ramps, 4 * piece, 4 * other + 2) for other in range(ROWS * COLUMNS)] for piece in range(9)]
    np.testing.assert_allclose(with_ramps, plain + added, rtol=1e-12)


def test_in_a_sky_ramps_tell_neighbours_that_lines_do_not(heaven):
    partners = true_partners()
    first = []
    for features in (heaven._replace(ramps=no_ramps()), heaven):
        squares = squares_of(features)
        squares[np.arange(len(squares)), :, np.arange(len(squares))] = np.inf
        first.append((squares.argmin(axis=2) == partners)[partners >= 0].mean())
    assert 1 - first[1] < (1 - first[0]) / 2 < 0.2


def test_what_is_learned_is_the_likelihood_of_normal_neighbours():
    """Of two sides whose numbers are normal and correlate by c, c / (1 - c^2) times their squared distance is lost."""
    rng = np.random.default_rng(3)
    correlations = np.array([0.99, 0.9, 0.6, 0.3, 0.0])
    here = rng.normal(size=(200_000, NUMBERS))
    there = correlations * here + np.sqrt(1 - correlations**2) * rng.normal(size=here.shape)
    mixing = rng.normal(size=(2, NUMBERS, NUMBERS)) + 3 * np.eye(NUMBERS)
    common = module._common(50 + here @ mixing[0], 60 + there @ mixing[1], np.ones(len(here)))
    (one_mean, one_basis), (two_mean, two_basis) = common
    found = (here @ mixing[0] + 50 - one_mean) @ one_basis.T - (there @ mixing[1] + 60 - two_mean) @ two_basis.T
    worth = correlations / (1 - correlations**2)
    expected = module.WORTH / 2 * (worth * (here - there) ** 2).sum(axis=1)
    # Pairs beyond the ordinary are left out of the lesson, which makes the others look a little more alike.
    assert np.corrcoef((found**2).sum(axis=1), expected)[0, 1] > 0.99
    assert (found**2).sum() / expected.sum() == pytest.approx(1, abs=0.15)


def test_pairs_that_are_no_neighbours_teach_little():
    puzzle = Puzzle.from_array(sky(ROWS, COLUMNS), 12)
    partners, ramps = true_partners(), sum_up(puzzle)
    undecided = np.zeros(4 * len(puzzle), dtype=np.bool_)
    right = learned(ramps, partners, undecided)
    wrong = partners.copy()
    wrong[3, 0], wrong[100, 1] = 220, 7
    spoilt = learned(ramps, wrong, undecided)
    added = [
        np.mean([apart(found, 4 * piece, 4 * partners[piece, 0] + 2) for piece in range(0, 220, 2) if piece % 16 < 15])
        for found in (right, spoilt)
    ]
    assert added[1] == pytest.approx(added[0], rel=0.3)


def test_sides_that_are_decided_otherwise_are_not_compared():
    puzzle = Puzzle.from_array(sky(ROWS, COLUMNS), 12)
    decided = np.zeros(4 * len(puzzle), dtype=np.bool_)
    decided[40:44] = True
    ramps = learned(sum_up(puzzle), true_partners(), decided)
    assert apart(ramps, 40, 4 * 200 + 2) == 0 < apart(ramps, 44, 4 * 200 + 2)
    assert apart(ramps, 4 * 9, 42) == 0 < apart(ramps, 4 * 9, 46)


@pytest.mark.parametrize("direction", [0, 1])
def test_where_all_sides_along_an_axis_are_decided_lists_are_found_without_ramps(direction):
    puzzle = Puzzle.from_array(sky(ROWS, COLUMNS), 12)
    decided = np.arange(4 * len(puzzle)) % 2 == direction
    plain = traced_seams(puzzle)
    features = plain._replace(ramps=learned(plain.ramps, true_partners(), decided))
    with Threads(2) as threads:
        found, expected = (find_lists(one, 5, threads).candidates for one in (features, plain))
    assert (found[direction::2] == expected[direction::2]).all()
    assert (found[1 - direction :: 2] != expected[1 - direction :: 2]).any()


def test_sides_that_cut_legible_blocks_are_decided():
    features = learned_from(Puzzle.from_array(compressed_colours(8, 10, flat=5), 28))
    cut = cut_sides(features.traces.brightness, 320).reshape(8, 10, 4)
    assert cut[5:, 0::2, 0].mean() > 0.9  # 28 is half a block more than three.
    assert not cut[5:, 1::2, 0].any()
    assert not cut_sides(no_plane(), 12).any()
    assert len(cut_sides(no_plane(), 12)) == 12


def test_where_few_pieces_are_flat_nothing_is_learned():
    textured = drawn_puzzle(6, 7)
    assert (flatness(sum_up(textured)) > 0).mean() < FLAT
    features = traced_seams(textured)
    with Threads(2) as threads:
        assert learn(features, threads) == (features, features)
        plain = midline_seams(textured)
        assert learn(plain, threads) == (plain, plain)
    few = Puzzle.from_array(sky(5, 6), 12)
    assert len(learned(sum_up(few), true_partners(5, 6), np.zeros(120, dtype=np.bool_)).variates) == 0


def test_lists_are_exact_without_an_end_to_what_ramps_add_and_in_order_of_costs(heaven):
    with Threads(2) as threads:
        found = find_lists(heaven, 9, threads)
    endless, squares = squares_of(_untraced(heaven)), squares_of(heaven)
    for side, others in enumerate(found.candidates):
        piece, direction = divmod(side, 4)
        rivals = 4 * np.delete(np.arange(ROWS * COLUMNS), piece) + (direction ^ 2)
        best = sorted(rivals, key=lambda other: (endless[piece, direction, other // 4], other))[:9]
        assert set(others) == set(best)
        assert others.tolist() == sorted(others, key=lambda other: (squares[piece, direction, other // 4], other))


def test_no_lower_bound_is_above_the_sum(heaven):
    endless = _untraced(heaven)
    squares = squares_of(endless)
    for direction in (0, 1):
        left, right = factors_of(endless, direction)
        close = []
        for first_row, first_column, bounds, _ in bound_tiles(left, right):
            rows = left.pieces[first_row : first_row + len(bounds)]
            columns = right.pieces[first_column : first_column + bounds.shape[1]]
            exact = squares[rows[:, np.newaxis], direction, columns]
            assert (bounds <= exact).all()
            close.append((bounds > 0.9 * exact).mean())
        assert np.mean(close) > 0.9


def test_a_solve_costs_what_its_arrangement_costs():
    puzzle, _ = Puzzle.from_array(sky(ROWS, COLUMNS), 12).shuffled(seed=1)
    result = solve(puzzle, population=20, generations=3, effort=1)
    assert result.cost == arrangement_cost(puzzle, result.arrangement)
    assert len(learned_from(puzzle).ramps.variates) > 0
