"""PNG files, written on all cores and without a second copy of the picture.

A PNG holds one stream of compressed bytes. Each strip of rows is compressed by itself, ended at a whole byte, and the
strips are joined: every reader takes them for one stream. The strips depend on the picture alone, so the file is the
same on any number of cores.
"""

import struct
import zlib
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ._jit import kernel
from .threads import usable_cores

SIGNATURE = b"\x89PNG\r\n\x1a\n"
# Channels -> what the header calls them: grey, grey and alpha, RGB, RGB and alpha.
COLOUR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}
# Pixels of a strip in bytes: enough to compress well, few enough to stay in the cache.
STRIP_BYTES = 2**20
# Strips that may wait for being written, a core.
STRIPS_AHEAD = 4
# Compression without a search for repeats: photographs have none, and the files are as small at a fifth of the time.
LEVEL, STRATEGY = 1, zlib.Z_RLE
STREAM_HEADER = b"\x78\x01"
PAETH = 4  # The filter of every row: on photographs, choosing among all for each row makes files no smaller.
ADLER_BASE = 65521


def png_chunk(name: bytes, body: bytes) -> bytes:
    """Return a chunk of a PNG file: its length, name, body and checksum."""
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(body, zlib.crc32(name)))


def encode_png(pixels: NDArray[np.generic], profile: bytes | None) -> Iterator[bytes]:
    """Yield a PNG file part by part, of pixels of shape (height, width, channels), 8 or 16 bits."""
    height, width, channels = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8 * pixels.itemsize, COLOUR_TYPES[channels], 0, 0, 0)
    yield SIGNATURE + png_chunk(b"IHDR", header)
    if profile:
        yield png_chunk(b"iCCP", b"ICC profile\0\0" + zlib.compress(profile))
    yield from _pixel_chunks(pixels)
    yield png_chunk(b"IEND", b"")


def _pixel_chunks(pixels: NDArray[np.generic]) -> Iterator[bytes]:
    height = len(pixels)
    rows = max(1, STRIP_BYTES // (pixels.nbytes // height))
    bounds = [*range(0, height, rows), height]
    checksum = 1
    yield png_chunk(b"IDAT", STREAM_HEADER)
    for chunk, one_checksum, length in _strips(pixels, bounds):
        yield chunk
        checksum = _joined_checksum(checksum, one_checksum, length)
    yield png_chunk(b"IDAT", struct.pack(">I", checksum))


def _strips(pixels: NDArray[np.generic], bounds: list[int]) -> Iterator[tuple[bytes, int, int]]:
    """Yield what `_strip` returns of every strip, in order, and never hold more than a few."""
    cores = min(usable_cores(), len(bounds) - 1)
    if cores == 1:  # Tiles are not worth a thread.
        yield from (_strip(pixels, *pair) for pair in pairwise(bounds))
        return
    waiting: deque[Future[tuple[bytes, int, int]]] = deque()
    with ThreadPoolExecutor(cores, thread_name_prefix="jigsolve-png") as pool:
        for pair in pairwise(bounds):
            if len(waiting) == cores * STRIPS_AHEAD:
                yield waiting.popleft().result()
            waiting.append(pool.submit(_strip, pixels, *pair))
        while waiting:
            yield waiting.popleft().result()


def _strip(pixels: NDArray[np.generic], top: int, bottom: int) -> tuple[bytes, int, int]:
    """Return rows of pixels as a chunk, and the checksum and the number of the bytes compressed in it."""
    filtered = _filtered(pixels, top, bottom)
    stream = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL, STRATEGY)
    is_last = bottom == len(pixels)
    body = stream.compress(filtered.data) + stream.flush(zlib.Z_FINISH if is_last else zlib.Z_SYNC_FLUSH)
    return png_chunk(b"IDAT", body), zlib.adler32(filtered.data), filtered.size


def _filtered(pixels: NDArray[np.generic], top: int, bottom: int) -> NDArray[np.uint8]:
    """Return rows as what is left when each byte is guessed from its neighbours to the left and above."""
    step = pixels.shape[2] * pixels.itemsize
    strip = pixels[max(top - 1, 0) : bottom]
    in_order = np.ascontiguousarray(strip, dtype=strip.dtype.newbyteorder(">"))  # The higher byte of 16 bits first.
    rows = in_order.view(np.uint8).reshape(len(strip), -1)
    # What lies above the first row and left of the first column counts as black.
    padded = np.zeros((bottom - top + 1, step + rows.shape[1]), dtype=np.uint8)
    padded[-len(rows) :, step:] = rows
    filtered = np.empty((bottom - top, 1 + rows.shape[1]), dtype=np.uint8)
    filtered[:, 0] = PAETH
    _paeth(padded, step, filtered)
    return filtered


@kernel
def _paeth(padded: NDArray[np.uint8], step: int, filtered: NDArray[np.uint8]) -> None:
    """Take from every byte that of left, above and the corner between which is nearest to left + above - corner."""
    for y in range(len(filtered)):
        # Slices that begin at 0, 16 bits and no branches let the compiler do many bytes at once: 15 times as fast.
        here, left = padded[y + 1, step:], padded[y + 1, :-step]
        above, corner = padded[y, step:], padded[y, :-step]
        rest = filtered[y, 1:]
        for x in range(len(here)):
            a, b, c = np.int16(left[x]), np.int16(above[x]), np.int16(corner[x])
            to_a, to_b = np.int16(abs(b - c)), np.int16(abs(a - c))
            to_c = np.int16(abs(a + b - c - c))
            guess = b if to_b <= to_c else c
            guess = a if (to_a <= to_b) & (to_a <= to_c) else guess
            rest[x] = here[x] - np.uint8(guess)


def _joined_checksum(first: int, second: int, length: int) -> int:
    """Return the Adler-32 of two runs of bytes one after the other, from that of each and the length of the second."""
    low = (first & 0xFFFF) + (second & 0xFFFF) - 1
    high = (first >> 16) + (second >> 16) + length * ((first & 0xFFFF) - 1)
    return high % ADLER_BASE << 16 | low % ADLER_BASE
