import numpy as np
import pytest

from jigsolve import Puzzle
from jigsolve.compatibility import candidates
from jigsolve.compatibility.bearings import (
    bearings_of,
    frame_phases,
    moved_mask,
    phases_around,
    suits,
)
from jigsolve.compatibility.seams import midline_seams, traced_seams
from jigsolve.threads import Threads
from tests.puzzles import compressed_colours, drawn_puzzle, random_features

ROWS, COLUMNS = 8, 10
GRID = np.arange(ROWS * COLUMNS, dtype=np.int32).reshape(ROWS, COLUMNS)
ROW, COLUMN = (part.astype(np.int32) for part in np.divmod(np.arange(ROWS * COLUMNS), COLUMNS))


@pytest.fixture(scope="module")
def features():
    return traced_seams(Puzzle.from_array(compressed_colours(ROWS, COLUMNS, flat=5), 28))


@pytest.fixture(scope="module")
def bearings(features):
    return bearings_of(features)


def true_bits(features):
    """The bit of the phase of each cell, in blocks of colour."""
    possible = features.traces.colour.phases.tolist()
    phases = np.stack([14 * ROW % 8, 14 * COLUMN % 8], axis=1).tolist()
    return np.uint64(1) << np.array([possible.index(phase) for phase in phases], dtype=np.uint64)


def test_without_blocks_nothing_is_known():
    for features in (random_features(np.random.default_rng(1), 6), midline_seams(drawn_puzzle(2, 3))):
        bearings = bearings_of(features)
        assert len(bearings.masks) == 0
        assert frame_phases(bearings, np.arange(6, dtype=np.int32).reshape(2, 3)).size == 0
        assert phases_around(bearings, np.uint64(1)).size == 0


def test_phases_repeat_after_four_pieces_and_lead_from_any_cell_to_any_other(features, bearings):
    bits = true_bits(features)
    assert bearings.moved.shape == (4, 4, 16)
    for one, two in np.random.default_rng(1).integers(0, ROWS * COLUMNS, size=(200, 2)):
        down, right = int(ROW[two] - ROW[one]), int(COLUMN[two] - COLUMN[one])
        assert moved_mask(bearings, bits[one], down, right) == bits[two]
        assert moved_mask(bearings, bits[one] | bits[0], 0, 0) == bits[one] | bits[0]
        assert moved_mask(bearings, bits[one], down + 4, right - 8) == bits[two]
        assert moved_mask(bearings, bits[one], down + 1, right) != bits[two]


def test_blocks_of_brightness_say_it_where_those_of_colour_do_not():
    features = traced_seams(Puzzle.from_array(compressed_colours(ROWS, COLUMNS, flat=0, subsampling="4:4:4"), 28))
    assert bearings_of(features).moved.shape == (2, 2, 4)


def test_most_pieces_tell_the_phases_of_the_frame(features, bearings):
    bits = true_bits(features)
    phases = frame_phases(bearings, GRID)
    assert (phases[ROW % 4, COLUMN % 4] == bits).all()
    for piece in range(ROWS * COLUMNS):
        assert suits(bearings.masks, phases, piece, ROW[piece], COLUMN[piece])
    # A third that lies anywhere does not change it, and of pieces that all lie anywhere nothing is told.
    rng = np.random.default_rng(1)
    some = GRID.copy()
    some[-3:] = rng.permutation(GRID[-3:].ravel()).reshape(3, -1)
    assert (frame_phases(bearings, some) == phases).all()
    clear = bearings._replace(masks=bits)
    assert frame_phases(clear, rng.permutation(GRID.ravel()).reshape(GRID.shape)).size == 0


@pytest.mark.parametrize(
    ("small", "several", "known"), [(0, False, ROWS * COLUMNS), (0, True, 0), (ROWS * COLUMNS, False, 0)]
)
def test_they_count_in_a_large_puzzle_of_one_picture(features, monkeypatch, small, several, known):
    original = candidates.partners_in_segments
    monkeypatch.setattr(candidates, "SMALL_PUZZLE", small)
    monkeypatch.setattr(candidates, "partners_in_segments", lambda *args: original(*args)._replace(several=several))
    with Threads(1) as threads:
        found = candidates.find_candidates(features, 8, threads, frame=(ROWS, COLUMNS))
    assert len(found.bearings.masks) == known
