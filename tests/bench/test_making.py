import numpy as np
import pytest

from jigsolve import ImageError, InputError, Picture, read_picture, write_picture
from jigsolve.bench.making import best_frame, crop_folder, make_poster
from tests.puzzles import drawing


@pytest.mark.parametrize(
    ("height", "width", "pieces", "frame"),
    [
        (100, 150, 24, (4, 6)),
        (150, 100, 24, (6, 4)),
        (100, 150, 7, (1, 7)),
        (100, 150, 17, None),
        (100, 150, 151, None),
    ],
)
def test_the_frame_comes_near_the_shape_of_the_picture(height, width, pieces, frame):
    assert best_frame(Picture(drawing(height, width)), pieces, (10, 10)) == frame


def test_crops_are_the_middle_and_small_pictures_are_passed_over(tmp_path):
    photos, out = tmp_path / "photos", tmp_path / "sets" / "crops"
    photos.mkdir()
    pixels = drawing(47, 65)
    write_picture(photos / "large.png", Picture(pixels))
    write_picture(photos / "small.png", Picture(pixels[:20, :20]))
    said = list(crop_folder(photos, out, 24, (10, 10)))
    assert [path.name for path in out.iterdir()] == ["large.png"]
    np.testing.assert_array_equal(read_picture(out / "large.png").pixels, pixels[3:43, 2:62])
    assert said == [
        "large.png: 4 rows x 6 columns",
        "small.png: too small for 24 pieces of 10x10 pixels, passed over",
    ]


def test_a_poster_is_the_photographs_side_by_side_and_no_piece_shows_two(tmp_path):
    for number in range(5):
        write_picture(tmp_path / f"{number}.png", Picture(np.full((34, 56, 3), 40 * number, dtype=np.uint8)))
    write_picture(tmp_path / "upright.png", Picture(np.full((56, 34, 3), 7, dtype=np.uint8)))
    poster, said = make_poster(tmp_path, 2, (10, 10))
    assert said == "4 of 6 pictures, 2 across and 2 down, 60 pieces"
    assert poster.pixels.shape == (60, 100, 3)
    corners = poster.pixels[[0, 0, 59, 59], [0, 99, 0, 99], 0].tolist()
    assert corners == [0, 40, 80, 120]
    assert (poster.pixels[:30, :50] == 0).all()


def test_a_poster_that_cannot_be_read_back_is_made_on_purpose_only(tmp_path):
    for number in range(4):
        write_picture(tmp_path / f"{number}.png", Picture(drawing(30, 50)))
    with pytest.raises(InputError, match=r"4 pictures of 50x30 pixels .* 5,000 pixels .* pass --max-megapixels 1 "):
        make_poster(tmp_path, 2, (10, 10), max_megapixels=0.005)
    assert make_poster(tmp_path, 2, (10, 10), max_megapixels=0.006)[0].pixels.shape == (60, 100, 3)


def test_crops_of_pictures_that_are_too_large_are_refused(tmp_path):
    write_picture(tmp_path / "a.png", Picture(drawing(30, 50)))
    with pytest.raises(ImageError, match="pass --max-megapixels 1"):
        list(crop_folder(tmp_path, tmp_path / "out", 4, (10, 10), max_megapixels=0.001))
    assert list(crop_folder(tmp_path, tmp_path / "out", 4, (10, 10), max_megapixels=0.0015))


@pytest.mark.parametrize("problem", ["missing", "empty", "tiny"])
def test_what_cannot_be_made_is_refused(tmp_path, problem):
    folder = tmp_path / "photos"
    if problem != "missing":
        folder.mkdir()
    if problem == "tiny":
        write_picture(folder / "a.png", Picture(drawing(5, 5)))
    with pytest.raises(InputError, match="photos"):
        make_poster(folder, None, (10, 10))
    if problem != "tiny":
        with pytest.raises(InputError, match="photos"):
            list(crop_folder(folder, tmp_path / "out", 4, (10, 10)))
        assert not (tmp_path / "out").exists()
