"""What a worker and the server say to each other: a header in JSON and, after it, bytes.

Both lengths come first, so that a message is either whole or not there: a worker that dies in the middle of one leaves
nothing that could be mistaken for another.
"""

import asyncio
import json
import struct
from typing import Any

LENGTHS = struct.Struct("<II")
# More than any arrangement has. A worker that claims more is out of its mind, and is not believed.
LONGEST = 2**22


class BrokenMessageError(Exception):
    """What came is no message."""


def pack(header: dict[str, Any], body: bytes = b"") -> bytes:
    """Return a message as bytes."""
    text = json.dumps(header).encode()
    return LENGTHS.pack(len(text), len(body)) + text + body


async def read(stream: asyncio.StreamReader) -> tuple[dict[str, Any], bytes] | None:
    """Return the next message, or None where there is none any more.

    Raises
    ------
    BrokenMessageError
        If what comes is no message.
    """
    try:
        text_length, body_length = LENGTHS.unpack(await stream.readexactly(LENGTHS.size))
        if max(text_length, body_length) > LONGEST:
            raise BrokenMessageError(f"a message of {text_length} and {body_length} bytes")
        header = json.loads(await stream.readexactly(text_length))
        if not isinstance(header, dict):
            raise BrokenMessageError("a header that is no object")
        return header, await stream.readexactly(body_length)
    except asyncio.IncompleteReadError:
        return None
    except ValueError as error:
        raise BrokenMessageError(str(error)) from error
