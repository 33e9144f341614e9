from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jigsolve import Puzzle
from jigsolve.compatibility.costs import SCALE
from jigsolve.compatibility.lab import lab_features
from jigsolve.compatibility.seams import midline_seams
from jigsolve.genetic.population import cost_of_grid
from jigsolve.refine.anneal import OUTSIDE, STRIDE, anneal, copy_grid, new_chain
from tests import naive
from tests.puzzles import compatibility_of, drawing, drawn_puzzle, random_features

FRAMES = st.tuples(st.integers(1, 7), st.integers(1, 7))
BITS = 4


def chain_from(compatibility, columns, grid, seed=1, index=0, bits=BITS):
    grid = np.ascontiguousarray(grid, dtype=np.int32).ravel()
    key = np.uint64(seed)
    return new_chain(compatibility.buddies, columns, grid, bits, key, np.uint64(1), np.uint64(index))


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
    anneal(compatibility, columns, chain, 0, moves, moves, temperature)
    return chain


def check_invariants(compatibility, rows, columns, chain):
    """Whatever happened, a chain's notes are those of its board."""
    board, doubts = chain.board, chain.doubts
    pieces = rows * columns
    grid = inside(board.cells, rows, columns)
    assert sorted(grid.ravel()) == list(range(pieces))
    assert (board.cells == OUTSIDE).sum() == len(board.cells) - pieces
    assert board.cells[board.places].tolist() == list(range(pieces))
    doubtful = {
        4 * piece + direction
        for piece in range(pieces)
        for direction in range(4)
        if naive.neighbour(grid, piece, direction) not in (None, compatibility.buddies[piece, direction])
    }
    listed = doubts.sides[: doubts.count[0]].tolist()
    assert len(listed) == len(doubtful)
    assert set(listed) == doubtful
    assert [doubts.indices[side] for side in listed] == list(range(len(listed)))
    assert (doubts.indices >= 0).sum() == len(listed)
    assert grid_of(chain, columns).tolist() == grid.ravel().tolist()


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
        anneal(compatibility, columns, chain, begin, begin + 100, 300, temperature)
        check_invariants(compatibility, rows, columns, chain)


def test_a_hot_chain_moves_far_and_a_cold_one_only_down():
    compatibility = compatibility_of(random_features(np.random.default_rng(1), 30))
    start = np.arange(30).reshape(5, 6)
    hot = chain_from(compatibility, 6, start)
    anneal(compatibility, 6, hot, 0, 2000, 10**9, 10.0)  # So many moves are to come that it never cools.
    assert (inside(hot.board.cells, 5, 6) != start).mean() > 0.8
    cold = chain_from(compatibility, 6, start)
    costs = [cost_of_chain(compatibility, 6, cold)]
    for begin in range(0, 2000, 50):
        anneal(compatibility, 6, cold, begin, begin + 50, 2000, 0.0)
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
        anneal(compatibility, 6, chain, 0, 500, 500, 5.0)
    assert chains[0].board.cells.tolist() != chains[1].board.cells.tolist()


def test_slices_give_what_one_run_gives():
    compatibility = compatibility_of(midline_seams(drawn_puzzle(5, 6)))
    start, moves = np.random.default_rng(1).permutation(30), 4 * STRIDE
    whole = run(compatibility, 6, start, moves, 5.0)
    sliced = chain_from(compatibility, 6, start)
    for begin in range(0, moves, STRIDE):
        anneal(compatibility, 6, sliced, begin, begin + STRIDE, moves, 5.0)
    assert sliced.board.cells.tolist() == whole.board.cells.tolist()
    assert sliced.doubts.indices.tolist() == whole.doubts.indices.tolist()
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
    assert chain.doubts.count[0] == 0
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
