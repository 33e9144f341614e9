"""What is kept of a solve as it goes on: every record, and as many arrangements as fit."""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

# Records beyond this many are thinned too: a chart shows no more of them.
MOST_RECORDS = 20_000
# The newest arrangements are all kept, for clients that are a little late.
NEWEST = 12


@dataclass
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
    """The entries of one job, oldest first.

    When the arrangements take too much room, every other one is dropped, so that those left are spread evenly over the
    whole story; only the newest are all there, for those who follow.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._entries: list[Entry] = []
        self._held: list[
            tuple[int, Entry]
        ] = []  # Entries with an arrangement, each with its place among all that came.
        self._came = 0
        self._stride = 1
        self._bytes = 0

    @property
    def last(self) -> Entry | None:
        """The newest entry."""
        return self._entries[-1] if self._entries else None

    def add(self, record: dict[str, Any], grid: bytes | None) -> None:
        """Keep what came last; numbers only grow."""
        entry = Entry(int(record["number"]), record, grid)
        self._entries.append(entry)
        if grid is not None:
            self._held.append((self._came, entry))
            self._came += 1
            self._bytes += len(grid)
            self._make_room()
        if len(self._entries) > MOST_RECORDS:
            newest = self._entries.pop()
            self._entries = [one for one in self._entries if one.grid is not None or one.number % 2 == 0] + [newest]

    def after(self, number: int) -> list[Entry]:
        """Return the entries that came after a number."""
        # Those are few and at the end, where somebody follows.
        begin = len(self._entries)
        while begin > 0 and self._entries[begin - 1].number > number:
            begin -= 1
        return self._entries[begin:]

    def _make_room(self) -> None:
        """Drop the arrangements between those that are to stay, and let fewer stay while they are too many."""
        self._drop(self._held[-NEWEST - 1 : -NEWEST])  # The one that has just ceased to be among the newest.
        while self._bytes > self._most_bytes and len(self._held) > NEWEST + 1:
            self._stride *= 2
            self._drop(self._held[:-NEWEST])

    def _drop(self, candidates: list[tuple[int, Entry]]) -> None:
        dropped = [one for one in candidates if one[0] % self._stride]
        for _, entry in dropped:
            self._bytes -= len(entry.grid or b"")
            entry.grid = None
        if dropped:
            self._held = [one for one in self._held if one[1].grid is not None]


def events(entries: list[Entry], most_grids: int) -> Iterator[str]:
    """Return entries as events, with the arrangements of the newest only: a client that is late misses the others."""
    held = [entry.number for entry in entries if entry.grid is not None]
    first = held[-most_grids] if len(held) > most_grids else -1
    for entry in entries:
        yield entry.to_event(with_grid=entry.number >= first)
