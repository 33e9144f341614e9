"""Picture files made by hand, byte by byte: what they hold is known without trusting any library."""

import io
import struct
import zlib

import numpy as np
from PIL import Image

SHORT, LONG, UNDEFINED = 3, 4, 7
COLOUR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}


def noise(height=11, width=7, channels=3, dtype=np.uint8):
    """Pixels that use every bit and survive no lossy step."""
    rng = np.random.default_rng(5)
    return rng.integers(0, np.iinfo(dtype).max, (height, width, channels), dtype=dtype, endpoint=True)


def chunk(name, body):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def png(pixels, *chunks):
    """A PNG file of 8 or 16 bits; chunks go between the header and the pixels."""
    height, width, channels = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8 * pixels.itemsize, COLOUR_TYPES[channels], 0, 0, 0)
    rows = pixels.astype(pixels.dtype.newbyteorder(">"))
    lines = b"".join(b"\0" + row.tobytes() for row in rows)
    parts = [chunk(b"IHDR", header), *chunks, chunk(b"IDAT", zlib.compress(lines)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def png_header_only(width, height):
    """A PNG file that claims a size and has next to no pixels."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 100))


def tiff(pixels, tags=()):
    """An uncompressed little-endian TIFF file; tags are (number, type, values)."""
    height, width, channels = pixels.shape
    data = pixels.astype(pixels.dtype.newbyteorder("<")).tobytes()
    ours = [
        (256, LONG, [width]),
        (257, LONG, [height]),
        (258, SHORT, [8 * pixels.itemsize] * channels),
        (259, SHORT, [1]),
        (262, SHORT, [2 if channels >= 3 else 1]),
        (273, LONG, [8]),
        (277, SHORT, [channels]),
        (278, LONG, [height]),
        (279, LONG, [len(data)]),
    ]
    merged = {tag[0]: tag for tag in [*ours, *tags]}
    start = 8 + len(data)
    place = start + 2 + 12 * len(merged) + 4
    entries, tail = b"", b""
    for number, kind, values in sorted(merged.values()):
        body = (
            bytes(values)
            if kind == UNDEFINED
            else struct.pack(f"<{len(values)}{'H' if kind == SHORT else 'I'}", *values)
        )
        entries += struct.pack("<HHI", number, kind, len(values))
        if len(body) <= 4:
            entries += body.ljust(4, b"\0")
        else:
            entries += struct.pack("<I", place + len(tail))
            tail += body
    directory = struct.pack("<H", len(merged)) + entries + struct.pack("<I", 0)
    return b"II*\0" + struct.pack("<I", start) + data + directory + tail


def by_pillow(image, name, **options):
    """What Pillow writes for an image or for pixels."""
    if isinstance(image, np.ndarray):
        image = Image.fromarray(image.squeeze(axis=2) if image.shape[2] == 1 else image)
    buffer = io.BytesIO()
    image.save(buffer, name, **options)
    return buffer.getvalue()


def exif(orientation):
    tags = Image.Exif()
    tags[0x0112] = orientation
    return tags


# EXIF orientation -> what is stored, given what is to be seen, by the standard's words for row 0 and column 0.
STORED = {
    1: lambda seen: seen,  # top, left
    2: lambda seen: seen[:, ::-1],  # top, right
    3: lambda seen: seen[::-1, ::-1],  # bottom, right
    4: lambda seen: seen[::-1],  # bottom, left
    5: lambda seen: seen.swapaxes(0, 1),  # left, top
    6: lambda seen: seen.swapaxes(0, 1)[::-1],  # right, top
    7: lambda seen: seen.swapaxes(0, 1)[::-1, ::-1],  # right, bottom
    8: lambda seen: seen.swapaxes(0, 1)[:, ::-1],  # left, bottom
}
