import numpy as np
import pytest

from jigsolve import Puzzle
from jigsolve.compatibility import seams as module
from jigsolve.compatibility.costs import cost_of, squared_distance
from jigsolve.compatibility.seams import mgc_seams, midline_seams
from tests import naive
from tests.puzzles import drawing, drawn_puzzle, random_pieces, squares_of

MEASURES = [mgc_seams, midline_seams]
SIZES = [(8, 8), (7, 7), (5, 9), (9, 4), (1, 1), (1, 6), (6, 1), (2, 3)]


def costs_from(seams):
    return np.vectorize(lambda square: cost_of(seams, square))(squares_of(seams))


def expected_costs(measure, pieces):
    """By the formula, of colour pieces from 0 to 255: costs[piece, direction, other]."""

    def cost(piece, other, direction):
        if measure is mgc_seams:
            return naive.mgc_cost(piece, other, direction)
        return naive.midline_cost(
            piece, other, direction, module.REACH, module.ACROSS_DUMMY_WEIGHT, module.FAIR_A_PIXEL
        )

    return np.array([[[cost(piece, other, d) for other in pieces] for d in range(4)] for piece in pieces])


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_costs_are_those_of_the_formula(measure, width, height):
    puzzle = drawn_puzzle(2, 3, width, height)
    expected = expected_costs(measure, puzzle.pieces)
    # Lines are rounded to about 1/10 of a level, as all levels are in use.
    np.testing.assert_allclose(costs_from(measure(puzzle)), expected, rtol=0.01, atol=0.05)
    assert expected.max() > 1


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(("width", "height"), [*SIZES, (14, 30), (15, 31), (33, 70)])
def test_costs_of_dim_pictures_are_those_of_the_formula_more_exactly(measure, width, height):
    puzzle = random_pieces(np.random.default_rng(2), 5, width, height, levels=9)
    expected = expected_costs(measure, puzzle.pieces)
    # To 1/257 of a level.
    np.testing.assert_allclose(costs_from(measure(puzzle)), expected, rtol=2e-3, atol=1e-3)
    assert expected.max() > 1


@pytest.mark.parametrize("measure", MEASURES)
def test_a_dummy_keeps_flat_pieces_finite(measure):
    levels = np.array([0, 1, 100, 255], dtype=np.uint8)
    pieces = np.broadcast_to(levels[:, np.newaxis, np.newaxis, np.newaxis], (4, 6, 5, 3))
    costs = costs_from(measure(Puzzle(pieces, 2, 2)))
    np.testing.assert_allclose(costs, expected_costs(measure, pieces), rtol=1e-4, atol=1e-6)
    # The same colour costs nothing, and the farther apart the dearer.
    assert (costs[np.arange(4), :, np.arange(4)] == 0).all()
    assert (np.diff(costs[0], axis=1) > 0).all()


@pytest.mark.parametrize(("width", "height"), [(8, 8), (4, 9)])
def test_beyond_a_limit_that_grows_with_the_seam_costs_grow_half_as_fast(width, height):
    levels = np.array([0, 4, 100, 255], dtype=np.uint8)
    pieces = np.broadcast_to(levels[:, np.newaxis, np.newaxis, np.newaxis], (4, height, width, 3))
    seams = midline_seams(Puzzle(pieces, 2, 2))
    costs, roots = costs_from(seams)[0], squares_of(seams)[0] ** (3 / 8)
    fair = (module.FAIR_A_PIXEL * (width + height) / 2) ** (3 / 8)
    np.testing.assert_allclose(costs[:, 1], roots[:, 1], rtol=1e-6)
    np.testing.assert_allclose(costs[:, 2:], (fair + roots[:, 2:]) / 2, rtol=1e-6)
    assert (costs[:, 1] < fair).all()
    assert np.isinf(mgc_seams(Puzzle(pieces, 2, 2)).fair).all()


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(("width", "height"), [(4, 4), (3, 7), (1, 1)])
def test_a_pair_costs_the_same_from_both_sides_to_the_last_bit(measure, width, height):
    seams = measure(random_pieces(np.random.default_rng(1), 9, width, height))
    squares = squares_of(seams)
    for direction in range(4):
        np.testing.assert_array_equal(squares[:, direction], squares[:, direction ^ 2].T)
    assert (squares[:, :, 0] > 0).any()


@pytest.mark.parametrize("measure", MEASURES)
def test_sixteen_bits_give_the_costs_of_the_same_colours_in_eight(measure):
    pixels = drawing(24, 32)
    shallow, deep = (squares_of(measure(Puzzle.from_array(p, 8))) for p in (pixels, pixels.astype(np.uint16) * 257))
    np.testing.assert_array_equal(deep, shallow)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("levels", [1, 1 / 20])
def test_the_low_byte_of_sixteen_bits_counts(measure, levels):
    pixels = (drawing(16, 16) * (257.0 * levels)).astype(np.uint16)
    changed = pixels.copy()
    changed[:, 7] += 3 if levels < 1 else 30
    before, after = (squares_of(measure(Puzzle.from_array(p, 8))) for p in (pixels, changed))
    assert not np.array_equal(before, after)


@pytest.mark.parametrize("measure", MEASURES)
def test_grey_is_the_colour_with_equal_channels(measure):
    grey = drawing(24, 32)[:, :, 0]
    colour = np.repeat(grey[:, :, np.newaxis], 3, axis=2)
    from_grey, from_colour = (squares_of(measure(Puzzle.from_array(p, 8))) for p in (grey, colour))
    np.testing.assert_array_equal(from_grey, from_colour)
    assert from_grey.max() > 1


@pytest.mark.parametrize("measure", MEASURES)
def test_identical_pieces_cost_the_same_to_the_last_bit(measure):
    puzzle = Puzzle.from_array(np.tile(drawing(8, 8), (3, 3, 1)), 8)
    squares = squares_of(measure(puzzle))
    assert (squares == squares[:1, :, :1]).all()


@pytest.mark.parametrize("measure", MEASURES)
def test_the_brightest_and_darkest_of_long_sides_do_not_overflow(measure):
    pieces = np.zeros((2, 2, 1000, 3), dtype=np.uint8)
    pieces[0, :, ::2] = 255
    pieces[1, :, 1::2] = 255
    seams = measure(Puzzle(pieces, 1, 2))
    expected = expected_costs(measure, pieces)[0, naive.DOWN, 1]
    assert cost_of(seams, squared_distance(seams, naive.DOWN, 4 + naive.UP)) == pytest.approx(expected, rel=1e-3)


def test_what_follows_the_gradient_costs_less_than_what_repeats_the_line():
    # Columns of 10, 20, 30 ...; the next in line is 10 more, a repetition of the last is none.
    ramp = np.broadcast_to(np.arange(0, 240, 10, dtype=np.uint8)[:, np.newaxis], (8, 24, 3))
    pieces = np.stack([ramp[:, :8], ramp[:, 8:16], ramp[:, 7:15]])
    seams = mgc_seams(Puzzle(pieces, 1, 3))
    onwards, repeated = (squared_distance(seams, naive.RIGHT, 4 * other + naive.LEFT) for other in (1, 2))
    assert onwards == 0 < repeated
