"""16-bit channels: PNG and TIFF through OpenCV, and what it leaves out of such files or stumbles over in them."""

import struct
import zlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from .errors import InputError

PNG_SIGNATURE_LENGTH, PNG_HEADER_LENGTH = 8, 33
PNG_BIT_DEPTH, PNG_COLOUR_TYPE = 24, 25  # Where they are: the header chunk always comes first.
PNG_GREY_AND_ALPHA = 4
BITS_PER_SAMPLE, PHOTOMETRIC, EXTRA_SAMPLES, ICC_PROFILE = 258, 262, 338, 34675  # TIFF tags
WHITE_IS_ZERO, UNASSOCIATED_ALPHA = 0, 2  # Values of two of them
SHORT, UNDEFINED = 3, 7  # TIFF types


def has_deep_channels(data: bytes, image: Image.Image) -> bool:
    """Whether a file, opened by Pillow as `image`, has 16 bits a channel."""
    if image.format == "PNG":
        return data[PNG_BIT_DEPTH] == 16
    if image.format == "TIFF":
        bits = image.tag_v2.get(BITS_PER_SAMPLE, (1,))  # type: ignore[attr-defined]
        return bool(max(bits if isinstance(bits, tuple) else (bits,)) == 16)
    return False


def decode_deep(data: bytes, image: Image.Image) -> NDArray[np.uint16]:
    """Return the pixels of such a file, of shape (height, width, channels) and not yet turned upright."""
    import cv2  # Only deep pictures need it.

    is_png = image.format == "PNG"
    decoded = cv2.imdecode(np.frombuffer(_bare_png(data) if is_png else data, np.uint8), cv2.IMREAD_UNCHANGED)
    if decoded is None or decoded.dtype != np.uint16:
        raise InputError("its 16-bit channels cannot be decoded; save it with 8 bits a channel or as PNG")
    pixels = np.atleast_3d(decoded)
    order = {1: [0], 3: [2, 1, 0], 4: [2, 1, 0, 3]}[pixels.shape[2]]
    if is_png and data[PNG_COLOUR_TYPE] == PNG_GREY_AND_ALPHA:  # OpenCV makes it colour.
        order = [0, 3]
    if not is_png and image.tag_v2.get(PHOTOMETRIC) == WHITE_IS_ZERO:  # type: ignore[attr-defined]
        pixels = np.invert(pixels)
    return pixels[:, :, order].astype(np.uint16)


def encode_deep(pixels: NDArray[np.generic], suffix: str, profile: bytes | None) -> bytes:
    """Return 16-bit pixels as the bytes of a PNG or TIFF file. Grey and alpha become colour and alpha."""
    import cv2

    order = {1: [0], 2: [0, 0, 0, 1], 3: [2, 1, 0], 4: [2, 1, 0, 3]}[pixels.shape[2]]
    done, array = cv2.imencode(suffix, np.ascontiguousarray(pixels[:, :, order]))
    if not done:
        raise InputError(f"a 16-bit picture of shape {pixels.shape} cannot be written as {suffix}")
    if suffix == ".png":
        return _png_with(array.tobytes(), profile)
    return _tiff_with(array.tobytes(), profile, alpha=len(order) == 4)


def _bare_png(data: bytes) -> bytes:
    """Return a PNG file with nothing but its pixels.

    OpenCV believes any length a damaged chunk claims to have, and warns about profiles on standard error.
    """
    kept = (chunk for chunk in _png_chunks(data) if chunk[0] in (b"IHDR", b"tRNS", b"IDAT"))
    return data[:PNG_SIGNATURE_LENGTH] + b"".join(_png_chunk(*chunk) for chunk in kept) + _png_chunk(b"IEND", b"")


def _png_chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = PNG_SIGNATURE_LENGTH
    while at + 8 <= len(data):
        length, name = struct.unpack_from(">I4s", data, at)
        yield name, data[at + 8 : at + 8 + length]
        at += 12 + length


def _png_chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def _png_with(data: bytes, profile: bytes | None) -> bytes:
    """Return a PNG file with the colour profile in it, right after the header."""
    if not profile:
        return data
    chunk = _png_chunk(b"iCCP", b"ICC profile\0\0" + zlib.compress(profile))
    return data[:PNG_HEADER_LENGTH] + chunk + data[PNG_HEADER_LENGTH:]


def _tiff_with(data: bytes, profile: bytes | None, *, alpha: bool) -> bytes:
    """Return a TIFF file with the colour profile and the meaning of the fourth channel in it.

    OpenCV's file has one directory and little-endian numbers. The longer directory goes to the end, and the header,
    whose last four bytes say where it is, points there.
    """
    (start,) = struct.unpack_from("<I", data, 4)
    (count,) = struct.unpack_from("<H", data, start)
    entries = [data[at : at + 12] for at in range(start + 2, start + 2 + 12 * count, 12)]
    data += b"\0" * (len(data) % 2)  # Everything starts at an even place.
    if alpha:
        entries.append(struct.pack("<HHII", EXTRA_SAMPLES, SHORT, 1, UNASSOCIATED_ALPHA))
    if profile:
        entries.append(struct.pack("<HHII", ICC_PROFILE, UNDEFINED, len(profile), len(data)))
        data += profile + b"\0" * (len(profile) % 2)
    entries.sort(key=lambda entry: struct.unpack_from("<H", entry))
    directory = struct.pack("<H", len(entries)) + b"".join(entries) + struct.pack("<I", 0)
    return data[:4] + struct.pack("<I", len(data)) + data[8:] + directory
