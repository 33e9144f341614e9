import os
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jigsolve import Arrangement, ImageError, InputError, OutputError, Picture, Puzzle, solve, write_picture
from tests.encoders import noise
from tests.puzzles import drawing


def picture_of(rows, columns, size, channels=3, dtype=np.uint8):
    width, height = size
    return noise(rows * height, columns * width, channels, dtype)


SIZES = st.tuples(st.integers(1, 5), st.integers(1, 5))
PICTURES = st.builds(
    lambda rows, columns, size, channels, dtype: (picture_of(rows, columns, size, channels, dtype), size),
    st.integers(1, 6),
    st.integers(1, 6),
    SIZES,
    st.integers(1, 4),
    st.sampled_from([np.uint8, np.uint16]),
)


# Cutting


@given(PICTURES)
def test_cutting_and_assembling_gives_the_picture_back(case):
    pixels, size = case
    puzzle = Puzzle.from_array(pixels, size)
    assembled = puzzle.assemble(puzzle.as_given()).pixels
    assert assembled.dtype == pixels.dtype
    assert np.array_equal(assembled, pixels)


@given(PICTURES, st.integers(0, 2**70))
def test_the_truth_of_a_shuffle_gives_the_picture_back(case, seed):
    pixels, size = case
    shuffled, truth = Puzzle.from_array(pixels, size).shuffled(seed)
    assert np.array_equal(shuffled.assemble(truth).pixels, pixels)
    assert np.array_equal(truth.to_image(shuffled).pixels, pixels)


@given(PICTURES, st.integers(0, 1000))
def test_a_shuffle_loses_no_piece(case, seed):
    puzzle = Puzzle.from_array(*case)
    shuffled, _ = puzzle.shuffled(seed)
    assert sorted(piece.tobytes() for piece in shuffled.pieces) == sorted(piece.tobytes() for piece in puzzle.pieces)


def test_a_shuffle_moves_pieces_and_depends_on_its_seed_alone():
    puzzle = Puzzle.from_array(noise(40, 40), 4)
    grids = [puzzle.shuffled(seed)[1].grid.tolist() for seed in (1, 1, 2)]
    assert grids[0] == grids[1]
    assert grids[0] != grids[2]
    assert grids[0] != puzzle.as_given().grid.tolist()


def test_a_negative_seed_is_refused():
    with pytest.raises(InputError, match="at least 0, not -1"):
        Puzzle.from_array(noise(4, 4), 2).shuffled(-1)


def test_pieces_are_numbered_row_by_row():
    pixels = np.arange(24, dtype=np.uint8).reshape(4, 6)
    puzzle = Puzzle.from_array(pixels, (3, 2))
    assert puzzle.pieces[:, :, :, 0].tolist() == [
        [[0, 1, 2], [6, 7, 8]],
        [[3, 4, 5], [9, 10, 11]],
        [[12, 13, 14], [18, 19, 20]],
        [[15, 16, 17], [21, 22, 23]],
    ]


@pytest.mark.parametrize(
    ("shape", "size", "frame"),
    [
        ((6, 8), (8, 6), (1, 1)),
        ((6, 8), (2, 6), (1, 4)),
        ((6, 8), (8, 2), (3, 1)),
        ((6, 8), 2, (3, 4)),
        ((6, 8), (4, 3), (2, 2)),
        ((1, 1), 1, (1, 1)),
    ],
)
def test_a_puzzle_knows_its_frame_and_its_pieces(shape, size, frame):
    puzzle = Puzzle.from_array(noise(*shape), size)
    width, height = (size, size) if isinstance(size, int) else size
    assert (puzzle.rows, puzzle.columns) == frame
    assert (puzzle.piece_width, puzzle.piece_height) == (width, height)
    assert len(puzzle) == frame[0] * frame[1]
    assert f"{len(puzzle)} pieces of {width}x{height} pixels" in repr(puzzle)


@pytest.mark.parametrize("size", [0, -3, (0, 4), (4, 0), (4, -1)])
def test_a_piece_without_pixels_is_refused(size):
    width, height = (size, size) if isinstance(size, int) else size
    with pytest.raises(InputError, match=f"a piece of {width}x{height} pixels is too small"):
        Puzzle.from_array(noise(8, 8), size)


@pytest.mark.parametrize("crop", [False, True])
@pytest.mark.parametrize("size", [13, (12, 1), (1, 9)])
def test_a_piece_larger_than_the_picture_is_refused(size, crop):
    with pytest.raises(InputError, match="is larger than the picture of 11x8; choose a smaller piece size"):
        Puzzle.from_array(noise(8, 11), size, crop=crop)


def test_a_piece_size_that_does_not_divide_is_refused_with_sizes_that_do():
    with pytest.raises(InputError) as error:
        Puzzle.from_array(noise(60, 84), (25, 16))
    assert "pieces of 25 pixels do not divide the width of 84 (near sizes that do: 12, 14, 21, 28)" in str(error.value)
    assert "pieces of 16 pixels do not divide the height of 60 (near sizes that do: 10, 12, 15, 20)" in str(error.value)
    assert str(error.value).endswith("square sizes that divide both: 2, 3, 4, 6, 12")


def test_only_the_side_that_does_not_divide_is_complained_about():
    with pytest.raises(InputError) as error:
        Puzzle.from_array(noise(60, 84), (25, 15))
    assert "width" in str(error.value)
    assert "height" not in str(error.value)


def test_no_square_size_is_named_where_there_is_none():
    with pytest.raises(InputError) as error:
        Puzzle.from_array(noise(7, 11), 3)
    assert "square" not in str(error.value)


def test_crop_cuts_off_what_is_left_over_at_the_right_and_at_the_bottom():
    pixels = noise(11, 14)
    puzzle = Puzzle.from_array(pixels, (4, 5), crop=True)
    assert np.array_equal(puzzle.assemble(puzzle.as_given()).pixels, pixels[:10, :12])


def test_the_profile_is_carried_through():
    shuffled, truth = Puzzle.from_image(Picture(noise(4, 4), b"profile"), 2).shuffled(3)
    assert shuffled.assemble(truth).icc_profile == b"profile"


def test_a_file_is_cut_like_its_picture(tmp_path):
    write_picture(tmp_path / "picture.png", Picture(noise(6, 8)))
    puzzle = Puzzle.from_image(tmp_path / "picture.png", 2)
    assert np.array_equal(puzzle.pieces, Puzzle.from_array(noise(6, 8), 2).pieces)


def test_a_missing_file_is_an_image_error(tmp_path):
    with pytest.raises(ImageError, match="there is no file"):
        Puzzle.from_image(tmp_path / "missing.png", 2)


# A puzzle by itself


@pytest.mark.parametrize("size", [(8, 2), (2, 8), 8, 2])
def test_a_puzzle_never_changes(size):
    pixels = noise(8, 8)
    puzzle = Puzzle.from_array(pixels, size)
    before = puzzle.pieces.copy()
    pixels += 1
    assert np.array_equal(puzzle.pieces, before)
    with pytest.raises(ValueError, match="read-only"):
        puzzle.pieces[0, 0, 0, 0] = 1
    assert pixels.flags.writeable


@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (1, 5), (0, 6), (-2, -3), (6, 2)])
def test_a_frame_that_does_not_hold_the_pieces_is_refused(rows, columns):
    with pytest.raises(InputError, match="does not hold 6 pieces"):
        Puzzle(np.zeros((6, 2, 2, 3), np.uint8), rows, columns)


@pytest.mark.parametrize("shape", [(4, 2, 2), (0, 2, 2, 3), (4, 0, 2, 3), (4, 2, 2, 0), (4, 2, 2, 5)])
def test_pieces_of_another_shape_are_refused(shape):
    with pytest.raises(InputError, match="shape"):
        Puzzle(np.zeros(shape, np.uint8), 2, 2)


def test_pieces_of_another_type_are_refused():
    with pytest.raises(InputError, match="uint8 or uint16, not float64"):
        Puzzle(np.zeros((4, 2, 2, 3)), 2, 2)


def test_an_arrangement_of_another_frame_is_refused():
    puzzle = Puzzle.from_array(noise(4, 6), 2)
    with pytest.raises(InputError, match="an arrangement of 3 x 2 does not fit a puzzle of 2 x 3"):
        puzzle.assemble(Arrangement(np.arange(6).reshape(3, 2)))


def test_the_digest_tells_puzzles_apart():
    pixels = noise(12, 12)
    other = pixels.copy()
    other[5, 7, 1] ^= 1
    puzzles = [
        Puzzle.from_array(pixels, 4),
        Puzzle.from_array(other, 4),
        Puzzle.from_array(pixels, 3),
        Puzzle.from_array(pixels, 4).shuffled(1)[0],
        Puzzle.from_array(pixels.astype(np.uint16), 4),
        # The same bytes in another frame.
        Puzzle(Puzzle.from_array(pixels, 4).pieces, 1, 9),
    ]
    assert len({puzzle.digest for puzzle in puzzles}) == len(puzzles)
    assert Puzzle.from_array(pixels.copy(), 4).digest == puzzles[0].digest


# Tiles


@pytest.fixture
def write_tiles(tmp_path):
    """Writes tiles into a folder; each is of one value, by which it is told."""

    def write(names, shape=(3, 4, 3), dtype=np.uint8):
        folder = tmp_path / "tiles"
        folder.mkdir(exist_ok=True)
        for value, name in enumerate(names):
            write_picture(folder / name, Picture(np.full(shape, value, dtype)), overwrite=True)
        return folder

    return write


def test_tiles_are_numbered_as_people_count(write_tiles):
    names = ["1.png", "2.png", "9.png", "10.png", "11.png", "100.png"]
    puzzle = Puzzle.from_tiles(write_tiles(names), columns=3)
    assert (puzzle.rows, puzzle.columns) == (2, 3)
    assert puzzle.pieces[:, 0, 0, 0].tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "names",
    [
        ["a1b2.png", "a1b10.png", "a2b1.png", "a10b1.png"],
        ["01.png", "1.png", "2.png", "10.png"],
        ["3.bmp", "3.png", "4.PNG", "20.tif"],
        # A raised two is a digit to some, but no number to any.
        ["1.png", "\N{SUPERSCRIPT TWO}1.png", "\N{SUPERSCRIPT TWO}3.png", "\N{SUPERSCRIPT TWO}20.png"],
    ],
)
def test_names_of_many_kinds_have_an_order(write_tiles, names):
    puzzle = Puzzle.from_tiles(write_tiles(names), columns=2)
    assert puzzle.pieces[:, 0, 0, 0].tolist() == [0, 1, 2, 3]


def test_a_result_names_its_tiles(write_tiles):
    puzzle = Puzzle.from_tiles(write_tiles(["10.png", "2.png"]), columns=2)
    assert puzzle.tiles == ("2.png", "10.png")
    assert solve(puzzle, population=6, generations=1).to_dict()["tiles"] == ["2.png", "10.png"]
    shuffled, truth = puzzle.shuffled(seed=1)
    assert [shuffled.tiles[number] for number in truth.grid.ravel()] == ["2.png", "10.png"]


@pytest.mark.parametrize("depth", [np.uint8, np.uint16])
def test_tiles_are_read_back_as_they_were_written(tmp_path, depth):
    puzzle = Puzzle.from_array(drawing(24, 96).astype(depth), 8)
    puzzle.to_tiles(tmp_path / "tiles")
    assert len(list((tmp_path / "tiles").iterdir())) == 36
    back = Puzzle.from_tiles(tmp_path / "tiles", columns=12)
    np.testing.assert_array_equal(back.pieces, puzzle.pieces)
    assert back.tiles[:2] == ("00.png", "01.png")
    with pytest.raises(OutputError, match="tiles exists already"):
        puzzle.to_tiles(tmp_path / "tiles")
    with pytest.raises(OutputError, match="cannot make the folder"):
        puzzle.to_tiles(tmp_path / "no" / "where")
    assert [path.name for path in tmp_path.iterdir()] == ["tiles"]


def test_other_files_are_no_tiles(write_tiles):
    folder = write_tiles(["1.png", "2.png"])
    for name in ("notes.txt", ".hidden.png", "Thumbs.db"):
        (folder / name).write_text("not a picture")
    assert len(Puzzle.from_tiles(folder, columns=1)) == 2


def test_16_bit_tiles_stay_deep(write_tiles):
    assert Puzzle.from_tiles(write_tiles(["1.png", "2.png"], dtype=np.uint16), columns=2).pieces.dtype == np.uint16


def test_one_tile_needs_no_columns(write_tiles):
    puzzle = Puzzle.from_tiles(write_tiles(["only.png"]))
    assert (puzzle.rows, puzzle.columns) == (1, 1)


def test_several_tiles_need_columns_and_are_told_which(write_tiles):
    with pytest.raises(InputError, match=r"6 tiles do not tell .*--columns .*1, 2, 3, 6"):
        Puzzle.from_tiles(write_tiles([f"{number}.png" for number in range(6)]))


@pytest.mark.parametrize(
    ("columns", "hint"), [(4, ": 2 missing or 2 too many"), (0, ""), (-1, ""), (7, ": 1 missing or 6 too many")]
)
def test_columns_that_do_not_divide_are_refused_with_those_that_do(write_tiles, columns, hint):
    with pytest.raises(InputError, match=f"6 tiles do not fill {columns} columns{hint}; 1, 2, 3, 6 would do"):
        Puzzle.from_tiles(write_tiles([f"{number}.png" for number in range(6)]), columns=columns)


@pytest.mark.parametrize(
    ("shape", "dtype", "described"),
    [
        ((3, 5, 3), np.uint8, "5x3 pixels with 3 channels of 8 bits"),
        ((3, 4, 1), np.uint8, "4x3 pixels with 1 channel of 8 bits"),
        ((3, 4, 4), np.uint8, "4x3 pixels with 4 channels of 8 bits"),
        ((3, 4, 3), np.uint16, "4x3 pixels with 3 channels of 16 bits"),
    ],
)
def test_tiles_that_differ_are_refused_and_named(write_tiles, shape, dtype, described):
    folder = write_tiles(["1.png", "2.png"])
    write_picture(folder / "3.png", Picture(np.zeros(shape, dtype)))
    with pytest.raises(InputError, match=f"3.png is {described}, 1.png is 4x3 pixels with 3 channels of 8 bits"):
        Puzzle.from_tiles(folder, columns=1)


def test_a_damaged_tile_is_named(write_tiles):
    folder = write_tiles(["1.png", "2.png"])
    (folder / "2.png").write_bytes((folder / "2.png").read_bytes()[:50])
    with pytest.raises(ImageError, match=r"2\.png is damaged or truncated"):
        Puzzle.from_tiles(folder, columns=1)


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="holds no pictures"):
        Puzzle.from_tiles(tmp_path, columns=1)


@pytest.mark.parametrize("name", ["missing", "file", "x" * 300])
def test_what_is_no_folder_is_refused(tmp_path, name):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=f"there is no folder .*{name}"):
        Puzzle.from_tiles(tmp_path / name, columns=1)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_a_folder_that_cannot_be_read_is_refused(tmp_path):
    (tmp_path / "folder").mkdir(mode=0o000)
    with pytest.raises(InputError, match="cannot read the folder"):
        Puzzle.from_tiles(tmp_path / "folder", columns=1)


# Memory


@pytest.fixture
def peak():
    """The most memory that some work takes beyond what was there, in copies of 12 MB."""

    def measure(work):
        tracemalloc.start()
        try:
            made = work()
            return tracemalloc.get_traced_memory()[1] / 12e6, made
        finally:
            tracemalloc.stop()

    return measure


@pytest.mark.parametrize("crop", [False, True])
def test_no_step_takes_more_than_one_copy_of_the_pixels(peak, crop):
    whole = np.random.default_rng(1).integers(0, 256, (2020, 2020, 3), dtype=np.uint8)
    pixels = whole if crop else whole[:2000, :2000].copy()
    taken, puzzle = peak(lambda: Puzzle.from_array(pixels, 40, crop=crop))
    assert taken < 1.1
    taken, (shuffled, truth) = peak(lambda: puzzle.shuffled(1))
    assert taken < 1.1
    taken, picture = peak(lambda: shuffled.assemble(truth))
    assert taken < 1.1
    np.testing.assert_array_equal(picture.pixels, whole[:2000, :2000])
    assert peak(lambda: shuffled.digest)[0] < 0.1
    assert peak(lambda: shuffled.kinds)[0] < 0.1
