import numpy as np
import pytest

from jigsolve import Puzzle
from jigsolve.compatibility.costs import SCALE
from jigsolve.compatibility.lab import lab_features
from tests import naive
from tests.puzzles import drawing, drawn_puzzle


def costs_from_features(features):
    return np.sqrt(naive.all_costs(features).astype(np.float64)) / SCALE


@pytest.mark.parametrize(("width", "height"), [(8, 8), (7, 7), (5, 9), (9, 4), (1, 1), (1, 6), (2, 3)])
def test_costs_are_the_dissimilarity_of_equation_1(width, height):
    puzzle = drawn_puzzle(3, 4, width, height)
    expected = naive.lab_dissimilarities(puzzle.pieces)
    # The textbook's constants have four to six digits, and features are rounded to 2^-16.
    np.testing.assert_allclose(costs_from_features(lab_features(puzzle)), expected, rtol=2e-4, atol=2e-4)


def test_sixteen_bits_give_the_costs_of_the_same_colours_in_eight():
    pixels = drawing(24, 32)
    shallow = lab_features(Puzzle.from_array(pixels, 8))
    deep = lab_features(Puzzle.from_array(pixels.astype(np.uint16) * 257, 8))
    np.testing.assert_allclose(deep, shallow, atol=SCALE * 1e-5)


def test_the_low_byte_of_sixteen_bits_counts():
    pixels = drawing(16, 16).astype(np.uint16) * 257
    changed = pixels.copy()
    changed[:, 7] += 3
    costs = [costs_from_features(lab_features(Puzzle.from_array(p, 8))) for p in (pixels, changed)]
    assert not np.array_equal(costs[0], costs[1])


def test_grey_is_the_colour_with_equal_channels():
    grey = drawing(24, 32)[:, :, 0]
    colour = np.repeat(grey[:, :, np.newaxis], 3, axis=2)
    from_grey, from_colour = (lab_features(Puzzle.from_array(p, 8)) for p in (grey, colour))
    np.testing.assert_array_equal(from_grey, from_colour)


def test_opaque_alpha_changes_nothing_and_transparent_pixels_are_white():
    pixels = drawing(24, 32, channels=4)
    np.testing.assert_array_equal(
        lab_features(Puzzle.from_array(pixels, 8)), lab_features(Puzzle.from_array(pixels[:, :, :3], 8))
    )
    clear, white = pixels.copy(), pixels[:, :, :3].copy()
    clear[:, :8, 3] = 0
    white[:, :8] = 255
    np.testing.assert_array_equal(lab_features(Puzzle.from_array(clear, 8)), lab_features(Puzzle.from_array(white, 8)))


def test_a_constant_picture_costs_nothing():
    puzzle = Puzzle.from_array(np.full((16, 24, 3), 77, dtype=np.uint8), 8)
    assert not lab_features(puzzle).any()


def test_identical_pieces_cost_the_same_to_the_last_bit():
    tile = drawing(8, 8)
    puzzle = Puzzle.from_array(np.tile(tile, (3, 3, 1)), 8)
    features = lab_features(puzzle).reshape(9, 4, -1)
    assert (features == features[0]).all()
