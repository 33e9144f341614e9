"""Reading and writing pictures: 8 and 16 bits, grey or colour, with or without alpha.

Pillow reads every format, tells truncated and hostile files apart, and knows orientation and colour profiles.
It keeps only 8 bits of a 16-bit colour channel, so those pictures, and only those, are decoded by OpenCV. It writes PNG
on one core and from a copy, so those files are written in `png.py`.
"""

import io
import math
import os
import threading
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageCms, ImageFile, ImageOps, UnidentifiedImageError
from PIL.BmpImagePlugin import BmpImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.TiffImagePlugin import TiffImageFile

from .deep import HEADER_LENGTH, decode_deep, encode_deep_tiff, has_deep_channels
from .errors import ImageError, InputError, OutputError
from .files import write_parts
from .png import encode_png

READABLE_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp", ".gif"})
_WRITERS: dict[str, tuple[str, dict[str, object]]] = {
    ".png": ("PNG", {}),
    ".tif": ("TIFF", {"compression": "tiff_lzw"}),
    ".tiff": ("TIFF", {"compression": "tiff_lzw"}),
    ".webp": ("WEBP", {"lossless": True, "exact": True}),
    ".bmp": ("BMP", {}),
    ".jpg": ("JPEG", {"quality": 95, "subsampling": 0}),
    ".jpeg": ("JPEG", {"quality": 95, "subsampling": 0}),
}
_DEEP_TIFF = frozenset({".tif", ".tiff"})
# Pixels that are taken over from Pillow at once.
_STRIP_PIXELS = 2**18


Pixels = NDArray[np.uint8] | NDArray[np.uint16]
"""Pixels of 8 or 16 bits a channel."""


@dataclass(frozen=True, eq=False)
class Picture:
    """Pixels of shape (height, width, channels), 8 or 16 bits, and the colour profile they are meant in.

    One channel is grey, two grey and alpha, three RGB, four RGB and alpha.
    """

    pixels: Pixels
    icc_profile: bytes | None = None

    @property
    def height(self) -> int:
        """Height in pixels."""
        return int(self.pixels.shape[0])

    @property
    def width(self) -> int:
        """Width in pixels."""
        return int(self.pixels.shape[1])

    def to_pillow(self) -> Image.Image:
        """Return the picture as an 8-bit Pillow image, for display."""
        pixels = self.pixels
        if pixels.dtype == np.uint16:
            pixels = ((pixels.astype(np.uint32) * 255 + 32767) // 65535).astype(np.uint8)
        return Image.fromarray(pixels.squeeze(axis=2) if pixels.shape[2] == 1 else pixels)


def as_pixels(array: NDArray[np.generic]) -> Pixels:
    """Check an array that is to be a picture and give it three dimensions.

    Raises
    ------
    InputError
        If it is not 8 or 16-bit unsigned, or not of shape (height, width) or (height, width, 1 to 4).
    """
    pixels = np.asarray(array)
    if pixels.dtype not in (np.uint8, np.uint16):
        raise InputError(f"pixels must be uint8 or uint16, not {pixels.dtype}; scale and convert them first")
    if pixels.ndim == 2:
        pixels = pixels[:, :, np.newaxis]
    if pixels.ndim != 3 or not 1 <= pixels.shape[2] <= 4:
        raise InputError(f"a picture has shape (height, width) or (height, width, 1 to 4), not {array.shape}")
    if 0 in pixels.shape:
        raise InputError(f"the picture has no pixels: its shape is {array.shape}")
    return pixels


def most_pixels(max_megapixels: float | None = None) -> float:
    """Return how many pixels a picture may have: so many millions, or what Pillow's guard allows when left out.

    Pillow stops files that unpack to far more than a photograph has: 179 megapixels, unless its own setting is changed.
    """
    if max_megapixels is None:
        return math.inf if Image.MAX_IMAGE_PIXELS is None else 2 * Image.MAX_IMAGE_PIXELS
    if not max_megapixels > 0:
        raise InputError(f"max_megapixels must be more than 0, not {max_megapixels:g}")
    return 1e6 * max_megapixels


def read_picture(path: str | Path, *, max_megapixels: float | None = None) -> Picture:
    """Read a picture at its full depth, turned upright as its EXIF orientation says.

    Palettes become colours and CMYK becomes RGB; grey stays grey and alpha stays alpha.

    Parameters
    ----------
    max_megapixels
        Larger pictures are refused before they are unpacked, as a small file can claim to be huge. Left out, the limit
        is that of Pillow, 179; raise it for files that you trust.

    Raises
    ------
    ImageError
        If the file is missing, empty, truncated, not a picture, or too large to be unpacked safely.
    """
    path = Path(path)
    limit = most_pixels(max_megapixels)
    try:
        with path.open("rb") as file:
            source = file if file.seekable() else io.BytesIO(file.read())
            if source.seek(0, os.SEEK_END) == 0:
                raise ImageError(f"{path} is empty")
            return _decode(source, path, limit)
    except FileNotFoundError as error:
        raise ImageError(f"there is no file {path}") from error
    except OSError as error:
        raise ImageError(f"cannot read {path}: {error.strerror or error}") from error


def _decode(source: BinaryIO, path: Path, limit: float) -> Picture:
    try:
        with _pillow_silenced:
            image = _open(source)
            _check_size(image, path, limit)
            source.seek(0)
            is_deep = has_deep_channels(source.read(HEADER_LENGTH), image)
            image.load()
            return _deep_picture(source, image) if is_deep else _shallow_picture(image)
    except UnidentifiedImageError as error:
        raise ImageError(f"{path} is not a picture in a format that can be read") from error
    except Image.DecompressionBombError as error:
        raise ImageError(
            f"{path} would unpack to more pixels than is safe: {error} The limit can be raised for PNG, JPEG, TIFF and "
            "BMP only; save it as one of them"
        ) from error
    except ImageError:
        raise
    except InputError as error:
        raise ImageError(f"{path} cannot be used: {error}") from error
    except MemoryError as error:
        raise ImageError(f"there is not enough memory to unpack {path}") from error
    except Exception as error:  # Decoders raise nearly everything for damaged files.
        raise ImageError(f"{path} is damaged or truncated: {error}") from error


class _PillowSilenced:
    """Keeps back what Pillow warns of, such as half of its limit: what stops us is raised.

    Filters of warnings belong to the whole process. Readers in several threads share one change of them: the first
    makes it and the last undoes it, as each undoing its own would leave them as another had changed them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readers = 0
        self._kept = warnings.catch_warnings()

    def __enter__(self) -> None:
        with self._lock:
            self._readers += 1
            if self._readers == 1:
                self._kept = warnings.catch_warnings()
                self._kept.__enter__()
                warnings.filterwarnings("ignore", module=r"(PIL|jigsolve)\.")

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._readers -= 1
            if self._readers == 0:
                self._kept.__exit__(None, None, None)


_pillow_silenced = _PillowSilenced()


class _UnguardedTiff(TiffImageFile):
    """A TIFF file whose size somebody else has checked."""

    def load_prepare(self) -> None:
        """Make room for the pixels, without asking whether they are too many."""
        if self._im is None:
            self.im = Image.core.new(self.mode, self._tile_size)  # type: ignore[attr-defined]
        ImageFile.ImageFile.load_prepare(self)


def _open(source: BinaryIO) -> Image.Image:
    """Read the header of a picture, however large it says the picture is; nothing is unpacked.

    Pillow's guard has one setting for the whole process, which is not ours to change: other threads may be relying on
    it. Only `Image.open` asks it, so what it refuses is opened by the reader of its format.
    """
    source.seek(0)
    try:
        return Image.open(source)
    except Image.DecompressionBombError:
        for reader in (PngImageFile, JpegImageFile, _UnguardedTiff, BmpImageFile):
            source.seek(0)
            try:
                return reader(source)
            except SyntaxError:  # It is of another format.
                continue
        raise


def _check_size(image: Image.Image, path: Path, limit: float) -> None:
    pixels = image.width * image.height
    if pixels > limit:
        megapixels = math.ceil(pixels / 1e6)
        raise ImageError(
            f"{path} would unpack to more pixels than is safe: {image.width}x{image.height} are {pixels}, the limit is "
            f"{limit:.0f}; if you trust the file, pass --max-megapixels {megapixels} (max_megapixels={megapixels})"
        )


_TURNS: dict[int, tuple[bool, int]] = {
    # EXIF orientation -> mirror left-right first?, then quarter turns counter-clockwise.
    2: (True, 0),
    3: (False, 2),
    4: (True, 2),
    5: (True, 1),
    6: (False, 3),
    7: (True, 3),
    8: (False, 1),
}


def _upright(pixels: Pixels, orientation: int) -> Pixels:
    mirror, turns = _TURNS.get(orientation, (False, 0))
    return np.rot90(pixels[:, ::-1] if mirror else pixels, turns)


def _deep_picture(source: BinaryIO, image: Image.Image) -> Picture:
    source.seek(0)
    data, orientation, profile = source.read(), image.getexif().get(0x0112, 1), image.info.get("icc_profile")
    image.close()  # It holds the pixels without their low bytes.
    return Picture(_upright(decode_deep(data, image), orientation), profile)


def _shallow_picture(image: Image.Image) -> Picture:
    profile = image.info.get("icc_profile")
    ImageOps.exif_transpose(image, in_place=True)
    if image.mode == "CMYK":
        image, profile = _to_rgb(image, profile), None
    elif image.mode in ("P", "PA"):
        image = image.convert("RGBA" if image.has_transparency_data else "RGB")
    elif "transparency" in image.info and image.mode in ("1", "L", "RGB"):  # One colour is transparent.
        image = image.convert("RGBA" if image.mode == "RGB" else "LA")
    elif image.mode == "1":
        image = image.convert("L")
    elif image.mode in ("YCbCr", "LAB", "HSV", "RGBX"):
        image = image.convert("RGB")
    elif image.mode in ("La", "RGBa"):
        image = image.convert("LA" if image.mode == "La" else "RGBA")
    elif image.mode not in ("L", "LA", "RGB", "RGBA"):
        raise InputError(f"its pixel type ({image.mode}) is not 8 or 16-bit grey or colour")
    return Picture(_pixels_of(image), profile)


def _pixels_of(image: Image.Image) -> NDArray[np.uint8]:
    """Return the pixels of an image, strip by strip: all at once would take the picture two more times."""
    pixels = np.empty((image.height, image.width, len(image.getbands())), dtype=np.uint8)
    rows = max(1, _STRIP_PIXELS // image.width)
    for top in range(0, image.height, rows):
        strip = pixels[top : top + rows]
        strip[:] = np.asarray(image.crop((0, top, image.width, top + len(strip)))).reshape(strip.shape)
    return pixels


def _to_rgb(image: Image.Image, profile: bytes | None) -> Image.Image:
    """Convert CMYK with its own colour profile where it has a usable one."""
    if profile:
        try:
            source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            converted = ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"), outputMode="RGB")
            if converted is not None:
                return converted
        except (ImageCms.PyCMSError, OSError):
            pass
    return image.convert("RGB")


def check_suffix(path: Path) -> None:
    """Refuse a name whose ending tells no format that can be written."""
    if path.suffix.lower() not in _WRITERS:
        known = ", ".join(sorted(_WRITERS))
        raise InputError(f"{path} ends in no picture format that can be written; use one of {known}")


def encode_picture(picture: Picture, suffix: str) -> bytes:
    """Return the bytes of a file of the format that `suffix` (".png", ...) names, as deep as the format allows."""
    return b"".join(_encoded(picture, suffix))


def _encoded(picture: Picture, suffix: str) -> Iterable[bytes]:
    """Return such a file in parts; those of a PNG are made as they are asked for."""
    check_suffix(Path(f"x{suffix}"))
    suffix = suffix.lower()
    if suffix == ".png":
        return encode_png(picture.pixels, picture.icc_profile)
    if picture.pixels.dtype == np.uint16 and suffix in _DEEP_TIFF:
        return [encode_deep_tiff(picture.pixels, picture.icc_profile)]
    return [_encode_shallow(picture, suffix)]


def _encode_shallow(picture: Picture, suffix: str) -> bytes:
    name, options = _WRITERS[suffix]
    image = picture.to_pillow()
    if name in ("JPEG", "BMP") and image.mode in ("LA", "RGBA"):
        image = image.convert("L" if image.mode == "LA" else "RGB")
    if picture.icc_profile and name != "BMP":
        options = options | {"icc_profile": picture.icc_profile}
    buffer = io.BytesIO()
    try:
        image.save(buffer, name, **options)
    except (OSError, ValueError) as error:  # Such as more pixels on a side than the format allows.
        size = f"{picture.width}x{picture.height}"
        raise OutputError(f"a picture of {size} pixels cannot be written as {suffix}: {error}; try .png") from error
    return buffer.getvalue()


def write_picture(path: str | Path, picture: Picture, *, overwrite: bool = False) -> None:
    """Write a picture whole or not at all, in the format its name ends in.

    PNG and TIFF keep 16 bits; WebP is written lossless; JPEG and BMP drop alpha. PNG is written on all cores and takes
    next to no memory, however large the picture.

    Raises
    ------
    InputError
        If the name ends in no known format.
    OutputError
        If the file exists and `overwrite` is false, or cannot be written.
    """
    path = Path(path)
    check_suffix(path)
    write_parts(path, _encoded(picture, path.suffix), overwrite=overwrite)
