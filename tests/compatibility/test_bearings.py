import numpy as np
import pytest

from jigsolve import Puzzle
from jigsolve.compatibility import candidates
from jigsolve.compatibility import phases as module
from jigsolve.compatibility.bearings import (
    bearings_of,
    fill_codes,
    frame_phases,
    moved_mask,
    no_bearings,
    phases_around,
    suits,
)
from jigsolve.compatibility.memory import PHASE_BITS, pair_in, row_and_other
from jigsolve.compatibility.seams import midline_seams, traced_seams
from jigsolve.compatibility.trace_costs import MASK, NUMBERS, UNKNOWN, broken_between, changed_between
from jigsolve.genetic.population import cost_of_grid
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
    return bearings_of(features, features)


def true_bits(features):
    """The bit of the phase of each cell, in blocks of colour."""
    possible = features.traces.colour.phases.tolist()
    phases = np.stack([14 * ROW % 8, 14 * COLUMN % 8], axis=1).tolist()
    return np.uint64(1) << np.array([possible.index(phase) for phase in phases], dtype=np.uint64)


def test_without_blocks_nothing_is_known():
    for features in (random_features(np.random.default_rng(1), 6), midline_seams(drawn_puzzle(2, 3))):
        bearings = bearings_of(features, features)
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
    assert bearings_of(features, features).moved.shape == (2, 2, 4)


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


def test_pairs_are_called_by_the_phase_of_the_cell_of_the_right_or_lower_piece(features, bearings):
    codes = np.empty(ROWS * COLUMNS, dtype=np.int32)
    fill_codes(bearings, COLUMNS, GRID.ravel(), codes)
    assert (np.uint64(1) << (codes >> PHASE_BITS).astype(np.uint64) - np.uint64(1) == true_bits(features)).all()
    several = np.zeros(ROWS * COLUMNS, dtype=np.bool_)
    several[12] = True
    for piece, direction, other in ((11, 0, 12), (12, 2, 11), (12, 1, 22), (22, 3, 12)):
        row, second = row_and_other(piece, direction, other)
        assert pair_in(codes, several, piece, direction, other, piece, other) == (row, second | codes[second])
        assert pair_in(0 * codes, several, piece, direction, other, piece, other) == (row, second)
    # Where both know their phase it does not matter where they lie.
    assert pair_in(codes, several, 1, 0, 2, 1, 2) == row_and_other(1, 0, 2)
    fill_codes(no_bearings(), COLUMNS, GRID.ravel(), codes)
    assert (codes == 0).all()


def test_a_pair_costs_what_it_does_in_the_phase_of_its_cell(features, bearings):
    """The same as if all pieces of several phases knew the one of their cells."""
    assert bearings.several.any()
    assert not bearings.several.all()
    known = features.traces.colour.keys[2::4, MASK] & true_bits(features)
    told = features._replace(traces=with_phases(features.traces, known))
    grids = [GRID.ravel(), np.roll(GRID, 4, axis=0).ravel(), GRID[:, [4, 5, 6, 7, 0, 1, 2, 3, 8, 9]].ravel()]
    for grid in grids:
        costs = [cost_of_grid(features, COLUMNS, grid, some) for some in (bearings, None)]
        assert costs[0] == cost_of_grid(told, COLUMNS, grid)
        assert costs[0] >= costs[1]
    # Where pieces of several phases lie anywhere, their neighbours cannot each choose the phase that suits them best.
    grid, anywhere = GRID.ravel().copy(), np.flatnonzero(bearings.several)
    grid[anywhere] = np.random.default_rng(0).permutation(anywhere)
    assert cost_of_grid(features, COLUMNS, grid, bearings) > cost_of_grid(features, COLUMNS, grid)
    # Where most pieces do not agree on the frame nothing is known of cells.
    grid = np.random.default_rng(1).permutation(ROWS * COLUMNS).astype(np.int32)
    strict = bearings._replace(masks=true_bits(features))
    assert cost_of_grid(features, COLUMNS, grid, strict) == cost_of_grid(features, COLUMNS, grid)


def test_a_phase_is_one_of_those_that_a_side_is_compared_in(features):
    plane = features.traces.colour
    rng, seen = np.random.default_rng(1), 0
    for one, two, direction in rng.integers((ROWS * COLUMNS, ROWS * COLUMNS, 4), size=(400, 3)):
        side, other = 4 * one + direction, 4 * two + (direction ^ 2)
        common = plane.keys[side, MASK] & plane.keys[other, MASK]
        each = [broken_between(plane, side, other, phase) for phase in range(len(plane.phases))]
        assert [phase for phase in range(len(each)) if each[phase] < np.inf] == [
            phase for phase in range(len(each)) if int(common) >> phase & 1
        ]
        told = [keys[NUMBERS].tobytes().strip(b"\xff\xfe") for keys in (plane.keys[side], plane.keys[other])]
        if all(told):  # Of sides with too many phases nothing is known.
            seen += common > 0
            assert broken_between(plane, side, other, UNKNOWN) == min(each)
        for phase in range(len(each)):
            if int(common) >> phase & 1:
                alone = plane._replace(keys=plane.keys.copy())
                alone.keys[[side, other], MASK] = 1 << phase
                assert changed_between(plane, side, other, phase) == changed_between(alone, side, other, UNKNOWN)
    assert seen > 50


def with_phases(traces, known):
    """Traces with a single phase of every piece of which one is known."""
    brightness = module._of_smaller(traces.colour.phases, traces.brightness, known)
    return traces._replace(
        brightness=module._with_phases(traces.brightness, brightness),
        colour=module._with_phases(traces.colour, known),
    )
