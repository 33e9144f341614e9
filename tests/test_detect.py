import tracemalloc

import numpy as np
import pytest

from jigsolve import InputError, Picture, Puzzle, detect_piece_size


def shuffled(picture, size, seed=1):
    puzzle, _ = Puzzle.from_image(picture, size, crop=True).shuffled(seed)
    return puzzle.assemble(puzzle.as_given())


@pytest.mark.parametrize("size", [20, 24, 28, 30, 32, 36, 40, 64])
@pytest.mark.parametrize("seed", [1, 2])
def test_square_pieces_are_detected(photo, size, seed):
    assert detect_piece_size(shuffled(photo, size, seed)) == (size, size)


@pytest.mark.parametrize("size", [(51, 27), (20, 30), (30, 20), (64, 28)])
def test_rectangular_pieces_are_detected(photo, size):
    assert detect_piece_size(shuffled(photo, size)) == size


@pytest.mark.parametrize("size", [28, (51, 27)])
def test_16_bits_are_no_obstacle(photo, size):
    deep = Picture(photo.pixels.astype(np.uint16) * 257)
    assert detect_piece_size(shuffled(deep, size)) == detect_piece_size(shuffled(photo, size))


@pytest.mark.parametrize("size", [28, 40])
def test_grey_is_no_obstacle(photo, size):
    assert detect_piece_size(shuffled(Picture(photo.pixels[:, :, :1]), size)) == (size, size)


@pytest.mark.parametrize("channels", [1, 3])
def test_alpha_says_nothing_about_pieces(photo, channels):
    alpha = np.random.default_rng(1).integers(0, 256, (*photo.pixels.shape[:2], 1), dtype=np.uint8)
    with_alpha = Picture(np.concatenate([photo.pixels[:, :, :channels], alpha], axis=2))
    assert detect_piece_size(shuffled(with_alpha, 28)) == (28, 28)


def test_one_row_has_pieces_as_high_as_itself(photo):
    row = Picture(photo.pixels[200:228])
    assert detect_piece_size(shuffled(row, 28)) == (28, 28)


def test_one_column_has_pieces_as_wide_as_itself(photo):
    column = Picture(photo.pixels[:, 200:240])
    assert detect_piece_size(shuffled(column, 40)) == (40, 40)


def test_a_photograph_as_it_is_has_no_seams(photo):
    with pytest.raises(InputError, match=r"no seams .* picture of 512x600 pixels, .* pass --piece-size"):
        detect_piece_size(photo)


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 9, 3), (9, 1, 3), (2, 2, 3), (5, 5, 4), (60, 60, 3)])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_a_plain_picture_has_no_seams(shape, dtype):
    with pytest.raises(InputError, match="no seams"):
        detect_piece_size(Picture(np.full(shape, 77, dtype)))


def test_noise_has_no_seams():
    pixels = np.random.default_rng(1).integers(0, 256, (60, 60, 3), dtype=np.uint8)
    with pytest.raises(InputError, match="no seams"):
        detect_piece_size(Picture(pixels))


def test_a_sample_of_a_huge_picture_is_enough(photo):
    picture = shuffled(Picture(np.tile(photo.pixels, (9, 9, 1))), 40)
    tracemalloc.start()
    try:
        assert detect_piece_size(picture) == (40, 40)
        assert tracemalloc.get_traced_memory()[1] < 2 * picture.pixels.nbytes
    finally:
        tracemalloc.stop()
