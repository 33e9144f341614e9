import numpy as np
import pytest

from jigsolve import Puzzle
from jigsolve.compatibility.bearings import Bearings
from jigsolve.compatibility.candidates import find_candidates
from jigsolve.compatibility.lab import lab_features
from jigsolve.compatibility.likeness_costs import COLUMNS, FLAT, no_likeness
from jigsolve.compatibility.lists import costs_from, costs_squared
from jigsolve.compatibility.seams import midline_seams
from jigsolve.genetic.population import cost_of_grid
from jigsolve.refine import exchanges as module
from jigsolve.refine.exchanges import (
    CANDIDATES,
    HEATS,
    MOST_CELLS,
    Kinds,
    Tables,
    compile_exchanges,
    cost_after,
    cost_before,
    exchange,
    exchanged,
    exchanges_bytes,
    fill_candidates,
    fill_outside,
    kinds_of,
    new_chain,
    note_seams,
    plan_rectangles,
    plan_slide,
    suit_all,
)
from jigsolve.refine.patches import Grounds, Lattice, Places, grounds_of
from jigsolve.threads import Threads
from tests.puzzles import drawn_puzzle, result_of

SHAPE = (7, 9)


def region(seed=1, period=1):
    """Tables of random costs, of a region of 7 x 9 cells without its corners and one within.

    Kinds repeat after a period along both axes; a patch suits that of its own cell, and others by chance.
    """
    random = np.random.default_rng(seed)
    inside = np.ones(SHAPE, dtype=bool)
    inside[0, 0] = inside[0, -1] = inside[-1, 0] = inside[-1, -1] = inside[3, 4] = False
    rows, columns = np.nonzero(inside)
    count, kinds = len(rows), period**2
    of = rows % period * period + columns % period
    down, right = np.divmod(np.arange(kinds), period)
    beside = np.stack([down * period + (right + 1) % period, (down + 1) % period * period + right])
    suited = random.random((kinds, count)) < 0.5 if period > 1 else np.ones((1, count), dtype=bool)
    suited[of, np.arange(count)] = True
    indices = np.where(suited, np.cumsum(suited, axis=1) - 1, -1).astype(np.int32)
    firsts = np.concatenate([[0], np.cumsum(suited.sum(axis=1))])
    known = Kinds(of, beside, np.nonzero(suited)[1].astype(np.int32), firsts, indices, np.array([period, period]))
    members = [known.members_of(kind) for kind in range(kinds)]
    costs, begins = [], np.zeros((2, kinds), dtype=np.int64)
    fair = np.zeros((4, len(known.members)), dtype=np.float32)
    candidates = np.full((4, len(known.members), CANDIDATES), -1, dtype=np.int32)
    for axis, kind in np.ndindex(2, kinds):
        ones, others = members[kind], members[beside[axis, kind]]
        begins[axis, kind] = sum(table.size for table in costs)
        costs.append(random.uniform(1, 9, (len(ones), len(others))).astype(np.float32))
        fill_candidates(costs[-1], ones, others, candidates[axis, firsts[kind] :], 0, len(ones))
        turned, there = np.ascontiguousarray(costs[-1].T), candidates[axis + 2, firsts[beside[axis, kind]] :]
        fill_candidates(turned, others, ones, there, 0, len(others))
        fair[axis, firsts[kind] :][: len(ones)] = costs[-1].min(axis=1)
        fair[axis + 2, firsts[beside[axis, kind]] :][: len(others)] = costs[-1].min(axis=0)
    sizes = np.diff(firsts)[of]
    outside = random.uniform(0, 2, sizes.sum()).astype(np.float32)
    numbers = np.full((SHAPE[0] + 2, SHAPE[1] + 2), -1, dtype=np.int32)
    numbers[rows + 1, columns + 1] = np.arange(count)
    return Tables(
        kinds=known,
        costs=np.concatenate([table.ravel() for table in costs]),
        begins=begins[:, of].T.copy(),
        widths=np.diff(firsts)[beside][:, of].T.copy(),
        outside=outside,
        outside_begins=np.cumsum(sizes) - sizes,
        candidates=candidates,
        fair=fair,
        rows=rows,
        columns=columns,
        numbers=numbers,
        beside=np.stack([numbers[rows + 1 + down, columns + 1 + right] for down, right in module.STEPS], axis=1),
    )


def naive_pair(tables, axis, cell, patch, other_cell, other):
    """What two patches cost beside each other, found in the table of their kinds."""
    kinds = tables.kinds
    ones, others = (kinds.members_of(kinds.of[place]).tolist() for place in (cell, other_cell))
    table = tables.costs[tables.begins[cell, axis] :][: len(ones) * len(others)].reshape(len(ones), -1)
    return float(table[ones.index(patch), others.index(other)])


def chain_of(tables):
    return new_chain(tables, (1, 1), 0)


def suit(tables, cells, patches):
    """Whether patches suit cells, and which they are of those of their kinds."""
    indices = np.empty(len(cells), dtype=np.int32)
    return suit_all(tables.kinds, cells, patches, len(cells), indices), indices


def naive_cost(tables, patches):
    """What all patches cost where they lie, seam by seam."""
    total = 0.0
    for cell, patch in enumerate(patches):
        members = tables.kinds.members_of(tables.kinds.of[cell]).tolist()
        total += float(tables.outside[tables.outside_begins[cell] + members.index(patch)])
        row, column = tables.rows[cell] + 1, tables.columns[cell] + 1
        for axis, other in enumerate((tables.numbers[row, column + 1], tables.numbers[row + 1, column])):
            if other >= 0:
                total += naive_pair(tables, axis, cell, patch, other, patches[other])
    return total


def naive_doubts(tables, patches):
    """How much dearer what lies on each side is than what would fit best there, seam by seam."""
    doubts = np.full((len(patches), 4), -np.inf)
    for cell, side in np.ndindex(doubts.shape):
        other, axis = tables.beside[cell, side], side % 2
        if other >= 0:
            first, second = (cell, other) if side < 2 else (other, cell)
            cost = naive_pair(tables, axis, first, patches[first], second, patches[second])
            kind = tables.kinds.of[cell]
            index = tables.kinds.members_of(kind).tolist().index(patches[cell])
            doubts[cell, side] = cost - float(tables.fair[side, tables.kinds.firsts[kind] + index])
    return doubts


@pytest.mark.parametrize("period", [1, 2])
def test_candidates_are_the_patches_that_fit_best(period):
    tables = region(period=period)
    kinds, of_kind = tables.kinds, {int(kind): cell for cell, kind in enumerate(tables.kinds.of)}
    for axis, kind in np.ndindex(2, period**2):
        beside = int(kinds.beside[axis, kind])
        cells, members = (of_kind[kind], of_kind[beside]), (kinds.members_of(kind), kinds.members_of(beside))
        for turn, direction in enumerate((axis, axis + 2)):
            for index, patch in enumerate(members[turn]):
                others = [int(other) for other in members[1 - turn] if other != patch]
                pairs = [(patch, other) if turn == 0 else (other, patch) for other in others]
                costs = [naive_pair(tables, axis, cells[0], one, cells[1], two) for one, two in pairs]
                expected = [others[place] for place in np.argsort(costs, kind="stable")][:CANDIDATES]
                found = tables.candidates[direction, kinds.firsts[(kind, beside)[turn]] + index]
                assert found.tolist() == expected + [-1] * (CANDIDATES - len(expected))


def suited_order(tables, random, cells):
    """The patches of some cells in another order that suits these."""
    while True:
        order = random.permutation(cells)
        if suit(tables, cells, order)[0]:
            return order


@pytest.mark.parametrize("period", [1, 2])
def test_what_changed_cells_cost_differs_as_everything_does(period):
    tables = region(period=period)
    count = len(tables.rows)
    random = np.random.default_rng(2)
    everywhere = np.arange(count, dtype=np.int32)
    for mark in range(1, 50):
        patches = random.permutation(count).astype(np.int32) if period == 1 else everywhere.copy()
        indices, seams = suit(tables, everywhere, patches)[1], np.empty((count, 3), dtype=np.float32)
        doubts = np.full((count, 4), -np.inf)
        note_seams(tables, indices, seams, doubts, everywhere, count)
        np.testing.assert_array_equal(doubts, naive_doubts(tables, patches))
        assert seams.sum() == pytest.approx(naive_cost(tables, patches), abs=1e-3)
        changed = random.permutation(count)[: random.integers(1, 5 if period > 1 else 20)].astype(np.int32)
        after = patches.copy()
        after[changed] = patches[suited_order(tables, random, changed)]
        marks = np.zeros(count, dtype=np.int64)
        marks[changed] = mark
        before = cost_before(tables, seams, changed, len(changed), marks, mark)
        assert before == cost_after(tables, indices, changed, len(changed), marks, mark, np.inf)
        indices = suit(tables, everywhere, after)[1]
        cost = cost_after(tables, indices, changed, len(changed), marks, mark, np.inf)
        assert cost - before == pytest.approx(naive_cost(tables, after) - naive_cost(tables, patches), abs=1e-3)
        # What is within a limit is told exactly; of what is not, that it is not.
        assert cost_after(tables, indices, changed, len(changed), marks, mark, cost) == cost
        assert cost_after(tables, indices, changed, len(changed), marks, mark, 0.5 * cost) > 0.5 * cost
        note_seams(tables, indices, seams, doubts, changed, len(changed))
        np.testing.assert_array_equal(doubts, naive_doubts(tables, after))
        assert seams.sum() == pytest.approx(naive_cost(tables, after), abs=1e-3)


def planned(plan, tables, source, target, *more):
    """What lies where after a plan, or None if there is none, if each cell holds the patch of its number before."""
    patches = np.arange(len(tables.rows), dtype=np.int32)
    changed, coming = np.empty_like(patches), np.empty_like(patches)
    count = plan(tables, patches, source, target, *more, changed, coming)
    if count == 0:
        return None
    assert len(set(changed[:count])) == count
    patches[changed[:count]] = coming[:count]
    assert sorted(patches) == list(range(len(patches)))
    return patches


ONE_LINE = np.uint64(0)
THREE_LINES = np.uint64(2 << 30)


def test_a_slide_moves_all_between_up():
    tables = region()
    source, target = tables.numbers[2, 3], tables.numbers[2, 7]
    patches = planned(plan_slide, tables, source, target, ONE_LINE)
    line = tables.numbers[2, 3:8]
    assert patches[line].tolist() == [*line[1:], source]
    assert (np.delete(patches, line) == np.delete(np.arange(len(patches)), line)).all()
    back = planned(plan_slide, tables, target, source, ONE_LINE)
    assert back[line].tolist() == [target, *line[:-1]]
    column = tables.numbers[2:6, 2]
    assert planned(plan_slide, tables, column[0], column[-1], ONE_LINE)[column].tolist() == [*column[1:], column[0]]


def test_lines_beside_slide_along():
    tables = region()
    patches = planned(plan_slide, tables, tables.numbers[1, 2], tables.numbers[1, 4], THREE_LINES)
    for line in tables.numbers[1:4, 2:5]:
        assert patches[line].tolist() == [*line[1:], line[0]]
    patches = planned(plan_slide, tables, tables.numbers[3, 6], tables.numbers[2, 6], THREE_LINES)
    for column in tables.numbers[2:4, 6:9].T:
        assert patches[column].tolist() == [*column[::-1]]
    assert (patches != np.arange(len(patches))).sum() == 6


def test_a_slide_stays_on_a_line_within_the_region():
    tables = region()
    assert planned(plan_slide, tables, tables.numbers[2, 3], tables.numbers[3, 7], ONE_LINE) is None
    # Between these is the cell that is not in the region; and below the last line there is nothing.
    assert planned(plan_slide, tables, tables.numbers[4, 3], tables.numbers[4, 7], ONE_LINE) is None
    assert planned(plan_slide, tables, tables.numbers[3, 3], tables.numbers[3, 7], THREE_LINES) is None
    assert planned(plan_slide, tables, tables.numbers[6, 3], tables.numbers[6, 5], THREE_LINES) is None
    assert planned(plan_slide, tables, tables.numbers[7, 3], tables.numbers[7, 5], THREE_LINES) is None


def test_rectangles_change_places_as_they_are():
    tables = region()
    random = np.random.default_rng(3)
    swapped = 0
    for _ in range(2000):
        source, target = random.choice(len(tables.rows), 2, replace=False)
        bits = np.uint64(random.integers(2**62))
        patches = planned(plan_rectangles, tables, source, target, bits)
        if patches is None:
            continue
        swapped += 1
        assert patches[source] == target
        assert patches[target] == source
        down, right = tables.rows[target] - tables.rows[source], tables.columns[target] - tables.columns[source]
        for cell in np.flatnonzero(patches != np.arange(len(patches))):
            moved = tables.rows[patches[cell]] - tables.rows[cell], tables.columns[patches[cell]] - tables.columns[cell]
            assert moved in ((down, right), (-down, -right))
    assert swapped > 500


def test_where_kinds_repeat_as_many_come_together_as_that_takes():
    tables = region(period=2)
    line = tables.numbers[2, 2:8]
    assert planned(plan_slide, tables, line[0], line[3], ONE_LINE) is None  # That is another kind.
    patches = planned(plan_slide, tables, line[0], line[4], ONE_LINE)
    assert patches[line].tolist() == [*line[2:], *line[:2]]
    back = planned(plan_slide, tables, line[5], line[1], ONE_LINE)
    assert back[line].tolist() == [*line[4:], *line[:4]]
    # Where the second of those that come together is meant, they begin one cell before.
    second = planned(plan_slide, tables, line[1], line[3], np.uint64(1 << 15))
    assert second[line[:4]].tolist() == [*line[2:4], *line[:2]]
    for found in (patches, back, second):
        assert (tables.kinds.of[found] == tables.kinds.of).all()


@pytest.mark.parametrize("period", [1, 2])
@pytest.mark.parametrize("temperature", [0.0, 2.0])
def test_every_cell_holds_one_patch_and_nothing_gets_dearer_when_cold(temperature, period):
    tables = region(period=period)
    count = len(tables.rows)
    chain = chain_of(tables)
    costs = [naive_cost(tables, chain.patches)]
    for part in range(20):
        exchange(tables, chain, 500 * part, 500 * (part + 1), 10_000, temperature)
        assert (chain.patches[chain.cells] == np.arange(count)).all()
        suits, indices = suit(tables, np.arange(count), chain.patches)
        assert suits
        assert (chain.indices == indices).all()
        assert chain.seams.sum() == pytest.approx(naive_cost(tables, chain.patches), abs=1e-3)
        np.testing.assert_array_equal(chain.doubts, naive_doubts(tables, chain.patches))
        costs.append(naive_cost(tables, chain.patches))
    assert costs[-1] < (0.75 if period == 1 else 0.9) * costs[0]
    if temperature == 0:
        assert (np.diff(costs) < 1e-3).all()


def test_heat_finds_what_is_cheaper():
    tables = region()
    ends = []
    for temperature in (0.0, 4.0):
        chain = chain_of(tables)
        exchange(tables, chain, 0, 400_000, 400_000, temperature)
        ends.append(naive_cost(tables, chain.patches))
    assert ends[1] < 0.98 * ends[0]


def test_parts_make_the_same_moves_as_all_at_once():
    tables = region()
    whole, parts = chain_of(tables), chain_of(tables)
    exchange(tables, whole, 0, 20_480, 20_480, 3.0)
    for begin in range(0, 20_480, 4096):
        exchange(tables, parts, begin, begin + 4096, 20_480, 3.0)
    assert (whole.patches == parts.patches).all()
    assert whole.state == parts.state


@pytest.fixture(scope="module")
def picture(photo):
    """What is known of the pieces of a photograph, 16 x 16 of them, which are in no doubt in their places."""
    features = midline_seams(Puzzle.from_array(photo.pixels[:512, :512], 32))
    with Threads(2) as threads:
        compatibility = find_candidates(features, 16, threads, frame=(16, 16))
    fair = np.full_like(compatibility.fair_costs, -1)
    grid = np.arange(256).reshape(16, 16)
    for direction, (one, other) in enumerate(((grid[:, :-1], grid[:, 1:]), (grid[:-1], grid[1:]))):
        sides, facing = 4 * one.ravel() + direction, 4 * other.ravel() + direction + 2
        fair[sides] = fair[facing] = costs_from(features, costs_squared(features, sides, facing)[:, np.newaxis])[:, 0]
    return compatibility, grounds_of(compatibility)._replace(fair_costs=fair), grid.astype(np.int32)


def exchanges(picture, grid, size, threads=2, key=(1, 1), effort=5):
    compatibility, grounds, _ = picture
    assert isinstance(grounds, Grounds)
    with Threads(threads) as pool:
        return result_of(exchanged(compatibility.features, grounds, grid, size, (1.0, 1.0), effort, key, pool))


@pytest.mark.parametrize("size", [1, 2, 4])
def test_a_strip_that_is_shifted_comes_back(picture, size, monkeypatch):
    grid = picture[2].copy()
    grid[4 : 4 + size] = np.roll(grid[4 : 4 + size], size, axis=1)
    grid[12 : 12 + size] = np.roll(grid[12 : 12 + size], -2 * size, axis=1)
    if size == 1:  # All that is known of the pieces of this photograph is that they are not flat.
        assert exchanges(picture, grid, size) == []
        monkeypatch.setattr(module, "_flat_pieces", lambda features, pieces: np.ones(pieces, dtype=np.bool_))
    found = exchanges(picture, grid, size)
    assert len(found) == 2
    for other in found:
        assert (other == picture[2]).mean() > 0.95
    costs = [cost_of_grid(picture[0].features, 16, other.ravel()) for other in (*found, grid)]
    assert min(costs[:-1]) < costs[-1]


def test_the_same_on_any_number_of_threads_and_other_with_another_key(picture):
    grid = np.roll(picture[2], (4, 8), (0, 1)).copy()
    grid[:8] = np.roll(grid[:8], 2, axis=1)
    once, again, other = (
        exchanges(picture, grid, 2, threads, key) for threads, key in ((1, (1, 1)), (2, (1, 1)), (2, (1, 2)))
    )
    assert all((one == two).all() for one, two in zip(once, again, strict=True))
    assert all(sorted(found.ravel()) == list(range(256)) for found in (*once, *other))


def test_each_step_of_effort_doubles_the_moves(picture, monkeypatch):
    grid = np.roll(picture[2], 2, axis=1)
    moves = []
    for effort in (4, 5, 6):
        made = set()
        monkeypatch.setattr(
            module, "exchange", lambda tables, chain, begin, end, moves, heat, made=made: made.add(moves)
        )
        exchanges(picture, grid, 2, effort=effort)
        moves.append(sorted(made))
    assert moves[1] == [2 * number for number in moves[0]] == [number // 2 for number in moves[2]]
    assert min(moves[0]) > 0


def test_what_is_beyond_doubt_stays(picture):
    assert exchanges(picture, picture[2], 2) == []
    grid = picture[2].copy()
    grid[:2, :4] = grid[:2, [2, 3, 0, 1]]
    for found in exchanges(picture, grid, 2):
        assert (found[8:] == picture[2][8:]).all()


def test_more_patches_than_tables_can_hold_stay(picture, monkeypatch):
    grid = np.roll(picture[2], 2, axis=1)
    assert len(exchanges(picture, grid, 2)) == 2
    monkeypatch.setattr(module, "MOST_CELLS", 3)
    assert exchanges(picture, grid, 2) == []


PERIOD = np.arange(16).reshape(4, 4)


def moved_phases():
    """The phases of what lies so many rows below and columns behind a piece of a phase, of PERIOD."""
    down, right = (np.arange(4).reshape(shape) for shape in ((4, 1, 1), (1, 4, 1)))
    return (PERIOD.ravel() // 4 + down) % 4 * 4 + (PERIOD.ravel() + right) % 4


@pytest.mark.parametrize(("between", "are_some"), [((5, 6), True), ((2, 2), False)])
def test_cells_of_which_no_two_lie_side_by_side_stay(between, are_some):
    """Four single pieces of four kinds: one lies between two others, or not."""
    grid, lattice = np.arange(256, dtype=np.int32).reshape(16, 16), Lattice(np.arange(17), np.arange(17))
    masks = np.uint64(1) << np.tile(PERIOD, (4, 4)).ravel().astype(np.uint64)
    bearings = Bearings(masks, np.zeros(256, dtype=np.bool_), moved_phases())
    doubtful, of_size = np.zeros((2, 16, 16), dtype=np.bool_)
    doubtful[5, 5] = True
    of_size[[5, 5, 7, between[0]], [5, 7, 5, between[1]]] = True
    region = module._region(bearings, PERIOD, grid, lattice, doubtful, of_size)
    assert (region is not None) == are_some


@pytest.mark.parametrize("size", [1, 2, 4])
def test_patches_suit_the_kinds_that_their_phases_allow_and_that_of_their_cell(size):
    """Phases repeat after four pieces; of each patch the first piece knows its phase, but of every third."""
    rows, columns = (part.ravel() for part in np.mgrid[:8:size, 1:9:size])
    corners = np.stack([rows, columns], axis=1)
    pieces = (
        rows[:, np.newaxis, np.newaxis] + np.arange(size)[:, np.newaxis],
        columns[:, np.newaxis, np.newaxis] + np.arange(size),
    )
    grid = np.arange(80, dtype=np.int32).reshape(8, 10)
    masks = np.uint64(1) << PERIOD[np.arange(80) // 10 % 4, np.arange(80) % 10 % 4].astype(np.uint64)
    masks[::3] = 2**16 - 1
    bearings = Bearings(masks, masks == 2**16 - 1, moved_phases())
    patches = grid[pieces]
    order = np.random.default_rng(1).permutation(len(patches))
    found = kinds_of(bearings, PERIOD, Places(rows, columns, corners, pieces), patches[order])
    assert len(found.firsts) - 1 == (4 // size) ** 2
    assert found.strides.tolist() == [4 // size] * 2
    for cell in range(len(order)):
        for patch in range(len(order)):
            own = [masks[piece] == 2**16 - 1 for piece in patches[order[patch]].ravel()]
            suits = all(own) or (corners[order[patch]] % 4 == corners[cell] % 4).all()
            lies = (corners[patch] % 4 == corners[cell] % 4).all()
            index = found.indices[found.of[cell], patch]
            assert (index >= 0) == (suits or lies)
            assert index < 0 or found.members_of(found.of[cell])[index] == patch
    for axis, step in enumerate(((0, size), (size, 0))):
        for cell, corner in enumerate(corners):
            there = (corners % 4 == (corner + step) % 4).all(axis=1)
            assert set(found.of[there]) == {found.beside[axis, found.of[cell]]}
    unknown = kinds_of(bearings, np.full((1, 1), -1), Places(rows, columns, corners, pieces), patches)
    assert (unknown.indices == np.arange(len(patches))).all()
    assert unknown.beside.tolist() == [[0], [0]]


def test_pieces_are_flat_as_far_as_likeness_tells(picture):
    assert not module._flat_pieces(picture[0].features, 256).any()
    sheets = np.zeros((2 * 5, COLUMNS), dtype=np.float32)
    sheets[:, FLAT] = np.repeat([0, 0.2, 1, 0, 1], 2)
    features = picture[0].features._replace(likeness=no_likeness()._replace(sheets=sheets))
    assert module._flat_pieces(features, 5).tolist() == [False, True, True, False, True]
    assert not module._flat_pieces(lab_features(drawn_puzzle(2, 3)), 6).any()


def test_nothing_is_left_to_compile():
    features = midline_seams(drawn_puzzle(8, 8))
    kernels = (fill_candidates, fill_outside, exchange)
    with Threads(1) as threads:
        compile_exchanges(find_candidates(features, 2, threads), 8, threads)
        signatures = [len(each.signatures) for each in kernels]
        assert min(signatures) > 0
        grid = np.random.default_rng(1).permutation(64).astype(np.int32).reshape(8, 8)
        compatibility = find_candidates(features, 2, threads)
        assert result_of(
            exchanged(compatibility.told, grounds_of(compatibility), grid, 2, HEATS[2], 5, (1, 1), threads)
        )
    assert [len(each.signatures) for each in kernels] == signatures


def test_memory_is_counted():
    assert exchanges_bytes(10**6) == exchanges_bytes(MOST_CELLS) > 5 * 4 * MOST_CELLS**2
    assert exchanges_bytes(10) < exchanges_bytes(100)
