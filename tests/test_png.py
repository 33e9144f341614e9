import io
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from jigsolve import Picture, png, read_picture, write_picture
from jigsolve.deep import _png_chunks
from jigsolve.png import encode_png
from tests.encoders import noise
from tests.naive import png_rows
from tests.puzzles import drawing

SHAPES = st.tuples(st.integers(1, 40), st.integers(1, 40), st.integers(1, 4))


def rows_of(data, height, step):
    stream = zlib.decompress(b"".join(body for name, body in _png_chunks(data) if name == b"IDAT"))
    return png_rows(np.frombuffer(stream, np.uint8).reshape(height, -1), step)


@settings(max_examples=40, deadline=None)
@given(shape=SHAPES, dtype=st.sampled_from([np.uint8, np.uint16]), strip=st.integers(1, 3000))
def test_every_strip_tells_its_pixels(shape, dtype, strip):
    pixels = noise(*shape, dtype)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(png, "STRIP_BYTES", strip)
        data = b"".join(encode_png(pixels, None))
    expected = pixels.astype(pixels.dtype.newbyteorder(">")).view(np.uint8).reshape(shape[0], -1)
    np.testing.assert_array_equal(rows_of(data, shape[0], shape[2] * pixels.itemsize), expected)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_a_picture_of_many_strips_is_read_back(monkeypatch, tmp_path, channels, dtype):
    monkeypatch.setattr(png, "STRIP_BYTES", 500)
    pixels = noise(90, 50, channels, dtype)
    write_picture(tmp_path / "a.png", Picture(pixels))
    assert np.array_equal(read_picture(tmp_path / "a.png").pixels, pixels)


@pytest.mark.parametrize("view", [lambda a: a[::-1], lambda a: a[:, 3:9], np.rot90, lambda a: a[:1, :1]])
def test_pixels_may_lie_in_memory_as_they_like(view):
    pixels = view(noise(20, 30))
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(b"".join(encode_png(pixels, None))))), pixels)


def test_the_file_is_the_same_on_any_number_of_cores(monkeypatch):
    monkeypatch.setattr(png, "STRIP_BYTES", 3000)
    files = []
    for cores in (1, 2, 7):
        monkeypatch.setattr(png, "usable_cores", lambda cores=cores: cores)
        files.append(b"".join(encode_png(drawing(300, 100), None)))
    assert files[0] == files[1] == files[2]


def test_who_stops_early_waits_for_nothing(monkeypatch):
    monkeypatch.setattr(png, "STRIP_BYTES", 300)
    parts = encode_png(drawing(300, 100), None)
    assert [next(parts)[:4], next(parts)[4:8]] == [b"\x89PNG", b"IDAT"]
    next(parts)
    parts.close()


def test_files_are_about_as_small_as_a_search_for_repeats_makes_them(photo):
    buffer = io.BytesIO()
    photo.to_pillow().save(buffer, "PNG", compress_level=4)
    assert len(b"".join(encode_png(photo.pixels, None))) < 1.1 * len(buffer.getvalue())
