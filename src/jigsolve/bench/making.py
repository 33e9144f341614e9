"""Making sets: crops of a given number of pieces, and posters of many photographs for sizes that none reaches."""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..errors import InputError
from ..files import make_folder
from ..images import Picture, Pixels, most_pixels, read_picture, write_picture
from .sets import list_images


def crop_folder(
    source: Path,
    out: Path,
    pieces: int,
    piece_size: tuple[int, int],
    *,
    overwrite: bool = False,
    max_megapixels: float | None = None,
) -> Iterator[str]:
    """Crop every picture of a folder to exactly so many pieces, into a new folder; yield what was done with each.

    The crop is the middle of the picture, in the frame of that many pieces whose shape is nearest to the picture's. A
    picture that is too small is passed over.
    """
    if pieces < 1:
        raise InputError(f"a crop needs at least 1 piece, not {pieces}")
    paths = _images(source)
    make_folder(out)
    for path in paths:
        picture = read_picture(path, max_megapixels=max_megapixels)
        frame = best_frame(picture, pieces, piece_size)
        if frame is None:
            yield f"{path.name}: too small for {pieces} pieces of {piece_size[0]}x{piece_size[1]} pixels, passed over"
            continue
        rows, columns = frame
        cropped = middle(picture, rows * piece_size[1], columns * piece_size[0])
        write_picture(out / f"{path.stem}.png", cropped, overwrite=overwrite)
        yield f"{path.name}: {rows} rows x {columns} columns"


def best_frame(picture: Picture, pieces: int, piece_size: tuple[int, int]) -> tuple[int, int] | None:
    """Return the (rows, columns) of exactly so many pieces that fit in a picture and come nearest to its shape."""
    most_rows, most_columns = picture.height // piece_size[1], picture.width // piece_size[0]
    frames = [
        (rows, pieces // rows)
        for rows in range(1, min(pieces, most_rows) + 1)
        if pieces % rows == 0 and pieces // rows <= most_columns
    ]
    shape = picture.height / picture.width
    return min(
        frames,
        key=lambda frame: abs(math.log(frame[0] * piece_size[1] / (frame[1] * piece_size[0]) / shape)),
        default=None,
    )


def middle(picture: Picture, height: int, width: int) -> Picture:
    """Return the middle of a picture."""
    top, left = (picture.height - height) // 2, (picture.width - width) // 2
    return Picture(picture.pixels[top : top + height, left : left + width], picture.icc_profile)


def make_poster(
    source: Path, columns: int | None, piece_size: tuple[int, int], *, max_megapixels: float | None = None
) -> tuple[Picture, str]:
    """Paste the photographs of a folder side by side into one picture, and say what was done.

    They are cropped to the largest size that all of the same orientation have, a multiple of the piece size, so that no
    piece shows two photographs. Of landscape and portrait pictures the more numerous kind is taken. A poster that could
    not be read back with the same `max_megapixels` is refused.
    """
    pictures = [read_picture(path, max_megapixels=max_megapixels) for path in _images(source)]
    wide = [picture for picture in pictures if picture.width >= picture.height]
    chosen = wide if 2 * len(wide) >= len(pictures) else [picture for picture in pictures if picture not in wide]
    height = min(picture.height for picture in chosen) // piece_size[1] * piece_size[1]
    width = min(picture.width for picture in chosen) // piece_size[0] * piece_size[0]
    if not height or not width:
        raise InputError(f"a picture of {source} is smaller than a piece of {piece_size[0]}x{piece_size[1]} pixels")
    across = columns or round(math.sqrt(len(chosen) * height / width)) or 1
    down = len(chosen) // across
    if down == 0:
        raise InputError(f"{len(chosen)} pictures do not fill a row of {across}; choose fewer --columns")
    _check_poster(across * down, width, height, max_megapixels)
    used = [middle(picture, height, width).pixels for picture in chosen[: across * down]]
    if len({(pixels.shape[2], pixels.dtype) for pixels in used}) > 1:
        raise InputError(f"the pictures of {source} differ in channels or depth and cannot be pasted into one")
    pieces = across * down * (height // piece_size[1]) * (width // piece_size[0])
    said = f"{across * down} of {len(pictures)} pictures, {across} across and {down} down, {pieces} pieces"
    return Picture(_pasted(used, across)), said


def _check_poster(pictures: int, width: int, height: int, max_megapixels: float | None) -> None:
    pixels, limit = pictures * width * height, most_pixels(max_megapixels)
    if pixels > limit:
        raise InputError(
            f"a poster of {pictures} pictures of {width}x{height} pixels is more than the {limit:,.0f} pixels that can "
            f"be read back; use fewer or smaller pictures, or pass --max-megapixels {math.ceil(pixels / 1e6)} here and "
            "to what reads it"
        )


def _pasted(pictures: list[Pixels], across: int) -> Pixels:
    """Return pictures of one size side by side, so many in a row."""
    height, width, channels = pictures[0].shape
    down = len(pictures) // across
    poster = np.empty((down, height, across, width, channels), dtype=pictures[0].dtype)
    for number, pixels in enumerate(pictures):
        poster[number // across, :, number % across] = pixels
    return poster.reshape(down * height, across * width, channels)


def _images(source: Path) -> tuple[Path, ...]:
    if not source.is_dir():
        raise InputError(f"there is no folder {source}")
    paths = list_images(source)
    if not paths:
        raise InputError(f"the folder {source} holds no pictures")
    return paths
