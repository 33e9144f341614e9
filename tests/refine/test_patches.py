import numpy as np
import pytest

from jigsolve import Puzzle
from jigsolve.compatibility.bearings import EVERY, Bearings
from jigsolve.compatibility.candidates import find_candidates
from jigsolve.compatibility.lists import costs_from, costs_squared
from jigsolve.compatibility.ramp_costs import NUMBERS, ROUGHNESS
from jigsolve.compatibility.ramps import flatness
from jigsolve.compatibility.seams import midline_seams, traced_seams
from jigsolve.refine import patches as module
from jigsolve.refine.beliefs import LEAST
from jigsolve.refine.patches import (
    MOST_CELLS,
    Grounds,
    Way,
    compile_patches,
    fill_costs,
    find_doubted,
    grounds_of,
    hear,
    in_question,
    label,
    patches_bytes,
    rearranged,
)
from jigsolve.refine.rounds import WAYS
from jigsolve.threads import Threads
from tests.puzzles import compatibility_of, costs_of, drawn_puzzle, random_features, result_of, sky

WAY = Way(near=2, dullness=0.33)
MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))
NO_PHASES = np.full((1, 1), -1)


@pytest.fixture(scope="module")
def portrait(photo):
    """What is known of the pieces of a photograph, 15 x 16 of them, in their places, which are beyond doubt."""
    features = midline_seams(Puzzle.from_array(photo.pixels[:480, :512], 32))
    with Threads(2) as threads:
        compatibility = find_candidates(features, 16, threads, frame=(15, 16))
    fair = compatibility.fair_costs.copy()
    grid = np.arange(240).reshape(15, 16)
    for direction, (one, other) in enumerate(((grid[:, :-1], grid[:, 1:]), (grid[:-1], grid[1:]))):
        sides, facing = 4 * one.ravel() + direction, 4 * other.ravel() + direction + 2
        costs = costs_from(features, costs_squared(features, sides, facing)[:, np.newaxis])[:, 0]
        fair[sides], fair[facing] = np.maximum(fair[sides], costs), np.maximum(fair[facing], costs)
    return compatibility._replace(fair_costs=fair)


def restored(compatibility, grid, threads=2, way=WAY, most_cells=MOST_CELLS, strict=None):
    """A grid with its patches rearranged; `strict` are what is fair in strict ways, else what is in all."""
    with Threads(threads) as pool:
        grounds = grounds_of(compatibility)._replace(
            strict_costs=compatibility.fair_costs if strict is None else strict
        )
        assert grounds.sharpness > 0
        steps = rearranged(compatibility.features, grounds, grid.astype(np.int32), way, most_cells, pool)
        return result_of(steps)


def with_patches_moved(rng, rows, columns, size, moved):
    """A grid in order in which so many patches of one size, in one area, have changed places."""
    grid = np.arange(rows * columns).reshape(rows, columns)
    corners = [(size * y, size * x) for y in range(1, 1 + moved[0]) for x in range(1, 1 + moved[1])]
    order = np.roll(rng.permutation(len(corners)), 1)
    patches = [grid[y : y + size, x : x + size].copy() for y, x in corners]
    for (y, x), other in zip(corners, order, strict=True):
        grid[y : y + size, x : x + size] = patches[other]
    return grid


@pytest.mark.parametrize(("size", "moved"), [(1, (5, 6)), (2, (3, 4)), (2, (4, 5)), (4, (2, 2))])
def test_patches_find_back_to_their_places(portrait, size, moved):
    grid = with_patches_moved(np.random.default_rng(1), 15, 16, size, moved)
    assert (grid != np.arange(240).reshape(15, 16)).sum() >= size * size * 2
    before = grid.copy()
    assert (restored(portrait, grid) == np.arange(240).reshape(15, 16)).all()
    assert (grid == before).all()


def test_the_number_of_threads_changes_nothing(portrait):
    grid = with_patches_moved(np.random.default_rng(2), 15, 16, 1, (11, 12))
    assert (restored(portrait, grid, 1) == restored(portrait, grid, 3)).all()


@pytest.mark.parametrize("way", WAYS)
def test_patches_find_back_in_any_way(portrait, way):
    grid = with_patches_moved(np.random.default_rng(1), 15, 16, 2, (3, 4))
    assert (restored(portrait, grid, way=way) == np.arange(240).reshape(15, 16)).all()


@pytest.fixture(scope="module")
def heaven():
    """What is known of the pieces of a sky in order, 18 x 20 of them."""
    with Threads(2) as threads:
        return find_candidates(traced_seams(Puzzle.from_array(sky(18, 20), 12)), 16, threads, frame=(18, 20))


def test_flat_patches_are_expected_around_those_that_are_like_them(heaven):
    ramps = heaven.features.ramps
    patches = np.random.default_rng(1).permutation(360)[:90].astype(np.int32).reshape(90, 1, 1)
    tops, lefts = (part.astype(np.int64) for part in np.divmod(np.arange(90), 9))
    flat = flatness(ramps)[patches[:, 0, 0]] > 0
    assert flat.all()
    flat[5] = False
    rough = ramps._replace(summaries=ramps.summaries.copy())
    rough.summaries[patches[5, 0, 0], ROUGHNESS] = 1e6
    with Threads(2) as threads:
        found = module._expected(heaven.features._replace(ramps=rough), patches, tops, lefts, threads)
    numbers = ramps.variates[4 * patches[:, 0, 0], :NUMBERS].astype(np.float64)
    for patch in range(90):
        if patch == 5:
            assert (found[:, patch] == module.ANYWHERE).all()
            continue
        distances = np.where(flat, ((numbers - numbers[patch]) ** 2).sum(axis=1), np.inf)
        alike = np.argsort(distances, kind="stable")[: module.ALIKE]
        apart = (tops[:, np.newaxis] - tops[alike]) ** 2 + (lefts[:, np.newaxis] - lefts[alike]) ** 2
        near = np.where(apart < module.FARTHEST**2, np.exp(-apart / (2 * module.NEARBY**2)), 0)
        np.testing.assert_allclose(found[:, patch], module.LEAST_EXPECTED + near.mean(axis=1), rtol=1e-4)


def test_nothing_is_expected_where_nothing_was_learned(portrait):
    with Threads(2) as threads:
        corners = np.zeros(3, dtype=np.int64)
        patches = np.arange(3, dtype=np.int32).reshape(3, 1, 1)
        assert module._expected(portrait.features, patches, corners, corners, threads).shape == (0, 3)


def test_patches_of_a_sky_find_back_from_far_away(heaven):
    grid = np.arange(360).reshape(18, 20)
    moved = grid.copy()
    for (y, x), (v, u) in (((2, 2), (12, 14)), ((6, 16), (12, 4)), ((4, 8), (14, 10))):
        moved[y : y + 2, x : x + 2], moved[v : v + 2, u : u + 2] = (
            grid[v : v + 2, u : u + 2],
            grid[y : y + 2, x : x + 2],
        )
    found = restored(heaven, moved, way=WAY._replace(alike=True))
    assert (found != grid).sum() < (moved != grid).sum() / 2


def test_a_region_that_is_too_large_stays_as_it_is(portrait):
    grid = with_patches_moved(np.random.default_rng(1), 15, 16, 2, (3, 4))
    assert (restored(portrait, grid, most_cells=3) == grid).all()


def test_if_all_cells_are_too_many_each_region_is_rearranged_by_itself(portrait):
    right = np.arange(240).reshape(15, 16)
    grid = right.copy()
    for top, left in ((1, 1), (11, 12)):
        area = grid[top : top + 3, left : left + 3]
        area[:] = np.random.default_rng(1).permutation(area.ravel()).reshape(3, 3)
    grid[1, 13], grid[11, 3] = grid[11, 3], grid[1, 13]  # Each alone in its region, and belongs to the other.
    way = WAY._replace(near=0, single=True)
    assert (restored(portrait, grid, way=way) == right).all()
    found = restored(portrait, grid, way=way, most_cells=35)
    assert (found[:5, :6] == right[:5, :6]).all()
    assert (found[10:, 11:] == right[10:, 11:]).all()
    assert right[11, 3] in found[:5, 11:]
    assert right[1, 13] in found[10:, :6]


def test_many_small_regions_are_heard_of_on_the_way(portrait, monkeypatch):
    monkeypatch.setattr(module, "LARGE", 12)
    grid = np.arange(240).reshape(15, 16).astype(np.int32)
    for y in range(1, 15, 4):
        for x in range(1, 15, 4):
            grid[y, x], grid[y, x + 1] = grid[y, x + 1], grid[y, x]
    with Threads(2) as pool:
        steps = rearranged(portrait.features, grounds_of(portrait), grid, Way(0, 0.33, single=True), 50, pool)
        assert len(list(steps)) >= 3


def test_single_pieces_are_patches_whatever_the_lattice(portrait):
    """A square in a wrong place and two of its pieces swapped: no square is right."""
    grid = with_patches_moved(np.random.default_rng(1), 15, 16, 2, (3, 4))
    grid[2, 2], grid[2, 3] = grid[2, 3], grid[2, 2]
    right = np.arange(240).reshape(15, 16)
    assert (restored(portrait, grid) != right).any()
    assert (restored(portrait, grid, way=WAY._replace(single=True)) == right).all()


def test_a_strict_way_doubts_what_is_not_settled(portrait):
    grid = with_patches_moved(np.random.default_rng(1), 15, 16, 2, (3, 4))
    strict = portrait.fair_costs
    trusting = portrait._replace(fair_costs=np.full_like(strict, np.inf))
    assert (restored(trusting, grid, strict=strict) == grid).all()
    found = restored(trusting, grid, way=WAY._replace(strict=True), strict=strict)
    assert (found == np.arange(240).reshape(15, 16)).all()


def test_strict_costs_are_those_of_settled_partners_or_first_candidates(portrait):
    strict, costs = grounds_of(portrait).strict_costs, costs_of(portrait.features)
    settled = portrait.doubt == 0
    assert 0 < settled.sum() < len(settled)
    for side in range(len(strict)):
        piece, direction = divmod(side, 4)
        partner = portrait.partners[piece, direction]
        expected = costs[piece, direction, partner] if settled[side] else portrait.costs[side, 0]
        assert strict[side] == expected


def test_without_doubts_nothing_moves(portrait):
    calm = portrait._replace(fair_costs=np.full_like(portrait.fair_costs, np.inf))
    grid = np.random.default_rng(3).permutation(240).reshape(15, 16)
    assert (restored(calm, grid) == grid).all()


def test_any_grid_stays_a_grid_of_the_same_pieces():
    compatibility = compatibility_of(random_features(np.random.default_rng(1), 42))
    with Threads(2) as threads:
        for seed in range(3):
            grid = np.random.default_rng(seed).permutation(42).reshape(6, 7).astype(np.int32)
            grounds = Grounds(0.001, compatibility.fair_costs, compatibility.fair_costs, compatibility.bearings)
            steps = rearranged(compatibility.features, grounds, grid, Way(2, 1.0), MOST_CELLS, threads)
            result = result_of(steps)
            assert sorted(result.ravel()) == list(range(42))
        compile_patches(compatibility, 7, threads)


@pytest.mark.parametrize("alike", [False, True])
def test_patches_are_expected_where_their_phases_suit(portrait, monkeypatch, alike):
    """Two phases in turns from column to column, of which most pieces know theirs; a few lie in the wrong one."""
    rng = np.random.default_rng(1)
    masks = np.where(np.arange(240) % 2 == 0, 1, 2).astype(np.uint64)
    masks[rng.permutation(240)[:60]] = 3
    bearings = Bearings(masks, masks == 3, np.array([[[0, 1], [1, 0]]]))
    seen, original = [], module.settle
    monkeypatch.setattr(module, "settle", lambda region, threads: seen.append(region) or original(region, threads))
    monkeypatch.setattr(module, "_expected", lambda *_: np.full((cells, cells), 0.25, dtype=np.float32))
    grid = np.arange(240, dtype=np.int32).reshape(15, 16)
    grid[4, 5:8], grid[5, 5:8] = grid[4, [7, 5, 6]], grid[5, [6, 7, 5]]
    doubted = np.full(960, np.inf, dtype=np.float32)
    doubted[4 * grid[4:6, 5:8].ravel()] = -1
    way, cells = Way(0, 1.0, single=True, alike=alike), 6 + 2
    with Threads(1) as threads:
        grounds = Grounds(1.0, doubted, doubted, bearings)
        result_of(rearranged(portrait.features, grounds, grid, way, MOST_CELLS, threads))
    (region,) = seen
    places = [(row, column) for row in (4, 5) for column in range(5, 9)]
    usual = 0.25 if alike else 1.0
    for cell, (_, column) in enumerate(places):
        for unit, place in enumerate(places):
            suits = masks[grid[place]] & (1 if column % 2 == 0 else 2)
            assert region.expected[cell, unit] == np.float32(usual * (1 if suits else module.UNSUITED))
    assert 0 < (region.expected < usual).sum() < region.expected.size
    assert region.informed.all()


def test_the_phases_of_a_patch_are_those_that_all_its_pieces_allow():
    masks = np.array([1, 2, 3, 1, 1], dtype=np.uint64)
    bearings = Bearings(masks, masks == 3, np.array([[[0, 1], [1, 0]]]))
    patches = np.array([[[0, 1]], [[2, 2]], [[2, 1]], [[3, 4]]], dtype=np.int32)
    assert module.own_phases(bearings, patches).tolist() == [1, 3, 1, EVERY]


def test_where_too_little_is_settled_nothing_tells_how_sharp_seams_are():
    assert grounds_of(compatibility_of(midline_seams(drawn_puzzle(3, 4)))).sharpness == 0


@pytest.mark.parametrize(
    ("length", "doubted", "expected"),
    [
        (9, [2, 4, 6], [0, 2, 4, 6, 8, 9]),
        (9, [1, 3, 7], [0, 1, 3, 5, 7, 9]),
        (12, [3, 7, 11], [0, 3, 7, 11, 12]),
        (12, [4, 6, 8], [0, 2, 4, 6, 8, 10, 12]),
        (9, [1, 2, 3, 4], list(range(10))),
        (9, [], list(range(10))),
    ],
)
@pytest.mark.parametrize("axis", [0, 1])
def test_the_lattice_is_where_the_doubts_lie(length, doubted, expected, axis):
    seams = np.zeros((length, 5), dtype=np.bool_)
    seams[[border - 1 for border in doubted]] = True
    turned = seams if axis == 0 else seams.T
    assert module._borders(turned, axis, module.SIZES, module.ON_BORDERS).tolist() == expected
    assert module._borders(turned, axis, (), module.ON_BORDERS).tolist() == list(range(length + 1))


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_what_is_near_a_doubt_or_cut_off_is_in_question(steps):
    doubtful = np.zeros((20, 30), dtype=np.bool_)
    doubtful[4, 10] = True
    near = np.abs(np.arange(20)[:, np.newaxis] - 4) + np.abs(np.arange(30) - 10) <= steps
    assert (in_question(doubtful, steps) == near).all()
    ring = np.zeros((20, 30), dtype=np.bool_)
    ring[4:14, 4:14] = True
    ring[6:12, 6:12] = False
    assert in_question(ring, steps)[4:14, 4:14].all()
    assert in_question(ring, steps).sum() < 14 * 14 + 60
    halves = np.zeros((20, 30), dtype=np.bool_)
    halves[:, 15] = True
    assert in_question(halves, steps).sum() == 20 * (1 + 2 * steps)  # Both halves are large enough to be trusted.
    assert in_question(np.ones((3, 3), dtype=np.bool_), steps).all()


def test_parts_are_what_is_connected():
    near = np.array([[0, 1, 0, 0], [0, 1, 1, 0], [1, 0, 1, 0]], dtype=np.bool_)
    assert label(near).tolist() == [[0, -1, 1, 1], [0, -1, -1, 1], [-1, 2, -1, 1]]


def test_doubted_seams_are_dearer_than_is_fair():
    compatibility = compatibility_of(midline_seams(drawn_puzzle(4, 5)))
    costs = costs_of(compatibility.features)
    grid = np.random.default_rng(1).permutation(20).reshape(4, 5).astype(np.int32)
    doubted = np.zeros((2, 4, 5), dtype=np.bool_)
    find_doubted(compatibility.features, NO_PHASES, compatibility.fair_costs, grid, doubted)
    fair = compatibility.fair_costs.reshape(-1, 4)
    for y in range(4):
        for x in range(5):
            for direction, (down, right) in enumerate(MOVES[:2]):
                expected = False
                if y + down < 4 and x + right < 5:
                    one, other = grid[y, x], grid[y + down, x + right]
                    cost = costs[one, direction, other]
                    expected = cost > fair[one, direction] or cost > fair[other, direction + 2]
                assert doubted[direction, y, x] == expected
    assert doubted.any()
    assert not doubted.all()


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (2, 1), (1, 3)])
def test_what_patches_cost_and_hear_is_what_their_pieces_do(shape):
    features = midline_seams(drawn_puzzle(5, 6))
    costs = costs_of(features).astype(np.float64)
    height, width = shape
    rng = np.random.default_rng(2)
    patches = rng.permutation(30)[: 4 * height * width].reshape(4, height, width).astype(np.int32)
    found = np.empty((2, 4, 4), dtype=np.float32)
    unknown = np.full(max(shape), -1)
    fill_costs(features, unknown, unknown, patches, found, 0, 4)
    for one in range(4):
        for two in range(4):
            if one != two:
                beside = sum(costs[patches[one, y, -1], 0, patches[two, y, 0]] for y in range(height))
                below = sum(costs[patches[one, -1, x], 1, patches[two, 0, x]] for x in range(width))
                assert found[:, one, two].tolist() == pytest.approx([beside, below])

    around = np.full((height + 4, width + 4), -1, dtype=np.int32)  # A cell amid known pieces, in a border of -1.
    around[1:-1, 1:-1] = rng.integers(30, size=(height + 2, width + 2))
    around[2:-2, 2:-2] = -1
    around[1, :] = -1  # But nothing is known above.
    outside, informed = np.zeros((1, 4), dtype=np.float32), np.zeros(1, dtype=np.bool_)
    messages = np.ones((4, 1, 4), dtype=np.float32)
    corners = np.array([[1, 1]])
    hear(features, NO_PHASES, around, corners, patches, 0.5, outside, messages, informed, 0, 1)
    assert informed[0]
    assert (messages[3] == 1).all()
    total = np.zeros(4)
    for direction, (down, right) in enumerate(MOVES[:3]):
        facing = np.zeros(4)
        for y in range(height):
            for x in range(width):
                if not (0 <= y + down < height and 0 <= x + right < width):
                    known = around[y + down + 2, x + right + 2]
                    facing += costs[patches[:, y, x], direction, known]
        total += facing
        chances = np.exp(-0.5 * (facing - facing.min()))
        np.testing.assert_allclose(messages[direction, 0], np.maximum(chances / chances.mean(), LEAST), rtol=1e-3)
    np.testing.assert_allclose(outside[0], total, rtol=1e-5)


def test_memory_grows_up_to_a_bound():
    assert patches_bytes(100) == 68 * 100**2
    assert patches_bytes(10**6) == patches_bytes(10**5) == 68 * MOST_CELLS**2
