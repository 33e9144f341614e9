"""What the page allows: so much at once, so large, for so long."""

from dataclasses import asdict, dataclass, fields
from typing import Any

from ..errors import InputError

# An arrangement is streamed as 16-bit piece numbers.
MOST_PIECES = 2**16


@dataclass(frozen=True)
class Limits:
    """Limits that make the page safe to leave running; every one can be changed.

    Parameters
    ----------
    upload_bytes
        Bytes of one upload, all its files together.
    pixels
        Pixels of a picture, told from its header before anything is unpacked.
    pieces
        Pieces of a puzzle, at most 65,536.
    running
        Jobs that solve at the same time; the rest wait in a queue.
    waiting
        Jobs in the queue; more are refused.
    kept
        Finished jobs that are kept; beyond that the oldest is forgotten.
    age_seconds
        How long a finished job is kept.
    solve_seconds
        How long one job may solve; then the best so far is its result.
    story_bytes
        Arrangements kept of a job, for scrubbing back; beyond that every other one is dropped.
    followers
        Connections at once, of all clients together.
    """

    upload_bytes: int = 64 * 2**20
    pixels: int = 50_000_000
    pieces: int = 25_000
    running: int = 2
    waiting: int = 20
    kept: int = 20
    age_seconds: float = 24 * 3600.0
    solve_seconds: float = 3600.0
    story_bytes: int = 8 * 2**20
    followers: int = 500

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0 and not (field.name == "waiting" and value == 0):
                raise InputError(f"the limit {field.name} must be more than 0, not {value}")
        if self.pieces > MOST_PIECES:
            raise InputError(f"the limit pieces must be at most {MOST_PIECES}, not {self.pieces}")

    def to_dict(self) -> dict[str, Any]:
        """Return the limits by name, ready for JSON."""
        return asdict(self)
