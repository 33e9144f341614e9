import contextlib
import io
import os
import struct
import sys
import tracemalloc
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor
from resource import RUSAGE_SELF, getrusage

import cv2
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image, ImageCms

from jigsolve import ImageError, InputError, OutputError, Picture, read_picture, write_picture
from jigsolve.images import as_pixels, check_suffix, encode_picture
from tests.encoders import SHORT, STORED, UNDEFINED, by_pillow, chunk, exif, noise, png, png_header_only, tiff
from tests.puzzles import drawing

ALPHA_TAG = (338, SHORT, [2])
PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
GREY_PROFILE = bytes(PROFILE[:16]) + b"GRAY" + bytes(PROFILE[20:])
EXTREMES = np.array([0, 1, 255, 256, 257, 0x8000, 0xFF00, 0xFFFE, 0xFFFF], dtype=np.uint16)


@pytest.fixture
def read(tmp_path):
    """Reads bytes as a picture file."""

    def read_bytes(data, **options):
        path = tmp_path / "picture"
        path.write_bytes(data)
        return read_picture(path, **options)

    return read_bytes


def same(picture, pixels):
    return picture.pixels.dtype == pixels.dtype and np.array_equal(picture.pixels, pixels)


def deep(channels):
    """16-bit noise with the values at which a byte gets lost or a sign turns up."""
    pixels = noise(channels=channels, dtype=np.uint16)
    pixels.reshape(-1)[: len(EXTREMES)] = EXTREMES
    return pixels


# Reading


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_png_is_read_to_the_last_bit(read, channels, dtype):
    pixels = deep(channels) if dtype == np.uint16 else noise(channels=channels)
    assert same(read(png(pixels)), pixels)


@pytest.mark.parametrize(
    ("channels", "dtype"),
    [(1, np.uint8), (2, np.uint8), (3, np.uint8), (4, np.uint8)] + [(c, np.uint16) for c in (1, 3, 4)],
)
def test_tiff_is_read_to_the_last_bit(read, channels, dtype):
    pixels = deep(channels) if dtype == np.uint16 else noise(channels=channels)
    assert same(read(tiff(pixels, [ALPHA_TAG] if channels in (2, 4) else [])), pixels)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_tiff_in_which_white_is_zero_is_no_negative(read, dtype):
    pixels = noise(channels=1, dtype=dtype)
    assert same(read(tiff(np.invert(pixels), [(262, SHORT, [0])])), pixels)


@pytest.mark.parametrize("channels", [3, 4])
def test_lossless_webp_is_read_exactly(read, channels):
    pixels = noise(channels=channels)
    assert same(read(by_pillow(pixels, "WEBP", lossless=True, exact=True)), pixels)


@pytest.mark.parametrize("channels", [1, 3])
def test_bmp_is_read_exactly(read, channels):
    pixels = noise(channels=channels)
    assert same(read(by_pillow(pixels, "BMP")), pixels)


@pytest.mark.parametrize("channels", [1, 3])
def test_jpeg_is_read_about_right(read, channels):
    pixels = np.full((16, 24, channels), 90, np.uint8)
    pixels[:, 8:16, 0] = 200
    picture = read(by_pillow(pixels, "JPEG", quality=100, subsampling=0))
    assert picture.pixels.shape == pixels.shape
    assert np.abs(picture.pixels.astype(int) - pixels).max() <= 3


def test_palette_becomes_colour(read):
    image = Image.frombytes("P", (3, 2), bytes(range(6)))
    colours = noise(1, 6, 3)[0]
    image.putpalette(colours.tobytes())
    assert same(read(by_pillow(image, "PNG")), colours.reshape(2, 3, 3))


def test_palette_with_transparency_becomes_colour_and_alpha(read):
    image = Image.frombytes("P", (3, 2), bytes(range(6)))
    colours = noise(1, 6, 3)[0]
    image.putpalette(colours.tobytes())
    alpha = bytes([0, 100, 255, 7, 8, 9])
    expected = np.concatenate([colours, np.frombuffer(alpha, np.uint8)[:, np.newaxis]], axis=1).reshape(2, 3, 4)
    assert same(read(by_pillow(image, "PNG", transparency=alpha)), expected)


@pytest.mark.parametrize(("channels", "key"), [(1, b"\0\x07"), (3, b"\0\x07\0\x07\0\x07")])
def test_a_colour_that_is_transparent_becomes_alpha(read, channels, key):
    pixels = np.full((2, 3, channels), 9, np.uint8)
    pixels[1, 2] = 7
    picture = read(png(pixels, chunk(b"tRNS", key)))
    assert same(Picture(picture.pixels[:, :, :-1]), pixels)
    assert picture.pixels[:, :, -1].tolist() == [[255, 255, 255], [255, 255, 0]]


@pytest.mark.parametrize("name", ["PNG", "TIFF", "BMP"])
def test_one_bit_becomes_grey(read, name):
    bits = noise(9, 13, 1) > 127
    assert same(read(by_pillow(Image.fromarray(bits[:, :, 0]), name)), bits * np.uint8(255))


def test_cmyk_jpeg_becomes_colour(read):
    # Cyan, magenta, yellow and black, as printers understand them.
    inks = np.zeros((8, 32, 4), np.uint8)
    for ink in range(4):
        inks[:, 8 * ink : 8 * ink + 8, ink] = 255
    picture = read(by_pillow(Image.frombytes("CMYK", (32, 8), inks.tobytes()), "JPEG", quality=100, subsampling=0))
    middles = picture.pixels[4, 4::8].astype(int)
    assert np.abs(middles - [[0, 255, 255], [255, 0, 255], [255, 255, 0], [0, 0, 0]]).max() <= 8


def test_cmyk_jpeg_with_an_unusable_profile_is_still_read(read):
    inks = Image.new("CMYK", (8, 8))
    picture = read(by_pillow(inks, "JPEG", icc_profile=b"no profile at all"))
    assert picture.icc_profile is None
    assert picture.pixels.shape == (8, 8, 3)
    assert picture.pixels.min() >= 250


@pytest.mark.parametrize("orientation", STORED)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("channels", [1, 3])
def test_png_is_turned_upright(read, orientation, dtype, channels):
    seen = noise(channels=channels, dtype=dtype)
    tags = exif(orientation).tobytes().removeprefix(b"Exif\0\0")
    assert same(read(png(STORED[orientation](seen), chunk(b"eXIf", tags))), seen)


@pytest.mark.parametrize("orientation", STORED)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_tiff_is_turned_upright(read, orientation, dtype):
    seen = noise(channels=3, dtype=dtype)
    assert same(read(tiff(STORED[orientation](seen), [(274, SHORT, [orientation])])), seen)


@pytest.mark.parametrize("orientation", STORED)
def test_jpeg_is_turned_upright(read, orientation):
    seen = np.zeros((16, 24, 3), np.uint8)
    seen[:8, :8], seen[:8, 16:], seen[8:, :8] = (250, 0, 0), (0, 250, 0), (0, 0, 250)
    stored = np.ascontiguousarray(STORED[orientation](seen))
    picture = read(by_pillow(stored, "JPEG", quality=100, subsampling=0, exif=exif(orientation)))
    assert picture.pixels.shape == seen.shape
    assert np.abs(picture.pixels.astype(int) - seen).max() <= 5


@pytest.mark.parametrize("orientation", [0, 9, 77])
def test_an_orientation_that_does_not_exist_turns_nothing(read, orientation):
    pixels = noise(dtype=np.uint16)
    tags = exif(orientation).tobytes().removeprefix(b"Exif\0\0")
    assert same(read(png(pixels, chunk(b"eXIf", tags))), pixels)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_the_profile_of_a_png_is_read(read, dtype):
    profile = chunk(b"iCCP", b"any name\0\0" + zlib.compress(PROFILE))
    assert read(png(noise(dtype=dtype), profile)).icc_profile == PROFILE


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_the_profile_of_a_tiff_is_read(read, dtype):
    assert read(tiff(noise(dtype=dtype), [(34675, UNDEFINED, PROFILE)])).icc_profile == PROFILE


def test_the_first_of_several_frames_is_read(read):
    first, second = Image.new("RGB", (4, 4), "red"), Image.new("RGB", (4, 4), "blue")
    picture = read(by_pillow(first, "GIF", save_all=True, append_images=[second]))
    assert picture.pixels[0, 0].tolist() == [255, 0, 0]


# Writing


@pytest.mark.parametrize("suffix", [".png", ".PNG", ".tif", ".tiff"])
@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("profile", [None, PROFILE])
def test_png_and_tiff_survive_whole(tmp_path, suffix, channels, dtype, profile):
    pixels = deep(channels) if dtype == np.uint16 else noise(channels=channels)
    # libpng warns about a profile for colours in a grey picture.
    profile = GREY_PROFILE if profile and channels == 1 else profile
    path = tmp_path / f"picture{suffix}"
    write_picture(path, Picture(pixels, profile))
    picture = read_picture(path)
    assert same(picture, pixels)
    assert picture.icc_profile == profile


@pytest.mark.parametrize("suffix", [".png", ".tif"])
def test_8_bit_grey_and_alpha_survives(read, suffix):
    pixels = noise(channels=2)
    assert same(read(encode_picture(Picture(pixels), suffix)), pixels)


def test_16_bit_grey_and_alpha_survives(read):
    assert same(read(encode_picture(Picture(deep(2), GREY_PROFILE), ".png")), deep(2))


def test_16_bit_grey_and_alpha_survives_as_colour_and_alpha_in_tiff(read):
    pixels = deep(2)
    assert same(read(encode_picture(Picture(pixels, PROFILE), ".tif")), pixels[:, :, [0, 0, 0, 1]])


def test_a_16_bit_tiff_says_that_its_fourth_channel_is_alpha():
    image = Image.open(io.BytesIO(encode_picture(Picture(deep(4)), ".tif")))
    assert image.tag_v2[338] == (2,)


def test_a_16_bit_png_with_a_profile_has_sound_checksums():
    image = Image.open(io.BytesIO(encode_picture(Picture(deep(3), PROFILE), ".png")))
    assert image.verify() is None  # It raises where one is wrong.


def test_webp_is_lossless_even_where_nothing_can_be_seen(read):
    pixels = noise(channels=4)
    pixels[:4, :, 3] = 0
    picture = read(encode_picture(Picture(pixels, PROFILE), ".webp"))
    assert same(picture, pixels)
    assert picture.icc_profile == PROFILE


@pytest.mark.parametrize(("channels", "kept"), [(1, 1), (2, 1), (3, 3), (4, 3)])
def test_bmp_drops_alpha_and_nothing_else(read, channels, kept):
    pixels = noise(channels=channels)
    assert same(read(encode_picture(Picture(pixels), ".bmp")), pixels[:, :, :kept])


@pytest.mark.parametrize(("channels", "kept"), [(1, 1), (2, 1), (3, 3), (4, 3)])
def test_jpeg_drops_alpha_and_keeps_colours_and_profile(read, channels, kept):
    pixels = drawing(40, 40, 4)[:, :, :channels]
    picture = read(encode_picture(Picture(pixels, PROFILE), ".jpg"))
    assert picture.pixels.shape == (40, 40, kept)
    assert np.abs(picture.pixels.astype(int) - pixels[:, :, :kept]).mean() < 4
    assert picture.icc_profile == PROFILE


@pytest.mark.parametrize("suffix", [".webp", ".bmp"])
def test_16_bits_are_rounded_where_a_format_has_8(read, suffix):
    values = np.array([0, 128, 129, 257, 32768, 65406, 65407, 65535], np.uint16)
    pixels = np.repeat(values.reshape(1, 8, 1), 3, axis=2)
    expected = np.rint(pixels / 257).astype(np.uint8)
    assert same(read(encode_picture(Picture(pixels), suffix)), expected)


def test_a_picture_that_a_format_cannot_hold_is_refused_with_a_way_out():
    with pytest.raises(OutputError, match=r"16384x1 pixels cannot be written as \.webp.*try \.png"):
        encode_picture(Picture(np.zeros((1, 16384, 3), np.uint8)), ".webp")


@pytest.mark.parametrize("name", ["picture", "picture.xyz", "picture.gif", "picture.png.txt"])
def test_a_name_that_tells_no_format_is_refused(tmp_path, name):
    with pytest.raises(InputError, match=r"use one of \.bmp, \.jpeg, \.jpg, \.png"):
        write_picture(tmp_path / name, Picture(noise()))
    assert not list(tmp_path.iterdir())


def test_every_format_that_is_written_has_its_suffix_accepted(tmp_path):
    for suffix in (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp"):
        check_suffix(tmp_path / f"x{suffix}")


def test_an_existing_picture_is_only_overwritten_on_demand(tmp_path):
    path = tmp_path / "picture.png"
    write_picture(path, Picture(noise()))
    with pytest.raises(OutputError, match="exists already"):
        write_picture(path, Picture(noise(channels=1)))
    assert same(read_picture(path), noise())
    write_picture(path, Picture(noise(channels=1)), overwrite=True)
    assert same(read_picture(path), noise(channels=1))


# Arrays


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_to_pillow_shows_the_same_colours(channels, dtype):
    pixels = noise(channels=channels, dtype=dtype)
    shown = np.asarray(Picture(pixels).to_pillow())
    assert np.array_equal(shown.reshape(pixels.shape), np.rint(pixels / (257 if dtype == np.uint16 else 1)))


def test_a_picture_knows_its_size():
    assert (Picture(noise(3, 5)).height, Picture(noise(3, 5)).width) == (3, 5)


def test_two_dimensions_are_grey():
    assert as_pixels(np.zeros((2, 3), np.uint16)).shape == (2, 3, 1)


@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.int64, np.bool_, np.uint32])
def test_other_types_of_pixels_are_refused(dtype):
    with pytest.raises(InputError, match="must be uint8 or uint16"):
        as_pixels(np.zeros((2, 2, 3), dtype))


@pytest.mark.parametrize("shape", [(3,), (2, 2, 5), (1, 2, 2, 3)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(InputError, match="a picture has shape"):
        as_pixels(np.zeros(shape, np.uint8))


@pytest.mark.parametrize("shape", [(0, 5), (5, 0, 3)])
def test_an_array_without_pixels_is_refused(shape):
    with pytest.raises(InputError, match="has no pixels"):
        as_pixels(np.zeros(shape, np.uint8))


# What is no picture


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ImageError, match=r"there is no file .*missing\.png"):
        read_picture(tmp_path / "missing.png")


def test_an_empty_file_is_called_empty(read):
    with pytest.raises(ImageError, match="is empty"):
        read(b"")


def test_a_folder_is_no_picture(tmp_path):
    with pytest.raises(ImageError, match=r"cannot read .*: Is a directory"):
        read_picture(tmp_path)


def test_a_name_that_is_too_long_is_no_picture(tmp_path):
    with pytest.raises(ImageError, match="File name too long"):
        read_picture(tmp_path / ("x" * 300))


@pytest.mark.parametrize("data", [b"x", b"hello " * 100, b"\x89PNG\r\n\x1a\n", bytes(1000), b"%PDF-1.4", b"II*\0"])
def test_other_files_are_no_pictures(read, data):
    with pytest.raises(ImageError):
        read(data)


def test_text_is_not_called_damaged(read):
    with pytest.raises(ImageError, match="not a picture in a format that can be read"):
        read(b"hello " * 100)


def test_a_decompression_bomb_is_not_unpacked(read):
    with pytest.raises(ImageError, match=r"more pixels than is safe.*3600000000"):
        read(png_header_only(60_000, 60_000))


@pytest.mark.skipif(sys.platform != "linux", reason="the unit of ru_maxrss differs")
@pytest.mark.parametrize("max_megapixels", [None, 3599.9])
def test_a_decompression_bomb_costs_no_memory(read, max_megapixels):
    before = getrusage(RUSAGE_SELF).ru_maxrss
    with pytest.raises(ImageError, match=r"60000x60000 are 3600000000.*pass --max-megapixels 3600 \("):
        read(png_header_only(60_000, 60_000), max_megapixels=max_megapixels)
    assert getrusage(RUSAGE_SELF).ru_maxrss - before < 100_000


def test_a_limit_can_be_lowered(read):
    assert same(read(png(noise(10, 10)), max_megapixels=0.0001), noise(10, 10))
    with pytest.raises(ImageError, match=r"9x12 are 108, the limit is 100; .* pass --max-megapixels 1 \("):
        read(png(noise(12, 9)), max_megapixels=0.0001)


@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_a_limit_that_allows_nothing_is_refused(read, value):
    with pytest.raises(InputError, match="max_megapixels must be more than 0, not"):
        read(png(noise()), max_megapixels=value)


LARGE = {
    "png": png(noise()),
    "png-16": png(deep(3)),
    "png-palette": by_pillow(Image.fromarray(noise()).quantize(8), "PNG"),
    "jpeg": by_pillow(noise(), "JPEG", exif=exif(6)),
    "tiff": tiff(noise()),
    "tiff-16": tiff(deep(3)),
    "tiff-lzw": by_pillow(noise(), "TIFF", compression="tiff_lzw"),
    "tiff-turned": tiff(noise(), [(274, SHORT, [6])]),
    "bmp": by_pillow(noise(), "BMP"),
}


@pytest.mark.parametrize("name", LARGE)
def test_the_limit_is_raised_on_purpose(read, monkeypatch, name):
    expected = read(LARGE[name]).pixels
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    with pytest.raises(ImageError, match="more pixels than is safe"):
        read(LARGE[name])
    assert same(read(LARGE[name], max_megapixels=1), expected)
    assert Image.MAX_IMAGE_PIXELS == 10


@pytest.mark.parametrize("name", ["WEBP", "GIF"])
def test_where_the_limit_cannot_be_raised_there_is_another_way(read, monkeypatch, name):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    with pytest.raises(ImageError, match=r"raised for PNG, JPEG, TIFF and BMP only; save it as one of them"):
        read(by_pillow(noise(), name), max_megapixels=1)


@pytest.mark.parametrize("name", ["png", "tiff-16", "jpeg"])
@pytest.mark.parametrize("part", [0.3, 0.8])
def test_a_large_file_that_is_truncated_is_refused(read, monkeypatch, name, part):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    with pytest.raises(ImageError):
        read(LARGE[name][: int(part * len(LARGE[name]))], max_megapixels=1)


def test_readers_with_different_limits_do_not_meet(tmp_path, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 2000)
    path = tmp_path / "large.png"
    path.write_bytes(png(noise(100, 100)))
    filters = list(warnings.filters)

    def outcome(max_megapixels):
        try:
            return read_picture(path, max_megapixels=max_megapixels).width
        except ImageError as error:
            return str(error)

    limits = [1, None, 0.005] * 60
    with ThreadPoolExecutor(6) as pool:
        outcomes = list(pool.map(outcome, limits))
    assert set(outcomes[0::3]) == {100}
    assert {text.partition("the limit is ")[2].partition(";")[0] for text in outcomes[1::3]} == {"4000"}
    assert {text.partition("the limit is ")[2].partition(";")[0] for text in outcomes[2::3]} == {"5000"}
    assert warnings.filters == filters


def test_pixels_are_read_without_further_copies(read):
    data = encode_picture(Picture(noise(1000, 2000)), ".png")
    read(data)
    tracemalloc.start()
    try:
        read(data)
        assert tracemalloc.get_traced_memory()[1] < 1.5 * 6_000_000
    finally:
        tracemalloc.stop()


def test_a_picture_that_comes_through_a_pipe_is_read(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(pipe.write_bytes, png(noise()))
        assert same(read_picture(pipe), noise())


def test_a_large_picture_is_no_bomb(read, monkeypatch):
    # Pillow warns from its limit on and refuses from twice the limit on; the first is nobody's business.
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 50)
    assert same(read(png(noise(9, 10))), noise(9, 10))
    with pytest.raises(ImageError, match="more pixels than is safe"):
        read(png(noise(9, 12)))


@pytest.mark.parametrize("pixels", [np.zeros((4, 4, 1), np.float32), np.zeros((4, 4, 3), np.float32)])
def test_a_float_tiff_is_refused(read, pixels):
    with pytest.raises(ImageError):
        read(tiff(pixels, [(339, SHORT, [3] * pixels.shape[2])]))


def test_the_refusal_of_a_float_tiff_says_why(read):
    with pytest.raises(ImageError, match=r"pixel type \(F\) is not 8 or 16-bit"):
        read(by_pillow(Image.new("F", (4, 4)), "TIFF"))


def test_16_bit_cmyk_is_refused_and_not_taken_for_alpha(read):
    with pytest.raises(ImageError, match="16-bit channels cannot be decoded"):
        read(tiff(noise(channels=4, dtype=np.uint16), [(262, SHORT, [5])]))


WHOLE = {
    "png": png(noise(40, 40)),
    "png-16": png(noise(40, 40, 4, np.uint16)),
    "jpeg": by_pillow(noise(40, 40), "JPEG"),
    "jpeg-progressive": by_pillow(noise(40, 40), "JPEG", progressive=True),
    "tiff-16": tiff(noise(40, 40, 3, np.uint16)),
    "tiff-lzw": by_pillow(noise(40, 40), "TIFF", compression="tiff_lzw"),
    "tiff-raw": by_pillow(noise(40, 40), "TIFF"),
    "webp": by_pillow(noise(40, 40), "WEBP"),
    "webp-lossless": by_pillow(noise(40, 40), "WEBP", lossless=True),
    "bmp": by_pillow(noise(40, 40), "BMP"),
    "gif": by_pillow(noise(40, 40), "GIF"),
}


@pytest.mark.parametrize("part", [0.05, 0.3, 0.6, 0.95])
@pytest.mark.parametrize("name", WHOLE)
def test_a_truncated_file_is_refused(read, name, part):
    data = WHOLE[name]
    with pytest.raises(ImageError):
        read(data[: int(part * len(data))])


@pytest.mark.parametrize("name", WHOLE)
def test_the_files_to_truncate_are_whole(read, name):
    assert read(WHOLE[name]).pixels.shape[:2] == (40, 40)


@pytest.mark.skipif(sys.platform != "linux", reason="the unit of ru_maxrss differs")
def test_a_chunk_that_claims_gigabytes_costs_none(read):
    # OpenCV reserves whatever a chunk claims to have.
    data = png(noise(dtype=np.uint16))
    at = data.index(b"IDAT") - 4
    before = getrusage(RUSAGE_SELF).ru_maxrss
    with contextlib.suppress(ImageError):
        read(data[:at] + struct.pack(">I", 0x7FFFFFFF) + data[at + 4 :])
    assert getrusage(RUSAGE_SELF).ru_maxrss - before < 200_000


@pytest.mark.parametrize("kind", [struct.error, KeyError, ZeroDivisionError, RuntimeError, cv2.error, OverflowError])
def test_whatever_a_decoder_raises_is_an_image_error(read, monkeypatch, kind):
    def fail(_file):
        raise kind("odd")

    monkeypatch.setattr(Image, "open", fail)
    with pytest.raises(ImageError, match=r"damaged or truncated: .*odd"):
        read(png(noise()))


def test_too_little_memory_is_no_damage(read, monkeypatch):
    def fail(_file):
        raise MemoryError

    monkeypatch.setattr(Image, "open", fail)
    with pytest.raises(ImageError, match="not enough memory to unpack"):
        read(png(noise()))


# Damage at random

SEEDS = {
    "png": png(noise(5, 6)),
    "png-16": png(noise(5, 6, 4, np.uint16), chunk(b"eXIf", exif(6).tobytes().removeprefix(b"Exif\0\0"))),
    "png-palette": by_pillow(Image.fromarray(noise(5, 6)).quantize(8), "PNG", transparency=2),
    "jpeg": by_pillow(noise(5, 6), "JPEG", exif=exif(6)),
    "jpeg-cmyk": by_pillow(Image.fromarray(noise(5, 6)).convert("CMYK"), "JPEG", icc_profile=PROFILE[:300]),
    "tiff": by_pillow(noise(5, 6), "TIFF"),
    "tiff-16": tiff(noise(5, 6, 3, np.uint16), [(274, SHORT, [3])]),
    "tiff-lzw": by_pillow(noise(5, 6), "TIFF", compression="tiff_lzw"),
    "webp": by_pillow(noise(5, 6), "WEBP", exif=exif(6)),
    "webp-lossless": by_pillow(noise(5, 6, 4), "WEBP", lossless=True),
    "bmp": by_pillow(noise(5, 6), "BMP"),
    "bmp-palette": by_pillow(Image.fromarray(noise(5, 6)).quantize(8), "BMP"),
}
DAMAGES = st.lists(
    st.tuples(st.sampled_from(["flip", "set", "cut", "drop"]), st.integers(0), st.integers(0, 255)), max_size=6
)


def damaged(data, damages):
    data = bytearray(data)
    for kind, place, value in damages:
        at = place % (len(data) or 1)
        if kind == "flip" and data:
            data[at] ^= 1 << value % 8
        elif kind == "set" and data:
            data[at] = value
        elif kind == "cut":
            del data[at:]
        else:
            del data[at : at + value % 16]
    return bytes(data)


@pytest.mark.parametrize("name", SEEDS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damages=DAMAGES)
def test_damage_gives_a_picture_or_an_image_error(tmp_path, name, damages):
    path = tmp_path / "damaged"
    path.write_bytes(damaged(SEEDS[name], damages))
    with pytest.MonkeyPatch.context() as patch:
        # A damaged header can claim a hundred million pixels; making them black takes seconds.
        patch.setattr(Image, "MAX_IMAGE_PIXELS", 100_000)
        with contextlib.suppress(ImageError):
            picture = read_picture(path)
            assert picture.pixels.dtype in (np.uint8, np.uint16)
            assert picture.pixels.ndim == 3
            assert picture.pixels.size > 0
