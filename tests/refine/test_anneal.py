from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jigsolve import Puzzle
from jigsolve.compatibility.bearings import Bearings, phases_around
from jigsolve.compatibility.costs import SCALE
from jigsolve.compatibility.lab import lab_features
from jigsolve.compatibility.memory import empty_memory
from jigsolve.compatibility.seams import midline_seams
from jigsolve.genetic.population import cost_of_grid
from jigsolve.genetic.random import GAMMA, below, mix
from jigsolve.refine.anneal import (
    DRAWN,
    HOLE,
    MANY_DISPLACED,
    MOST_MOVED,
    MOST_SWAPPED,
    MOST_WHOLE_PART,
    OUTSIDE,
    STRIDE,
    anneal,
    copy_grid,
    dearest_doubt,
    fill_holes,
    new_chain,
    plan_swap,
)
from tests import naive
from tests.puzzles import compatibility_of, costs_of, drawing, drawn_puzzle, random_features

FRAMES = st.tuples(st.integers(1, 7), st.integers(1, 7))
BITS = 4
NO_PHASES = np.empty((0, 0), dtype=np.uint64)


def chain_from(compatibility, columns, grid, seed=1, index=0, bits=BITS):
    grid = np.ascontiguousarray(grid, dtype=np.int32).ravel()
    key, codes = np.uint64(seed), np.zeros(len(grid), dtype=np.int32)
    memory = empty_memory(len(grid), bits)
    return new_chain(compatibility, columns, codes, grid, memory, key, np.uint64(1), np.uint64(index))


def advance(compatibility, columns, chain, begin, end, moves, temperature, bits=BITS):
    memory = empty_memory(len(chain.board.places), bits)
    anneal(compatibility, columns, NO_PHASES, chain, memory, begin, end, moves, temperature)


def test_pieces_are_brought_only_where_they_can_lie():
    """Two phases, in turns along a row: a piece of the one is never brought where the other belongs."""
    puzzle, _ = drawn_puzzle(6, 8).shuffled(1)
    compatibility = compatibility_of(midline_seams(puzzle))
    moved = np.array([[[0, 1], [1, 0]]])
    for masks in (np.full(48, 1, dtype=np.uint64), np.full(48, 3, dtype=np.uint64)):
        bearings = Bearings(masks, np.zeros(48, np.bool_), moved)
        phases = phases_around(bearings, np.uint64(2))
        chain = chain_from(compatibility._replace(bearings=bearings), 8, np.arange(48))
        anneal(compatibility._replace(bearings=bearings), 8, phases, chain, empty_memory(48, BITS), 0, 4000, 4000, 0.0)
        everywhere = chain_from(compatibility, 8, np.arange(48))
        advance(compatibility, 8, everywhere, 0, 4000, 4000, 0.0)
        assert (grid_of(everywhere, 8) != np.arange(48)).any()
        same = (grid_of(chain, 8) == grid_of(everywhere, 8)).all()
        # With both phases a piece suits every cell; with the first only those of odd columns, so moves are missing.
        assert same == (masks[0] == 3)
    nowhere = compatibility._replace(bearings=Bearings(np.zeros(48, dtype=np.uint64), np.zeros(48, np.bool_), moved))
    chain = chain_from(nowhere, 8, np.arange(48))
    anneal(nowhere, 8, phases, chain, empty_memory(48, BITS), 0, 4000, 4000, 0.0)
    assert (grid_of(chain, 8) == np.arange(48)).all()


def inside(cells, rows, columns):
    """The pieces on a board without its border."""
    return cells.reshape(rows + 2, columns + 2)[1:-1, 1:-1]


def grid_of(chain, columns):
    grid = np.empty(len(chain.board.places), dtype=np.int32)
    copy_grid(chain.board, columns, grid)
    return grid


def cost_of_chain(compatibility, columns, chain):
    return cost_of_grid(compatibility.features, columns, grid_of(chain, columns))


def run(compatibility, columns, grid, moves, temperature, seed=1, bits=BITS):
    chain = chain_from(compatibility, columns, grid, seed, bits=bits)
    advance(compatibility, columns, chain, 0, moves, moves, temperature, bits)
    return chain


def check_invariants(compatibility, rows, columns, chain):
    """Whatever happened, a chain's notes are those of its board."""
    board, doubts = chain.board, chain.doubts
    pieces = rows * columns
    grid = inside(board.cells, rows, columns)
    assert sorted(grid.ravel()) == list(range(pieces))
    assert (board.cells == OUTSIDE).sum() == len(board.cells) - pieces
    assert board.cells[board.places].tolist() == list(range(pieces))
    doubtful = naive.doubted_sides(grid, costs_of(compatibility.features), compatibility.partners, compatibility.doubt)
    listed = doubts.sides[: doubts.number[0]].tolist()
    assert len(listed) == len(doubtful)
    assert set(listed) == doubtful
    assert [doubts.indices[side] for side in listed] == list(range(len(listed)))
    assert (doubts.indices >= 0).sum() == len(listed)
    assert grid_of(chain, columns).tolist() == grid.ravel().tolist()
    seams, costs = board.seams.reshape(rows + 2, columns + 2, 2)[1:-1, 1:-1], costs_of(compatibility.features)
    assert (seams[:, :-1, 0] == costs[grid[:, :-1], naive.RIGHT, grid[:, 1:]]).all()
    assert (seams[:-1, :, 1] == costs[grid[:-1], naive.DOWN, grid[1:]]).all()


@settings(max_examples=60, deadline=None)
@given(FRAMES, st.integers(0, 2**32), st.integers(1, 40), st.sampled_from([0.0, 0.002, 0.1]), st.booleans())
def test_the_notes_of_a_chain_stay_those_of_its_board(frame, seed, keep, temperature, alike):
    rows, columns = frame
    rng = np.random.default_rng(seed)
    features = random_features(rng, rows * columns, low=-2 if alike else -1000, high=3 if alike else 1000)
    compatibility = compatibility_of(features, keep)
    start = rng.permutation(rows * columns).reshape(rows, columns)
    chain = chain_from(compatibility, columns, start, seed)
    check_invariants(compatibility, rows, columns, chain)
    for begin in range(0, 300, 100):
        advance(compatibility, columns, chain, begin, begin + 100, 300, temperature)
        check_invariants(compatibility, rows, columns, chain)


@settings(max_examples=60, deadline=None)
@given(FRAMES, st.integers(0, 2**32))
def test_of_a_few_doubts_the_dearest_is_taken(frame, seed):
    rows, columns = frame
    rng = np.random.default_rng(seed)
    compatibility = compatibility_of(random_features(rng, rows * columns))
    chain = chain_from(compatibility, columns, rng.permutation(rows * columns))
    costs, fair = costs_of(compatibility.features), compatibility.fair_costs
    listed = chain.doubts.sides[: chain.doubts.number[0]]
    if len(listed) == 0:
        return
    states = [np.uint64((seed + step * int(GAMMA)) % 2**64) for step in range(1, DRAWN + 1)]
    drawn = [listed[below(np.uint64(mix(state)), len(listed))] for state in states]
    side = dearest_doubt(fair, chain.board, chain.doubts, np.uint64(seed))

    def excess(side):
        piece, direction = divmod(side, 4)
        beside = (1, columns + 2, -1, -columns - 2)[direction]
        return costs[piece, direction, chain.board.cells[chain.board.places[piece] + beside]] - fair[side]

    assert side in drawn
    assert excess(side) == pytest.approx(max(excess(other) for other in drawn), abs=1e-5)


def test_a_hot_chain_moves_far_and_a_cold_one_only_down():
    compatibility = compatibility_of(random_features(np.random.default_rng(1), 30))
    start = np.arange(30).reshape(5, 6)
    hot = chain_from(compatibility, 6, start)
    advance(compatibility, 6, hot, 0, 2000, 10**9, 10.0)  # So many moves are to come that it never cools.
    assert (inside(hot.board.cells, 5, 6) != start).mean() > 0.8
    cold = chain_from(compatibility, 6, start)
    costs = [cost_of_chain(compatibility, 6, cold)]
    for begin in range(0, 2000, 50):
        advance(compatibility, 6, cold, begin, begin + 50, 2000, 0.0)
        costs.append(cost_of_chain(compatibility, 6, cold))
    assert all(after <= before + 1e-6 for before, after in pairwise(costs))
    assert costs[-1] < 0.9 * costs[0]


def test_the_same_seed_gives_the_same_whatever_is_remembered_and_another_seed_another():
    compatibility = compatibility_of(midline_seams(drawn_puzzle(5, 6)))
    start = np.random.default_rng(1).permutation(30)
    chains = [run(compatibility, 6, start, 3000, 5.0, seed, bits) for seed, bits in ((1, 4), (1, 0), (1, 9), (2, 4))]
    cells = [chain.board.cells.tolist() for chain in chains]
    assert cells[0] == cells[1] == cells[2] != cells[3]


def test_chains_of_a_round_differ():
    compatibility = compatibility_of(midline_seams(drawn_puzzle(5, 6)))
    chains = [chain_from(compatibility, 6, np.arange(30)[::-1], index=index) for index in (0, 1)]
    for chain in chains:
        advance(compatibility, 6, chain, 0, 500, 500, 5.0)
    assert chains[0].board.cells.tolist() != chains[1].board.cells.tolist()


@settings(max_examples=25, deadline=None)
@given(st.sets(st.integers(0, 4 * STRIDE), max_size=6) | st.just({STRIDE, 2 * STRIDE, 3 * STRIDE}))
def test_wherever_a_run_is_cut_it_gives_what_one_run_gives(cuts):
    compatibility = compatibility_of(midline_seams(drawn_puzzle(5, 6)))
    start, moves = np.random.default_rng(1).permutation(30), 4 * STRIDE
    whole = run(compatibility, 6, start, moves, 5.0)
    sliced = chain_from(compatibility, 6, start)
    for begin, end in pairwise([0, *sorted(cuts), moves]):
        advance(compatibility, 6, sliced, begin, end, moves, 5.0)
    assert sliced.board.cells.tolist() == whole.board.cells.tolist()
    assert sliced.doubts.indices.tolist() == whole.doubts.indices.tolist()
    assert sliced.doubts.number == whole.doubts.number
    assert sliced.state == whole.state


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 2), (2, 1), (1, 9), (9, 1), (2, 2)])
def test_the_smallest_frames(rows, columns):
    compatibility = compatibility_of(midline_seams(drawn_puzzle(rows, columns)))
    start = np.random.default_rng(2).permutation(rows * columns)
    chain = run(compatibility, columns, start, 2000, 1.0)
    check_invariants(compatibility, rows, columns, chain)


@pytest.mark.parametrize("measure", [lab_features, midline_seams])
def test_identical_pieces(measure):
    puzzle = Puzzle.from_array(np.tile(drawing(8, 8), (4, 5, 1)), 8)
    compatibility = compatibility_of(measure(puzzle), 4)
    start = np.arange(20)
    chain = run(compatibility, 5, start, 2000, 1.0)
    check_invariants(compatibility, 4, 5, chain)


def chain_of_buddies(pieces):
    """Features of pieces in one row that fit their neighbours, and nothing else, exactly."""
    features = random_features(np.random.default_rng(1), pieces, low=-(2**20), high=2**20)
    for piece in range(pieces - 1):
        features[4 * (piece + 1) + naive.LEFT] = features[4 * piece + naive.RIGHT]
    return features


def test_without_a_doubt_nothing_moves():
    compatibility = compatibility_of(chain_of_buddies(8))
    chain = run(compatibility, 8, np.arange(8), 1000, 100 * SCALE)
    assert chain.doubts.number[0] == 0
    assert inside(chain.board.cells, 1, 8).tolist() == [list(range(8))]


def damaged(rows, columns, damage):
    """The right arrangement with a mistake in it."""
    grid = np.arange(rows * columns).reshape(rows, columns)
    if damage == "swapped":
        grid[1, 1], grid[3, 4] = grid[3, 4], grid[1, 1]
    elif damage == "shifted":
        grid[2, 1:5] = np.roll(grid[2, 1:5], 1)
    elif damage == "segments":
        grid[0:2, 0:2], grid[3:5, 3:5] = grid[3:5, 3:5].copy(), grid[0:2, 0:2].copy()
    return grid


@pytest.mark.parametrize("damage", ["swapped", "shifted", "segments"])
def test_a_mistake_is_repaired(damage, photo):
    rows, columns = 5, 6
    puzzle = Puzzle.from_array(photo.pixels[100 : 100 + 32 * rows, 100 : 100 + 32 * columns], 32)
    compatibility = compatibility_of(midline_seams(puzzle))
    start = damaged(rows, columns, damage)
    chain = run(compatibility, columns, start, 20_000, 5.0)
    assert grid_of(chain, columns).tolist() == list(range(rows * columns))


def with_a_block(rows, columns, height, width):
    """Features of a picture beside as much flat ground, with a block inside that is hard to break; and where that is.

    All neighbours fit exactly. The seams inside the block are strong, those around it weak: no part of it can leave
    the rest without making the arrangement dearer by far. The ground fits itself, whichever piece lies where.
    """
    rng = np.random.default_rng(rows)
    strong, weak = (random_features(rng, rows * columns, low=-size, high=size) for size in (2**20, 2**8))
    picture, block = np.zeros((rows, columns), dtype=bool), np.zeros((rows, columns), dtype=bool)
    picture[:, : columns // 2] = True
    block[2 : 2 + height, 2 : 2 + width] = True
    features = np.zeros_like(strong)
    for row, column in np.ndindex(rows, columns):
        for direction in (naive.RIGHT, naive.DOWN):
            down, right = naive.STEPS[direction]
            beside = (row + down, column + right)
            if row + down < rows and column + right < columns and picture[row, column] and picture[beside]:
                side = 4 * (row * columns + column) + direction
                kind = weak if block[row, column] != block[beside] else strong
                features[side] = features[4 * (beside[0] * columns + beside[1]) + (direction ^ 2)] = kind[side]
    return features, block


def swapped_with_ground(rows, columns, block):
    """The right arrangement, but the block lies in the ground, in other rows and columns than its own."""
    grid = np.arange(rows * columns).reshape(rows, columns)
    height, width = block.any(axis=1).sum(), block.any(axis=0).sum()
    ground = np.zeros_like(block)
    ground[-1 - height : -1, -1 - width : -1] = True
    grid[block], grid[ground] = grid[ground].copy(), grid[block].copy()
    return grid


def check_notes_by_a_new_chain(compatibility, columns, chain):
    """As check_invariants, of large puzzles: the notes of a new chain are compared with obvious ones elsewhere."""
    grid = grid_of(chain, columns)
    assert sorted(grid) == list(range(len(grid)))
    new = chain_from(compatibility, columns, grid)
    assert chain.board.cells.tolist() == new.board.cells.tolist()
    assert chain.board.places.tolist() == new.board.places.tolist()
    listed, expected = (one.doubts.sides[: one.doubts.number[0]].tolist() for one in (chain, new))
    assert len(listed) == len(expected)
    assert set(listed) == set(expected)
    assert [chain.doubts.indices[side] for side in listed] == list(range(len(listed)))
    assert (chain.doubts.indices >= 0).sum() == len(listed)


# The second is so large that the ground which it displaces goes back as it lay.
@pytest.mark.parametrize(("rows", "columns", "height", "width"), [(20, 22, 5, 5), (26, 28, 6, 7)])
def test_a_large_segment_is_brought_back_as_a_whole(rows, columns, height, width):
    assert MOST_MOVED < height * width < rows * columns // MOST_WHOLE_PART
    assert (height * width > MANY_DISPLACED) == (rows == 26)
    features, block = with_a_block(rows, columns, height, width)
    compatibility = compatibility_of(features)
    chain = chain_from(compatibility, columns, swapped_with_ground(rows, columns, block))
    costs = [cost_of_chain(compatibility, columns, chain)]
    for begin in range(0, 20_000, 1000):
        advance(compatibility, columns, chain, begin, begin + 1000, 20_000, 0.0)
        check_notes_by_a_new_chain(compatibility, columns, chain)
        costs.append(cost_of_chain(compatibility, columns, chain))
    assert all(after <= before + 1e-6 for before, after in pairwise(costs))
    assert costs[0] > costs[-1] == 0
    picture = np.arange(rows * columns).reshape(rows, columns)[:, : columns // 2]
    assert (grid_of(chain, columns).reshape(rows, columns)[:, : columns // 2] == picture).all()


def test_a_segment_of_more_than_its_part_of_the_puzzle_stays_where_it_is():
    # This tells that in the test above it is the whole segment that moves: the same block, in a smaller puzzle.
    rows, columns = 14, 20
    features, block = with_a_block(rows, columns, 5, 5)
    assert rows * columns // MOST_WHOLE_PART < 5 * 5
    compatibility = compatibility_of(features)
    start = swapped_with_ground(rows, columns, block)
    chain = run(compatibility, columns, start, 20_000, 0.0)
    check_notes_by_a_new_chain(compatibility, columns, chain)
    assert not np.isin(np.flatnonzero(block), grid_of(chain, columns).reshape(rows, columns)[block]).any()


def test_hot_or_cold_the_notes_of_a_chain_with_large_segments_stay_those_of_its_board():
    rows, columns = 20, 22
    features, block = with_a_block(rows, columns, 5, 5)
    compatibility = compatibility_of(features)
    unit = cost_of_chain(compatibility, columns, chain_from(compatibility, columns, np.arange(440)[::-1])) / 440
    for seed, temperature in enumerate((0.001, 0.1, 1.0)):
        chain = chain_from(compatibility, columns, swapped_with_ground(rows, columns, block), seed)
        for begin in range(0, 6000, 1000):
            advance(compatibility, columns, chain, begin, begin + 1000, 6000, temperature * unit)
            check_notes_by_a_new_chain(compatibility, columns, chain)


def swap_plan(chain, anchor, wanted, direction, seed):
    """A plan as (cell, source) pairs, in order."""
    changed, sources = (np.full(len(chain.board.cells), -9, dtype=np.int32) for _ in range(2))
    state = np.uint64(seed)
    places = (np.int64(place) for place in (anchor, wanted))
    count = plan_swap(chain.board, chain.doubts.indices, *places, direction, state, changed, sources)
    assert (changed[count:] == -9).all()
    return list(zip(changed[:count].tolist(), sources[:count].tolist(), strict=True))


def lines_of(plan, width, direction):
    """The parts of a plan by the line that they lie on, each in the direction, and whether each cell's seam goes on."""
    lines = {}
    for cell, source in plan:
        lines.setdefault(cell % width if direction & 1 else cell // width, []).append((cell, source))
    sign = 1 if direction < 2 else -1
    return {line: sorted(part, key=lambda pair: sign * pair[0]) for line, part in lines.items()}


@settings(max_examples=150, deadline=None)
@given(FRAMES, st.integers(0, 2**32), st.booleans())
def test_a_planned_swap_swaps_two_blocks_of_every_line_it_touches(frame, seed, ordered):
    rows, columns = frame
    rng = np.random.default_rng(seed)
    # An arrangement with few mistakes has long blocks, one without order short ones.
    features = midline_seams(drawn_puzzle(rows, columns)) if ordered else random_features(rng, rows * columns)
    compatibility = compatibility_of(features)
    grid = np.arange(rows * columns) if ordered else rng.permutation(rows * columns)
    mistakes = rng.integers(rows * columns, size=2)
    grid[mistakes] = grid[mistakes[::-1]]
    chain = chain_from(compatibility, columns, grid)
    cells, width = chain.board.cells, chain.board.width
    doubted = naive.doubted_sides(
        inside(cells, rows, columns), costs_of(features), compatibility.partners, compatibility.doubt
    )
    steps = (1, width, -1, -width)

    def seam_is_doubted(cell, direction):
        piece, other = int(cells[cell]), int(cells[cell + steps[direction]])
        return other >= 0 and bool({4 * piece + direction, 4 * other + (direction ^ 2)} & doubted)

    for side in sorted(doubted):
        direction, step = side % 4, steps[side % 4]
        anchor = int(chain.board.places[side // 4])
        own_line = anchor % width if direction & 1 else anchor // width
        along = [cell for cell in chain.board.places.tolist() if (cell - anchor) % step == 0]
        along = [cell for cell in along if direction & 1 or cell // width == own_line]
        for wanted in set(along) - {anchor, anchor + step}:
            plan = swap_plan(chain, anchor, wanted, direction, int(rng.integers(2**63)))
            changed = [cell for cell, _ in plan]
            assert len(set(changed)) == len(changed) <= MOST_SWAPPED + max(frame)
            assert set(changed) == {source for _, source in plan}
            assert (cells[changed] >= 0).all()
            lines = lines_of(plan, width, direction)
            for part in lines.values():
                run_of_cells, sources = [cell for cell, _ in part], [source for _, source in part]
                assert run_of_cells == [run_of_cells[0] + index * step for index in range(len(part))]
                cut = run_of_cells.index(sources[0])
                assert sources == run_of_cells[cut:] + run_of_cells[:cut]
            assert sorted(lines) == list(range(min(lines, default=0), max(lines, default=-1) + 1))
            if own_line not in lines:  # From the wanted piece to the anchor all is one block.
                assert (anchor - wanted) // step > 0
                between = range((anchor - wanted) // step)
                assert not any(seam_is_doubted(wanted + index * step, direction) for index in between)
                continue
            come_from = {source: cell for cell, source in lines[own_line]}
            assert come_from[wanted] == come_from.get(anchor, anchor) + step
            # The wanted piece brings all with it up to the next doubted seam, or up to the border.
            last = wanted
            while come_from.get(last + step) == come_from[last] + step:
                assert not seam_is_doubted(last, direction)
                last += step
            assert seam_is_doubted(last, direction) or cells[last + step] == OUTSIDE


def test_lines_beside_the_anchors_are_swapped_with_it():
    # Three lines of twelve: in all of them the parts 2 to 5 and 6 to 9 are swapped.
    rows, columns = 3, 12
    compatibility = compatibility_of(midline_seams(drawn_puzzle(rows, columns)))
    right = np.arange(rows * columns).reshape(rows, columns)
    wrong = right[:, [0, 1, 6, 7, 8, 9, 2, 3, 4, 5, 10, 11]]
    chain = chain_from(compatibility, columns, wrong)
    places = chain.board.places
    found = set()
    for seed in range(200):
        plan = dict(swap_plan(chain, places[right[1, 1]], places[right[1, 2]], naive.RIGHT, seed * 2**32 + seed))
        after = chain.board.cells.copy()
        after[list(plan)] = chain.board.cells[list(plan.values())]
        found.add(tuple(inside(after, rows, columns).ravel().tolist()))
        assert inside(after, rows, columns)[1].tolist() == right[1].tolist()
    assert tuple(right.ravel().tolist()) in found


@pytest.mark.parametrize("turned", [False, True])
def test_a_strip_with_two_parts_swapped_is_repaired(turned):
    """The parts are larger than any segment that moves as one, and no move may make anything dearer."""
    picture, right = drawing(3 * 8, 24 * 8), np.arange(3 * 24).reshape(3, 24)
    wrong = right[:, [0, 1, *range(12, 20), *range(2, 12), *range(20, 24)]]
    if turned:  # Pieces are numbered by rows again.
        numbers = right.T.ravel().argsort()
        picture, right, wrong = picture.swapaxes(0, 1), numbers[right.T], numbers[wrong.T]
    compatibility = compatibility_of(midline_seams(Puzzle.from_array(picture, 8)))
    columns = right.shape[1]
    chains = [run(compatibility, columns, wrong, 20_000, 0.0, seed) for seed in range(1, 5)]
    best = min(chains, key=lambda chain: cost_of_chain(compatibility, columns, chain))
    assert grid_of(best, columns).tolist() == right.ravel().tolist() == list(range(72))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 12), st.sampled_from([0.0, 0.3]))
def test_holes_are_filled_for_what_is_said_and_filling_ends_where_more_is_spent_than_allowed(seed, number, noise):
    rows, columns = 4, 5
    rng = np.random.default_rng(seed)
    features = random_features(rng, rows * columns)
    compatibility, costs = compatibility_of(features), costs_of(features)
    key = np.uint64(seed)

    def filled(allowed):
        chain = chain_from(compatibility, columns, start)
        board, memory = chain.board, empty_memory(rows * columns, BITS)
        holes = board.places[start.ravel()[emptied]].copy()
        pool = board.cells[holes].copy()
        board.cells[holes] = HOLE
        spent = naive.cost_of_pairs(inside(board.cells, rows, columns), costs)
        room = (features, compatibility.bearings.several, memory.entries, memory.step, board, holes, number, pool)
        spent = fill_holes(*room, key, noise, spent, allowed)
        return spent, inside(board.cells, rows, columns)

    start = rng.permutation(rows * columns).reshape(rows, columns)
    emptied = rng.permutation(rows * columns)[:number]
    spent, grid = filled(np.inf)
    assert sorted(grid.ravel()) == list(range(rows * columns))
    assert spent == pytest.approx(naive.cost_of_pairs(grid, costs), rel=1e-5)
    again, as_before = filled(spent)
    assert again == spent
    assert as_before.tolist() == grid.tolist()
    allowed = spent * rng.uniform(0.5, 0.999)
    too_much, stopped = filled(allowed)
    assert too_much > allowed
    put_in = stopped != HOLE
    assert (stopped[put_in] == grid[put_in]).all()
    # Without noise all are too dear that are left out, and else what was put in is.
    assert too_much == np.inf or too_much == pytest.approx(naive.cost_of_pairs(stopped, costs), rel=1e-5)
    assert (too_much == np.inf) <= (noise == 0 and (stopped == HOLE).any())
