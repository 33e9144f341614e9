"""Packing: segments that are pictures of their own are laid side by side, so that all of them have room.

A puzzle of several pictures falls into large segments that nothing connects. Grown wherever the search meets them, they
take each other's room, and are cut to pieces. Which picture belongs beside which nobody can tell; but that all are to
lie in one frame leaves few ways, and one of them will do.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# A picture has at least one piece of so many, fills so much of its box, and takes at most so much of the frame's rows
# and columns: what takes more is a part of the only one.
PIECES_A_PICTURE = 64
FILLED = 0.75
MOST_OF_FRAME = 0.7
# What all pictures take of the frame together, at least. Where it is less, they may be parts of one picture, with what
# is hard to tell between them.
MOST_KNOWN = 0.8
# A line belongs to a picture's box if it has so much of what lines usually have, and is an edge of the picture if it is
# as complete as that: a box ends elsewhere too, where a sky begins.
IN_BOX = 0.5
COMPLETE = 0.9


class Box(NamedTuple):
    """The rows and columns of a segment that are well filled, of those from 0 that its pieces lie in."""

    segment: int
    top: int
    left: int
    height: int
    width: int
    hangs: bool
    """Whether it is its lower edge that is not complete, while the upper one is."""


def pack(
    of: NDArray[np.int32],
    rows: NDArray[np.int32],
    columns: NDArray[np.int32],
    sizes: NDArray[np.int64],
    frame: tuple[int, int],
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]] | None:
    """Return where the pieces of all pictures lie in the frame, (pieces, rows, columns); None if there are not several.

    `of`, `rows` and `columns` tell the segment of each piece, and its place there. Of two pieces in one place that
    which lies in its picture's box has it, and the other is left out.
    """
    members = {int(n): np.flatnonzero(of == n) for n in np.flatnonzero(sizes * PIECES_A_PICTURE >= len(of))}
    boxes = [_box(segment, rows[own], columns[own]) for segment, own in members.items()]
    pictures = [box for box in boxes if _is_picture(box, len(members[box.segment]), frame)]
    if sum(box.height * box.width for box in pictures) < MOST_KNOWN * frame[0] * frame[1]:
        return None
    places = _on_shelves(pictures, frame)
    taken = np.full(frame, -1, dtype=np.int64)
    for inside in (True, False):
        for box, (top, left) in places:
            own = members[box.segment]
            down, right = rows[own] - box.top, columns[own] - box.left
            boxed = (down >= 0) & (right >= 0) & (down < box.height) & (right < box.width)
            down, right = down + top, right + left
            fits = (down >= 0) & (right >= 0) & (down < frame[0]) & (right < frame[1]) & (boxed == inside)
            own, down, right = own[fits], down[fits], right[fits]
            free = taken[down, right] < 0
            taken[down[free], right[free]] = own[free]
    rows_there, columns_there = np.nonzero(taken >= 0)
    return taken[rows_there, columns_there], rows_there.astype(np.int32), columns_there.astype(np.int32)


def _box(segment: int, rows: NDArray[np.int32], columns: NDArray[np.int32]) -> Box:
    by_row, by_column = np.bincount(rows), np.bincount(columns)
    top, bottom = _filled(by_row)
    left, right = _filled(by_column)
    width = right - left + 1
    hangs = bool(by_row[top] >= COMPLETE * width > by_row[bottom])
    return Box(segment, top, left, bottom - top + 1, width, hangs)


def _filled(counts: NDArray[np.intp]) -> tuple[int, int]:
    """Return the first and the last line that is well filled."""
    lines = np.flatnonzero(counts >= IN_BOX * np.median(counts[counts > 0]))
    return int(lines[0]), int(lines[-1])


def _is_picture(box: Box, pieces: int, frame: tuple[int, int]) -> bool:
    within = box.height <= MOST_OF_FRAME * frame[0] and box.width <= MOST_OF_FRAME * frame[1]
    return within and pieces >= FILLED * box.height * box.width


def _on_shelves(boxes: list[Box], frame: tuple[int, int]) -> list[tuple[Box, tuple[int, int]]]:
    """Lay boxes on shelves, the highest first, each on the first that has room for it; return them with their corners.

    A box whose upper edge is complete, and its lower one not, hangs; all others stand: what is missing of a picture,
    mostly a sky above, finds its room there.
    """
    shelves: list[list[int]] = []  # Of each where it begins, its height, and how much of its length is taken.
    places = []
    used = 0
    for box in sorted(boxes, key=lambda box: (-box.height, -box.width, box.segment)):
        shelf = next((one for one in shelves if one[1] >= box.height and one[2] + box.width <= frame[1]), None)
        if shelf is None:
            if used + box.height > frame[0]:
                continue
            shelf = [used, box.height, 0]
            shelves.append(shelf)
            used += box.height
        top = shelf[0] if box.hangs else shelf[0] + shelf[1] - box.height
        places.append((box, (top, shelf[2])))
        shelf[2] += box.width
    return places
