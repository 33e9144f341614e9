from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from jigsolve import Puzzle, neighbour_accuracy, solve
from jigsolve.compatibility import lists, planes, products, trace_costs
from jigsolve.compatibility import traces as module
from jigsolve.compatibility.seams import midline_seams, traced_seams
from jigsolve.compatibility.trace_costs import BROKEN_BLOCK, MISFIT, UNKNOWN, misfit
from jigsolve.compatibility.traces import UNUSED_STEP
from jigsolve.samples import compressed_noise
from tests import naive
from tests.puzzles import compatibility_of, compressed_colours, drawing, squares_of

SIZES = [(28, 28), (20, 20), (25, 25), (14, 14), (28, 20), (40, 28)]
OFFSETS = [(0, 0), (3, 5)]


def compressed(pixels, quality=80, **options):
    """What a JPEG file makes of pixels, and its steps for brightness."""
    file = BytesIO()
    Image.fromarray(pixels.squeeze()).save(file, "JPEG", quality=quality, **options)
    image = Image.open(file)
    decoded = np.array(image)
    return decoded.reshape(*decoded.shape[:2], -1), np.array(image.quantization[0])


def cut(pixels, width, height=None, offset=(0, 0)):
    """The puzzle of whole pieces from the offset on, and the phase of every piece."""
    height = height or width
    pixels = pixels[offset[0] :, offset[1] :]
    rows, columns = pixels.shape[0] // height, pixels.shape[1] // width
    puzzle = Puzzle.from_array(pixels[: rows * height, : columns * width], (width, height))
    row, column = np.divmod(np.arange(len(puzzle)), columns)
    return puzzle, np.stack([(offset[0] + row * height) % 8, (offset[1] + column * width) % 8], axis=1)


def find_traces(puzzle):
    return traced_seams(puzzle).traces


def steps_of(puzzle):
    """The steps of brightness, and how corners lie in its blocks."""
    return module._steps(puzzle.pieces, planes.Undoing(np.empty((0, 0)), np.empty((0, 0))))


def neighbours(puzzle):
    """All pairs of sides that meet in a puzzle that is not shuffled."""
    grid = np.arange(len(puzzle)).reshape(puzzle.rows, puzzle.columns)
    right = [(4 * a, 4 * b + 2) for a, b in zip(grid[:, :-1].flat, grid[:, 1:].flat, strict=True)]
    return right + [(4 * a + 1, 4 * b + 3) for a, b in zip(grid[:-1].flat, grid[1:].flat, strict=True)]


@pytest.mark.parametrize("quality", [30, 50, 75, 80, 90])
@pytest.mark.parametrize("offset", OFFSETS)
def test_steps_are_those_of_the_file(photo, quality, offset):
    pixels, steps = compressed(photo.pixels[1:, 2:], quality)
    found, _ = steps_of(cut(pixels, 28, offset=offset)[0])
    told = (found != UNUSED_STEP) & (found != 0)
    assert told.sum() > 20
    # Of a frequency that one or two blocks have, a multiple of the step or one beside it may be taken.
    assert (found[told] == steps[told]).mean() > 0.9


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("offset", OFFSETS)
def test_the_phase_of_a_piece_is_never_ruled_out_and_often_the_only_one_left(photo, width, height, offset):
    if width == 14:
        offset = (2, 4)  # At odd offsets some pieces have no whole block.
    puzzle, phases = cut(compressed(photo.pixels)[0], width, height, offset)
    traces = find_traces(puzzle)
    _, corner = steps_of(puzzle)
    possible = module._possible_phases(height, width, corner).tolist()
    masks = traces.brightness.keys[2::4, 0]  # At a left side a piece is the right one of the two.
    numbers = np.array([possible.index(phase) for phase in phases.tolist()], dtype=np.uint64)
    assert (masks >> numbers & np.uint64(1)).mean() > 0.995
    left = np.array([int(mask).bit_count() for mask in masks])
    assert (left == 1).mean() > (0.3 if min(width, height) < 20 else 0.5)


@pytest.mark.parametrize("grey", [False, True])
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_sides_that_meet_complete_their_blocks_and_others_do_not(photo, width, height, grey):
    pixels = photo.pixels.mean(axis=2, keepdims=True).astype(np.uint8) if grey else photo.pixels
    puzzle, _ = cut(compressed(pixels)[0], width, height)
    traces, rng = find_traces(puzzle), np.random.default_rng(1)
    pairs = neighbours(puzzle)
    true = np.array([misfit(traces, side, other, UNKNOWN) for side, other in pairs])
    assert (true < 0.1 * MISFIT).mean() > 0.97
    others = 4 * rng.integers(0, len(puzzle), size=len(pairs))
    false = np.array(
        [
            misfit(traces, side, 4 * (other // 4) + (side % 4 ^ 2), UNKNOWN)
            for (side, _), other in zip(pairs, others, strict=True)
        ]
    )
    assert (false > BROKEN_BLOCK / 2).mean() > (0.3 if width % 8 == 0 else 0.6)  # Some seams cut no blocks.
    assert true.max() <= MISFIT
    assert false.max() == MISFIT


def test_a_misfit_is_what_the_joined_blocks_are_off():
    puzzle, phases = cut(compressed_noise(), 12)
    traces = find_traces(puzzle)
    masks = traces.brightness.keys[::4, 0]
    sure = masks & (masks - np.uint64(1)) == 0
    sure &= (puzzle.pieces > 0).all(axis=(1, 2, 3)) & (puzzle.pieces < 255).all(axis=(1, 2, 3))
    sure = np.flatnonzero(sure)
    assert len(sure) > 10
    compared = 0
    for direction in (0, 1):
        for piece in sure:
            for other in sure:
                found = misfit(traces, 4 * piece + direction, 4 * other + direction + 2, UNKNOWN)
                beside = (phases[piece] + [0, 12] if direction == 0 else phases[piece] + [12, 0]) % 8
                if (beside != phases[other]).any():
                    assert found == MISFIT
                    continue
                rests = naive.block_rests(
                    puzzle.pieces[piece],
                    puzzle.pieces[other],
                    direction,
                    phases[other],
                    traces.brightness.steps.reshape(8, 8),
                )
                broken = np.clip((rests - trace_costs.WHOLE) / (trace_costs.BROKEN - trace_costs.WHOLE), 0, 1)
                # Shares are rounded to 256ths of a step, and squares are counted in 256ths of a level.
                assert found == pytest.approx(min(MISFIT, BROKEN_BLOCK * broken.sum()), abs=0.2 * BROKEN_BLOCK)
                compared += len(rests)
    assert compared > 50


def coloured(photo, **options):
    """A photograph of pieces of 28 pixels, the phase of each in blocks of colour, and its traces."""
    puzzle, _ = cut(compressed(photo.pixels, **options)[0], 28)
    row, column = np.divmod(np.arange(len(puzzle)), puzzle.columns)
    return puzzle, np.stack([14 * row % 8, 14 * column % 8], axis=1), find_traces(puzzle)


def test_samples_of_colour_are_told_from_pixels():
    rng = np.random.default_rng(2)
    samples = rng.integers(-20, 20, size=(2, 16, 16))  # With those around a piece of 14 x 14.
    blended = samples.repeat(2, axis=1).repeat(2, axis=2)
    for axis in (1, 2):
        before, behind = np.roll(blended, 2, axis=axis), np.roll(blended, -2, axis=axis)
        odd = np.expand_dims(np.arange(32) % 2 == 1, axis=(0, 2) if axis == 1 else (0, 1))
        blended = (3 * blended + np.where(odd, behind, before)) / 4
    blue, red = np.rint(blended[:, 2:-2, 2:-2])
    pixels = np.stack([128 + 1.402 * red, 128 - 0.344136 * blue - 0.714136 * red, 128 + 1.772 * blue], axis=2)
    piece = np.rint(pixels).astype(np.uint8)
    found = planes.planes_of(
        piece, planes.Undoing(planes.undoing_of(28), np.ascontiguousarray(planes.undoing_of(28).T))
    )
    off = np.abs(found - samples[:, 1:-1, 1:-1])
    assert off.mean() < 0.35
    assert off.max() < 2
    # In the middle of flat colours nothing is off, and tints are the decoder's whole numbers everywhere.
    assert [[planes.tint_of(piece, y, x, 0) for x in range(28)] for y in range(28)] == blue.tolist()
    assert [[planes.tint_of(piece, y, x, 1) for x in range(28)] for y in range(28)] == red.tolist()


def test_steps_of_colour_are_those_of_the_file(photo):
    file = BytesIO()
    Image.fromarray(photo.pixels).save(file, "JPEG", quality=80)
    steps = np.array(Image.open(file).quantization[1])[module.LOWEST]
    found = coloured(photo)[2].colour.steps
    told = (found != UNUSED_STEP) & (found != 0)
    assert told.sum() > 5
    assert (found[told] == steps[told]).mean() > 0.8


def test_the_phase_in_blocks_of_colour_is_never_ruled_out(photo):
    _, phases, traces = coloured(photo)
    possible = traces.colour.phases.tolist()
    assert len(possible) == 16
    masks = traces.colour.keys[2::4, 0]
    numbers = np.array([possible.index(phase) for phase in phases.tolist()], dtype=np.uint64)
    assert (masks >> numbers & np.uint64(1)).mean() > 0.995


def test_where_there_is_colour_its_phase_is_the_only_one_left():
    traces = find_traces(Puzzle.from_array(compressed_colours(6, 6, flat=0), 28))
    assert (np.bitwise_count(traces.colour.keys[2::4, 0]) == 1).all()


def test_seams_between_blocks_of_brightness_may_cut_blocks_of_colour(photo):
    puzzle, phases, traces = coloured(photo)
    pairs = [(side, other) for side, other in neighbours(puzzle) if phases[other // 4][1 - side % 4] == 4]
    assert len(pairs) > 20
    true = np.array([trace_costs.broken_between(traces.colour, *pair, UNKNOWN) for pair in pairs])
    assert (true < 0.5).mean() > 0.9
    shifted = [other for _, other in pairs[5:] + pairs[:5]]
    false = np.array(
        [
            trace_costs.broken_between(traces.colour, side, 4 * (other // 4) + (side % 4 ^ 2), UNKNOWN)
            for (side, _), other in zip(pairs, shifted, strict=True)
        ]
    )
    assert (false > 0.5).mean() > 0.6
    assert all(trace_costs.broken_between(traces.brightness, *pair, UNKNOWN) == 0 for pair in pairs)


def edges_of(puzzle):
    """The colours along all sides, (sides, 2, length), in whole levels."""
    undoing = planes.Undoing(planes.undoing_of(28), np.ascontiguousarray(planes.undoing_of(28).T))
    samples = [np.rint(planes.planes_of(piece, undoing)) for piece in puzzle.pieces]
    return [side for one in samples for side in (one[:, :, -1], one[:, -1], one[:, :, 0], one[:, 0])]


def test_colours_that_change_across_a_seam_count_as_its_kind_says():
    puzzle = Puzzle.from_array(compressed_colours(8, 8, flat=4), 28)
    plane, edges = find_traces(puzzle).colour, edges_of(puzzle)
    masks, rng, found = plane.keys[:, 0], np.random.default_rng(1), []
    for one, two, direction in rng.integers((64, 64, 4), size=(2000, 3)):
        side, other = 4 * one + direction, 4 * two + (direction ^ 2)
        common = [phase for bit, phase in enumerate(plane.phases) if masks[side] & masks[other] & np.uint64(1 << bit)]
        kinds = {bool(phase[1 - direction % 2] == 0) for phase in common}
        changed = naive.changed_colours(edges[side], edges[other])
        expected = 0 if len(kinds) == 2 else -changed if kinds == {True} else changed
        found.append(trace_costs.changed_between(plane, side, other, UNKNOWN))
        assert found[-1] == expected == trace_costs.changed_between(plane, other, side, UNKNOWN)
    assert set(found) >= {-2, 0, 1, 2}


def test_within_blocks_of_flat_colours_hardly_any_change():
    puzzle = Puzzle.from_array(compressed_colours(12, 12, flat=6), 28)
    plane, flat, rng = find_traces(puzzle).colour, 12 * 6, np.random.default_rng(1)
    true = [(side, other) for side, other in neighbours(puzzle) if other // 4 < flat]
    others = [(side, 4 * rng.integers(flat) + other % 4) for side, other in true for _ in range(9)]
    shares = []
    for pairs in (true, others):
        cut = [pair for pair in pairs if np.bitwise_and.reduce(plane.keys[pair, 0]) & plane.between[pair[0] % 2] == 0]
        shares.append(np.mean([trace_costs.changed_between(plane, *pair, UNKNOWN) > 0 for pair in cut]))
    assert shares[0] < 0.1 < 0.3 < shares[1]


def test_clipped_colours_do_not_change():
    pixels = compressed_colours(8, 8, flat=4)
    plane = find_traces(Puzzle.from_array(pixels, 28)).colour
    assert (plane.edges[:, trace_costs.LEGIBLE_EDGE] == 3).all()
    clipped = pixels.copy()
    clipped[0::28] = 255  # The first line of every piece.
    edges = np.zeros((4, trace_costs.EDGE), dtype=np.int8)
    undoing = planes.Undoing(planes.undoing_of(28), np.ascontiguousarray(planes.undoing_of(28).T))
    piece = Puzzle.from_array(clipped, 28).pieces[9]
    module.fill_edges(piece, planes.planes_of(piece, undoing), edges)
    assert edges[:, trace_costs.LEGIBLE_EDGE].tolist() == [0, 3, 0, 0]
    piece = piece.copy()
    piece[..., :2] = 100
    # If only blue is clipped, enough is known of how red it is.
    module.fill_edges(piece, planes.planes_of(piece, undoing), edges)
    assert edges[:, trace_costs.LEGIBLE_EDGE].tolist() == [2, 3, 2, 2]


def test_colours_that_were_kept_at_full_size_have_no_blocks_of_their_own(photo):
    traces = coloured(photo, subsampling="4:4:4")[2]
    assert len(traces.brightness.keys) > 0
    assert len(traces.colour.keys) == 0


def never_compressed(photo):
    return drawing(300, 300)


def resized(photo):
    return np.array(Image.fromarray(photo.pixels).resize((450, 500)))


def of_16_bits(photo):
    return photo.pixels.astype(np.uint16) * 257


def transparent(photo):
    return np.dstack([photo.pixels, np.full(photo.pixels.shape[:2], 255, dtype=np.uint8)])


def flat(photo):
    return compressed(np.full((280, 280, 3), 77, dtype=np.uint8))[0]


@pytest.mark.parametrize("picture", [never_compressed, resized, of_16_bits, transparent, flat])
def test_other_pictures_have_no_traces(photo, picture):
    assert all(len(plane.keys) == 0 for plane in find_traces(cut(picture(photo), 28)[0])[:2])


@pytest.mark.parametrize("size", [4, 10, 13, 16, 32])
def test_pieces_that_are_too_small_or_end_with_blocks_have_no_traces(photo, size):
    assert all(len(plane.keys) == 0 for plane in find_traces(cut(photo.pixels, size)[0])[:2])


@pytest.mark.parametrize("seed", range(3))
def test_a_puzzle_that_was_compressed_after_it_was_shuffled_has_no_traces(photo, seed):
    shuffled, _ = cut(resized(photo), 28)[0].shuffled(seed=seed)
    rows, columns = shuffled.rows, shuffled.columns
    picture = shuffled.pieces.reshape(rows, columns, 28, 28, 3).swapaxes(1, 2).reshape(28 * rows, 28 * columns, 3)
    puzzle = cut(compressed(picture)[0], 28)[0]
    assert np.count_nonzero(steps_of(puzzle)[0]) > 32  # There are blocks, but not of the picture.
    assert all(len(plane.keys) == 0 for plane in find_traces(puzzle)[:2])


def test_lists_are_exact_among_those_that_can_meet_and_in_order_of_all_that_is_known(photo, monkeypatch):
    monkeypatch.setattr(lists, "FEW", 0)
    monkeypatch.setattr(products, "RARE", 0)
    monkeypatch.setattr(products, "RARE_COUNT", 0)
    puzzle, _ = cut(compressed(photo.pixels)[0][:336, :448], 28)
    features, keep = traced_seams(puzzle), 6
    found = compatibility_of(features, keep)
    plain, squares = squares_of(midline_seams(puzzle)), squares_of(found.told)
    traces = found.told.traces
    masks = (traces.colour if len(traces.colour.keys) > 0 else traces.brightness).keys[:, 0]
    asked = 0
    for side, others in enumerate(found.candidates):
        piece, direction = divmod(side, 4)
        rivals = 4 * np.delete(np.arange(len(puzzle)), piece) + (direction ^ 2)
        meeting = rivals[masks[rivals] & masks[side] != 0]
        best = sorted(meeting, key=lambda other: (plain[piece, direction, other // 4], other))[:keep]
        assert set(others) == set(best)
        asked += keep < len(meeting) < len(rivals) / 2
        assert others.tolist() == sorted(others, key=lambda other: (squares[piece, direction, other // 4], other))
        assert (found.costs[side] == np.sort(found.costs[side])).all()
    assert asked > len(masks) / 2


def test_where_few_could_meet_all_are_compared(photo):
    puzzle, _ = cut(compressed(photo.pixels)[0][:140, :168], 28)
    found, plain = compatibility_of(traced_seams(puzzle), 29), compatibility_of(midline_seams(puzzle), 29)
    assert np.sort(found.candidates).tolist() == np.sort(plain.candidates).tolist()


def test_a_sky_is_put_together_by_its_traces(photo):
    y, x = np.mgrid[:280, :336]
    ramp = np.stack([y / 9 + x / 60, y / 14, y / 30 - x / 90], axis=2)
    sky = np.array([90, 130, 190]) + 0.3 * ramp
    sky += np.random.default_rng(3).normal(0, 1.5, size=sky.shape)
    picture = np.concatenate([np.rint(sky).astype(np.uint8), photo.pixels[200:340, 100:436]])
    puzzle, truth = cut(compressed(picture)[0], 28)[0].shuffled(seed=1)
    with_traces, without = (
        neighbour_accuracy(solve(puzzle, measure=measure).arrangement, truth) for measure in ("traces", "midline")
    )
    assert with_traces > without + 0.05  # 94 and 78 %.
