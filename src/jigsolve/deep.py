"""16-bit channels through OpenCV, and what it leaves out of such files or stumbles over in them."""

import struct
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from .errors import InputError
from .png import SIGNATURE, png_chunk

PNG_BIT_DEPTH, PNG_COLOUR_TYPE = 24, 25  # Where they are: the header chunk always comes first.
PNG_GREY_AND_ALPHA = 4
HEADER_LENGTH = 33  # What is needed of a file to tell.
BITS_PER_SAMPLE, PHOTOMETRIC, EXTRA_SAMPLES, ICC_PROFILE = 258, 262, 338, 34675  # TIFF tags
WHITE_IS_ZERO, UNASSOCIATED_ALPHA = 0, 2  # Values of two of them
SHORT, UNDEFINED = 3, 7  # TIFF types


def has_deep_channels(header: bytes, image: Image.Image) -> bool:
    """Whether a file that begins with `header`, opened by Pillow as `image`, has 16 bits a channel."""
    if image.format == "PNG":
        return header[PNG_BIT_DEPTH] == 16
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
    pixels: NDArray[np.uint16] = np.atleast_3d(decoded)
    if is_png and data[PNG_COLOUR_TYPE] == PNG_GREY_AND_ALPHA:  # OpenCV makes it colour.
        return pixels[:, :, [0, 3]]
    if not is_png and image.tag_v2.get(PHOTOMETRIC) == WHITE_IS_ZERO:  # type: ignore[attr-defined]
        np.invert(pixels, out=pixels)
    if pixels.shape[2] > 1:
        for row in pixels:  # In place: OpenCV begins with blue.
            row[:, :3] = row[:, 2::-1]
    return pixels


def encode_deep_tiff(pixels: NDArray[np.generic], profile: bytes | None) -> bytes:
    """Return 16-bit pixels as the bytes of a TIFF file. Grey and alpha become colour and alpha."""
    import cv2

    order = {1: [0], 2: [0, 0, 0, 1], 3: [2, 1, 0], 4: [2, 1, 0, 3]}[pixels.shape[2]]
    done, array = cv2.imencode(".tif", np.ascontiguousarray(pixels[:, :, order]))
    if not done:
        raise InputError(f"a 16-bit picture of shape {pixels.shape} cannot be written as TIFF; try .png")
    return _tiff_with(array.tobytes(), profile, alpha=len(order) == 4)


def _bare_png(data: bytes) -> bytes:
    """Return a PNG file with nothing but its pixels.

    OpenCV believes any length a damaged chunk claims to have, and warns about profiles on standard error.
    """
    kept = (chunk for chunk in _png_chunks(data) if chunk[0] in (b"IHDR", b"tRNS", b"IDAT"))
    return b"".join([SIGNATURE, *(png_chunk(*chunk) for chunk in kept), png_chunk(b"IEND", b"")])


def _png_chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(SIGNATURE)
    while at + 8 <= len(data):
        length, name = struct.unpack_from(">I4s", data, at)
        yield name, data[at + 8 : at + 8 + length]
        at += 12 + length


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
