from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from jigsolve import Puzzle
from jigsolve.compatibility import patterns as module
from jigsolve.compatibility import planes
from jigsolve.compatibility.phases import BEYOND_DOUBT, closed_links, keep_likely
from jigsolve.compatibility.seams import traced_seams
from jigsolve.compatibility.trace_costs import BLOCK, MASK
from tests import naive
from tests.puzzles import compressed_colours

BRIGHTNESS = planes.Undoing(np.empty((0, 0)), np.empty((0, 0)))
COLOUR = planes.Undoing(planes.undoing_of(28), np.ascontiguousarray(planes.undoing_of(28).T))
PHASES = np.array([(0, 0), (0, 4), (4, 0), (4, 4)])


def hazy(rows, columns, strength):
    """A picture of soft colours that fade upwards, as a JPEG decoder has it."""
    rng = np.random.default_rng(3)
    height, width = 28 * rows, 28 * columns
    small = rng.integers(60, 196, size=(height // 8, width // 8, 3), dtype=np.uint8)
    colours = np.array(Image.fromarray(small).resize((width, height), Image.Resampling.BILINEAR)) - 128.0
    down = (np.arange(height) / height)[:, np.newaxis, np.newaxis]
    pixels = 128 + colours * np.where(down < 0.7, strength * (0.3 + down), 1.0) + rng.normal(0, 3.0, (height, width, 1))
    file = BytesIO()
    Image.fromarray(np.clip(np.rint(pixels), 0, 255).astype(np.uint8)).save(file, "JPEG", quality=80)
    return np.array(Image.open(file))


def true_phases(puzzle, phases, size):
    """The number of each piece's phase."""
    row, column = np.divmod(np.arange(len(puzzle)), puzzle.columns)
    possible = phases.tolist()
    return np.array([possible.index([y, x]) for y, x in zip(row * size % BLOCK, column * size % BLOCK, strict=True)])


@pytest.fixture(scope="module")
def sky():
    """Nearly flat pieces over some with colours, from a JPEG picture."""
    return Puzzle.from_array(compressed_colours(16, 20, flat=10), 28)


@pytest.fixture(scope="module")
def rough():
    """Pieces of few levels, at random, so that all patterns are among them."""
    rng = np.random.default_rng(5)
    levels = np.cumsum(rng.random((24, 28, 28)) < 0.08, axis=2) + np.cumsum(rng.random((24, 28, 28)) < 0.04, axis=1)
    return np.repeat((100 + levels // 4)[..., np.newaxis], 3, axis=3).astype(np.uint8)


@pytest.mark.parametrize("undoing", [BRIGHTNESS, COLOUR], ids=["brightness", "colour"])
def test_patterns_are_counted_as_by_the_obvious_way(rough, undoing):
    plausible = np.uint64(1) << (np.arange(len(rough)) % len(PHASES)).astype(np.uint64)
    lessons = np.arange(0, len(rough), 2)
    channels = 2 if undoing.halves else 1
    seen = np.zeros(
        (channels, 2, module.PARTS, module.PARTS, module.LINES, module.LINES, module.RANGES), dtype=np.int64
    )
    module.count_patterns(rough, undoing, PHASES, plausible, 0, lessons, seen)
    expected = np.zeros_like(seen)
    for piece in lessons:
        levels = np.rint(planes.planes_of(rough[piece], undoing)).astype(int)
        for index, phase in enumerate(PHASES):
            for channel in range(channels):
                for pattern in naive.patterns(levels[channel], phase):
                    expected[(channel, int(piece % len(PHASES) == index), *pattern)] += 1
    assert (seen == expected).all()
    assert (seen > 0).sum() > (50 if undoing is BRIGHTNESS else 8)


def test_what_patterns_say_is_added_up(rough):
    rng = np.random.default_rng(6)
    shape = (module.KINDS, 1, module.PARTS, module.PARTS, module.LINES, module.LINES, module.RANGES)
    says = (rng.integers(-512, 512, size=shape) / 256).astype(np.float32)
    plausible = np.full(len(rough), 0b1101, dtype=np.uint64)
    plausible[3] = 0b0100
    kinds = module.kinds_of(rough)
    kinds[5] = module.NO_KIND
    unlikely = np.zeros((len(rough), len(PHASES)), dtype=np.float32)
    module.find_unlikely(rough, BRIGHTNESS, PHASES, plausible, kinds, says, unlikely)
    assert (unlikely[[3, 5]] == 0).all()
    for piece in (0, 1, 10):
        levels = planes.planes_of(rough[piece], BRIGHTNESS)[0].astype(int)
        totals = np.array([-sum(says[(0, 0, *pattern)] for pattern in naive.patterns(levels, p)) for p in PHASES])
        assert unlikely[piece] == pytest.approx(np.maximum(totals - totals[[0, 2, 3]].min(), 0), abs=1e-3)


def phases_of(puzzle):
    """Which pieces have a single phase of colour left, and which have the true one."""
    plane = traced_seams(puzzle).traces.colour
    masks = plane.keys[2::4, MASK]
    true = np.uint64(1) << true_phases(puzzle, plane.phases, 14).astype(np.uint64)
    return np.bitwise_count(masks) == 1, masks & true != 0


def test_phases_are_told_by_patterns(monkeypatch):
    """More pieces than by broken blocks alone have a single phase left, and it is the true one."""
    puzzle = Puzzle.from_array(hazy(20, 24, strength=0.05), 28)
    single_without, _ = phases_of(puzzle)  # It has too few lessons.
    monkeypatch.setattr(module, "FEWEST_LESSONS", (100, 4000, 4000))
    single, true = phases_of(puzzle)
    assert true.all()
    assert single[single_without].all()
    assert single.sum() > single_without.sum() + 10


def test_lessons_with_texture_do_not_mislead_flat_pieces(monkeypatch):
    monkeypatch.setattr(module, "FEWEST_LESSONS", (100, 4000, 4000))
    _, true = phases_of(Puzzle.from_array(hazy(20, 24, strength=0.02), 28))
    assert true.mean() > 0.99  # It was 0.89 when parts of one colour counted as lessons had it.


def test_a_piece_of_one_colour_has_no_phase():
    rng = np.random.default_rng(7)
    shape = (module.KINDS, 1, 2, module.PARTS, module.PARTS, module.LINES, module.LINES, module.RANGES)
    says = module._learned(rng.integers(0, 50, size=shape), np.ones(module.KINDS))
    pieces = np.full((1, 28, 28, 3), 90, dtype=np.uint8)
    unlikely = np.ones((1, len(PHASES)), dtype=np.float32)
    plausible = np.full(1, 0b1111, dtype=np.uint64)
    module.find_unlikely(pieces, BRIGHTNESS, PHASES, plausible, np.zeros(1, np.int64), says, unlikely)
    assert (unlikely == 0).all()
    assert says.min() < -1 < 1 < says.max()


def test_nothing_is_told_where_there_is_little_to_learn_from(rough):
    plausible = np.full(len(rough), 0b1111, dtype=np.uint64)
    plausible[:10] = 1
    assert (module.unlikely_patterns(rough, BRIGHTNESS, PHASES, plausible) == 0).all()
    assert (module.unlikely_patterns(rough, BRIGHTNESS, PHASES[:1], plausible) == 0).all()


def test_pieces_are_of_kinds_by_what_is_clipped():
    pieces = np.full((6, 4, 4, 3), 128, dtype=np.uint8)
    pieces[1, 2, 1, 0] = 255
    pieces[2, 0, 0, 2] = 0
    pieces[3, 1, 1, 1] = 255
    pieces[4, 1, 1, [0, 2]] = 255
    assert module.kinds_of(pieces).tolist() == [0, 1, 2, module.NO_KIND, module.NO_KIND, 0]
    grey = pieces[:, :, :, :1].copy()
    assert module.kinds_of(grey).tolist() == [0, module.NO_KIND, 0, 0, module.NO_KIND, 0]


def test_clipped_pieces_are_seen_by_green(rough):
    """With red clipped, changes of brightness are those of green, and the colours follow from blue beyond green."""
    piece = rough[0].copy()
    piece[:, :, 2] += 21
    piece[:, :, 0] = 255
    assert (module.levels_of(piece, 1, BRIGHTNESS)[0] == piece[:, :, 1]).all()
    assert (module.levels_of(piece, 1, COLOUR) == 10).all()


def test_lessons_are_taken_from_everywhere():
    many = np.arange(3 * module.MOST_LESSONS)
    some = module._some_of(many)
    assert len(np.unique(some)) == module.MOST_LESSONS
    assert abs((some % 2).mean() - 0.5) < 0.05
    assert np.histogram(some, bins=8)[0].min() > 0.8 * len(some) / 8
    assert sorted(module._some_of(many[:50])) == many[:50].tolist()


def test_only_likely_phases_stay():
    broken = np.array([[0, 1, BEYOND_DOUBT + 0.1, 5], [3, 0, 3, 3], [0, 0, 0, 0]], dtype=np.float32)
    plausible = np.array([0b1111, 0b1101, 0b0110], dtype=np.uint64)
    keep_likely(broken, plausible)
    assert plausible.tolist() == [0b0011, 0b1101, 0b0110]


def test_links_are_closed_if_four_are_in_a_square(sky):
    grid = np.arange(len(sky), dtype=np.int32).reshape(sky.rows, sky.columns)
    partners = np.full((len(sky), 4), -1, dtype=np.int32)
    partners[grid[:, :-1], 0], partners[grid[:, 1:], 2] = grid[:, 1:], grid[:, :-1]
    partners[grid[:-1], 1], partners[grid[1:], 3] = grid[1:], grid[:-1]
    plane = traced_seams(sky).traces.brightness
    links = closed_links(plane, partners)
    linked = np.flatnonzero((links >= 0).any(axis=1))
    assert len(linked) > 50
    assert ((links == partners) | (links == -1)).all()
    for piece in linked:
        for direction in np.flatnonzero(links[piece] >= 0):
            turns = (direction + 1) % 4, (direction + 3) % 4
            other = links[piece, direction]
            assert links[other, direction ^ 2] == piece
            assert any(
                links[piece, turn] >= 0 and links[links[piece, turn], direction] == links[other, turn] for turn in turns
            )
    # A square that lacks a side is none.
    corner = linked[0]
    broken = partners.copy()
    for direction in range(4):
        other = broken[corner, direction]
        if other >= 0:
            broken[corner, direction] = broken[other, direction ^ 2] = -1
    assert (closed_links(plane, broken)[corner] == -1).all()
