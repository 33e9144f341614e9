"""What is kept of a solve as it goes on: every record, and as many arrangements as fit."""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

# Records beyond this many are thinned too: a chart shows no more of them.
MOST_RECORDS = 20_000


@dataclass(frozen=True)
class Entry:
    """One generation or part of the refinement: its record, and its arrangement where that is new and still kept."""

    number: int
    record: dict[str, Any]
    grid: bytes | None
    """Piece numbers, row by row, 16 bits each, the low byte first."""

    def to_event(self, *, with_grid: bool = True) -> str:
        """Return the entry as a server-sent event; its number is the event's id."""
        grid = base64.b64encode(self.grid).decode() if with_grid and self.grid is not None else None
        data = json.dumps(self.record | {"grid": grid}, separators=(",", ":"))
        return f"id: {self.number}\nevent: generation\ndata: {data}\n\n"


class Story:
    """The entries of one job, oldest first. When the arrangements take too much room, every other one is dropped."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._entries: list[Entry] = []
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def last(self) -> Entry | None:
        """The newest entry."""
        return self._entries[-1] if self._entries else None

    def add(self, record: dict[str, Any], grid: bytes | None) -> None:
        """Keep what came last; numbers only grow."""
        self._entries.append(Entry(int(record["number"]), record, grid))
        self._bytes += len(grid or b"")
        while self._bytes > self._most_bytes and self._thin():
            pass
        if len(self._entries) > MOST_RECORDS:
            self._entries = [entry for entry in self._entries[:-1] if entry.grid or entry.number % 2 == 0] + [
                self._entries[-1]
            ]

    def after(self, number: int) -> list[Entry]:
        """Return the entries that came after a number."""
        # Those are few and at the end, where somebody follows.
        begin = len(self._entries)
        while begin > 0 and self._entries[begin - 1].number > number:
            begin -= 1
        return self._entries[begin:]

    def _thin(self) -> bool:
        """Drop every other arrangement but the first and the last; whether that made room."""
        held = [index for index, entry in enumerate(self._entries) if entry.grid is not None]
        dropped = held[1:-1:2]
        for index in dropped:
            entry = self._entries[index]
            self._bytes -= len(entry.grid or b"")
            self._entries[index] = Entry(entry.number, entry.record, None)
        return bool(dropped)


def events(entries: list[Entry], most_grids: int) -> Iterator[str]:
    """Return entries as events, with the arrangements of the newest only: a client that is late misses the others."""
    held = [entry.number for entry in entries if entry.grid is not None]
    first = held[-most_grids] if len(held) > most_grids else -1
    for entry in entries:
        yield entry.to_event(with_grid=entry.number >= first)
