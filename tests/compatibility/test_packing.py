import numpy as np
import pytest

from jigsolve import Puzzle
from jigsolve.compatibility.packing import pack
from jigsolve.compatibility.seams import midline_seams
from jigsolve.compatibility.segments import JOINED, connect
from tests.compatibility.test_context import noisy_blots
from tests.compatibility.test_segments import found_in


def laid_out(shapes):
    """Segments of these places each, as `pack` takes them: (of, rows, columns, sizes)."""
    of = np.concatenate([np.full(len(shape), number) for number, shape in enumerate(shapes)])
    rows, columns = np.array([place for shape in shapes for place in sorted(shape)]).T
    sizes = np.array([len(shape) for shape in shapes])
    return of.astype(np.int32), rows.astype(np.int32), columns.astype(np.int32), sizes


def rectangle(height, width, top=0, left=0):
    return {(top + row, left + column) for row in range(height) for column in range(width)}


def corners_of(segments, packed):
    """By how much each segment was moved, all of its pieces alike: {segment: (down, right)}."""
    of, rows, columns, _ = segments
    corners = {}
    for piece, row, column in zip(*packed, strict=True):
        moved = (row - rows[piece], column - columns[piece])
        assert corners.setdefault(int(of[piece]), moved) == moved
    return corners


def test_pictures_lie_side_by_side():
    spoilt = (rectangle(10, 8, top=2, left=1) - rectangle(3, 4, top=4, left=2)) | {(0, 3), (1, 3), (6, 0)}
    segments = laid_out([rectangle(10, 8), spoilt, rectangle(10, 8), rectangle(10, 8), rectangle(2, 2)])
    packed = pack(*segments, (20, 16))
    pieces, rows, columns = packed
    assert len(set(zip(rows, columns, strict=True))) == len(rows) == len(set(pieces))
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (0, 19, 0, 15)
    assert corners_of(segments, packed) == {0: (0, 0), 1: (-2, 7), 2: (10, 0), 3: (10, 8)}
    # What sticks out has no place: above the frame, or where another picture lies.
    assert np.bincount(segments[0][pieces], minlength=5).tolist() == [80, 68, 80, 80, 0]


def test_what_is_missing_of_a_picture_has_room():
    whole = rectangle(10, 8)
    hanging, standing = whole - rectangle(2, 8, top=8) - {(7, 0), (7, 1)}, rectangle(8, 8) - {(0, 0), (0, 1)}
    segments = laid_out([whole, whole, whole, whole, hanging, standing])
    corners = corners_of(segments, pack(*segments, (20, 24)))
    assert corners == {0: (0, 0), 1: (0, 8), 2: (0, 16), 3: (10, 0), 4: (10, 8), 5: (12, 16)}


def test_a_picture_without_room_is_left_out():
    segments = laid_out([rectangle(10, 8)] * 5)
    pieces, _, _ = pack(*segments, (20, 16))
    assert np.bincount(segments[0][pieces], minlength=5).tolist() == [80, 80, 80, 80, 0]


@pytest.mark.parametrize(
    "shapes",
    [
        [rectangle(20, 16)],
        [rectangle(9, 16), rectangle(9, 16)],  # Two parts of one picture, with a sky between them.
        [rectangle(10, 8), rectangle(10, 8), rectangle(10, 8), rectangle(2, 2)],
        [rectangle(10, 8) - rectangle(6, 6)] * 4,
    ],
    ids=["one", "halves", "little is known", "full of holes"],
)
def test_nothing_is_packed_where_there_are_not_several_pictures(shapes):
    assert pack(*laid_out(shapes), (20, 16)) is None


def test_pictures_of_one_puzzle_are_named_as_one_segment():
    pictures = [noisy_blots(144, noise=4, seed=seed) for seed in range(4)]
    mixed = np.concatenate([np.concatenate(pictures[:2], axis=1), np.concatenate(pictures[2:], axis=1)])
    after = found_in(midline_seams(Puzzle.from_array(mixed, 12)), (24, 24), 2)[1]
    of, rows, columns = (np.empty(576, dtype=np.int32) for _ in range(3))
    count = connect(after.up_to(JOINED), of, rows, columns)
    largest = np.bincount(of, minlength=count).argmax()
    assert (of == largest).sum() > 0.95 * 576
    assert (np.ptp(rows[of == largest]) + 1, np.ptp(columns[of == largest]) + 1) == (24, 24)
