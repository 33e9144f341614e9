"""Reading and writing pictures: 8 and 16 bits, grey or colour, with or without alpha.

Pillow reads every format, tells truncated and hostile files apart, and knows orientation and colour profiles.
It keeps only 8 bits of a 16-bit colour channel, so those pictures, and only those, are decoded by OpenCV.
"""

import io
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageCms, ImageOps, UnidentifiedImageError

from .deep import decode_deep, encode_deep, has_deep_channels
from .errors import ImageError, InputError, OutputError
from .files import write_whole

READABLE_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp", ".gif"})
_WRITERS: dict[str, tuple[str, dict[str, object]]] = {
    ".png": ("PNG", {"compress_level": 4}),
    ".tif": ("TIFF", {"compression": "tiff_lzw"}),
    ".tiff": ("TIFF", {"compression": "tiff_lzw"}),
    ".webp": ("WEBP", {"lossless": True, "exact": True}),
    ".bmp": ("BMP", {}),
    ".jpg": ("JPEG", {"quality": 95, "subsampling": 0}),
    ".jpeg": ("JPEG", {"quality": 95, "subsampling": 0}),
}
MOST_PIXELS = 2 * (Image.MAX_IMAGE_PIXELS or 0)
"""Pillow's guard against files that unpack to more than any photograph has."""
_DEEP_SUFFIXES = frozenset({".png", ".tif", ".tiff"})


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


def read_picture(path: str | Path) -> Picture:
    """Read a picture at its full depth, turned upright as its EXIF orientation says.

    Palettes become colours and CMYK becomes RGB; grey stays grey and alpha stays alpha.

    Raises
    ------
    ImageError
        If the file is missing, empty, truncated, not a picture, or too large to be unpacked safely.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise ImageError(f"there is no file {path}") from error
    except OSError as error:
        raise ImageError(f"cannot read {path}: {error.strerror or error}") from error
    if not data:
        raise ImageError(f"{path} is empty")
    return _decode(data, path)


def _decode(data: bytes, path: Path) -> Picture:
    try:
        with warnings.catch_warnings():
            # Pillow warns from half of its limit on; only the limit itself stops us.
            warnings.simplefilter("ignore")
            image = Image.open(io.BytesIO(data))
            image.load()
            return _deep_picture(data, image) if has_deep_channels(data, image) else _shallow_picture(image)
    except UnidentifiedImageError as error:
        raise ImageError(f"{path} is not a picture in a format that can be read") from error
    except Image.DecompressionBombError as error:
        raise ImageError(f"{path} would unpack to more pixels than is safe: {error}") from error
    except InputError as error:
        raise ImageError(f"{path} cannot be used: {error}") from error
    except MemoryError as error:
        raise ImageError(f"there is not enough memory to unpack {path}") from error
    except Exception as error:  # Decoders raise nearly everything for damaged files.
        raise ImageError(f"{path} is damaged or truncated: {error}") from error


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


def _upright(pixels: Pixels, image: Image.Image) -> Pixels:
    mirror, turns = _TURNS.get(image.getexif().get(0x0112, 1), (False, 0))
    return np.rot90(pixels[:, ::-1] if mirror else pixels, turns)


def _deep_picture(data: bytes, image: Image.Image) -> Picture:
    return Picture(_upright(decode_deep(data, image), image), image.info.get("icc_profile"))


def _shallow_picture(image: Image.Image) -> Picture:
    profile = image.info.get("icc_profile")
    image = ImageOps.exif_transpose(image)
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
    return Picture(as_pixels(np.asarray(image)), profile)


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
    check_suffix(Path(f"x{suffix}"))
    suffix = suffix.lower()
    if picture.pixels.dtype == np.uint16 and suffix in _DEEP_SUFFIXES:
        return encode_deep(picture.pixels, suffix, picture.icc_profile)
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

    PNG and TIFF keep 16 bits; WebP is written lossless; JPEG and BMP drop alpha.

    Raises
    ------
    InputError
        If the name ends in no known format.
    OutputError
        If the file exists and `overwrite` is false, or cannot be written.
    """
    path = Path(path)
    check_suffix(path)
    write_whole(path, encode_picture(picture, path.suffix), overwrite=overwrite)
