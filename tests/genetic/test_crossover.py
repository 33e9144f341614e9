import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jigsolve.compatibility.bearings import Bearings
from jigsolve.compatibility.costs import HEAD, squared_distance
from jigsolve.compatibility.memory import empty_memory, new_memory
from jigsolve.compatibility.partners import NO_PARTNER, VAGUE
from jigsolve.compatibility.seams import midline_seams
from jigsolve.genetic.crossover import (
    CHUNK,
    DRAWN,
    EMPTY,
    LOOKED_AT,
    NONE,
    FreePieces,
    bound_squares,
    breed,
    cheapest_free,
    consult,
    fittest_drawn,
    fittest_for_cell,
    gather_free,
    grow,
    new_workspace,
)
from jigsolve.genetic.population import cost_of_grid
from jigsolve.genetic.random import first_state
from tests import naive
from tests.puzzles import compatibility_of, costs_of, random_features, random_pieces

FRAMES = st.tuples(st.integers(1, 6), st.integers(1, 6))
# Nothing is known of phases.
ANYWHERE = (np.empty(0, dtype=np.uint64), np.empty((0, 0), dtype=np.uint64), 0, 0)


def grow_child(compatibility, first, second, start, seed, mutant_from=None, mutation_rate=0.0, bits=0):
    """One child by the kernels, and its placements by phase."""
    rows, columns = first.shape
    work = new_workspace(rows * columns, rows, columns)
    state = np.uint64(first_state(seed, 0, 0))
    consult(first.ravel(), second.ravel(), columns, compatibility.buddies, work.neighbours, work.advice)
    child, phases = np.full(rows * columns, -9, dtype=np.int32), np.zeros(3, dtype=np.int64)
    mutant_from = rows * columns if mutant_from is None else mutant_from
    memory = new_memory(rows * columns, bits)
    grow(compatibility, rows, columns, start, mutant_from, mutation_rate, state, work, memory, child, phases)
    return child.reshape(rows, columns), phases


def random_parents(rng, rows, columns):
    return [rng.permutation(rows * columns).astype(np.int32).reshape(rows, columns) for _ in range(2)]


@settings(max_examples=80, deadline=None)
@given(FRAMES, st.integers(0, 2**32), st.integers(1, 40), st.sampled_from([0.0, 0.3, 1.0]))
def test_every_piece_is_placed_once_whatever_the_parents(frame, seed, keep, mutation_rate):
    rows, columns = frame
    rng = np.random.default_rng(seed)
    compatibility = compatibility_of(random_features(rng, rows * columns), keep)
    first, second = random_parents(rng, rows, columns)
    start = int(rng.integers(rows * columns))
    child, phases = grow_child(compatibility, first, second, start, seed, mutation_rate=mutation_rate)
    assert sorted(child.ravel()) == list(range(rows * columns))
    assert phases.sum() == rows * columns - 1


@settings(max_examples=60, deadline=None)
@given(FRAMES, st.integers(0, 2**32))
def test_the_child_of_equal_parents_is_their_copy(frame, seed):
    rows, columns = frame
    rng = np.random.default_rng(seed)
    compatibility = compatibility_of(random_features(rng, rows * columns))
    parent, _ = random_parents(rng, rows, columns)
    child, phases = grow_child(compatibility, parent, parent.copy(), int(rng.integers(rows * columns)), seed)
    assert (child == parent).all()
    assert phases.tolist() == [rows * columns - 1, 0, 0]


@settings(max_examples=60, deadline=None)
@given(FRAMES, st.integers(0, 2**32))
def test_renumbering_the_pieces_renumbers_the_child_and_nothing_else(frame, seed):
    rows, columns = frame
    pieces = rows * columns
    rng = np.random.default_rng(seed)
    features = random_features(rng, pieces)
    first, second = random_parents(rng, rows, columns)
    start = int(rng.integers(pieces))
    child, phases = grow_child(compatibility_of(features), first, second, start, seed)

    new_number = (np.arange(pieces) + 1 + int(rng.integers(pieces))) % pieces
    renumbered = np.empty((pieces, 4, features.shape[1]), dtype=np.int32)
    renumbered[new_number] = features.reshape(pieces, 4, -1)
    parents = [new_number[parent].astype(np.int32) for parent in (first, second)]
    compatibility = compatibility_of(renumbered.reshape(features.shape))
    other_child, other_phases = grow_child(compatibility, *parents, int(new_number[start]), seed)
    assert (other_child == new_number[child]).all()
    assert (other_phases == phases).all()


@settings(max_examples=60, deadline=None)
@given(FRAMES, st.integers(0, 2**32), st.integers(1, 40))
def test_the_number_of_candidates_kept_changes_nothing(frame, seed, keep):
    rows, columns = frame
    rng = np.random.default_rng(seed)
    features = random_features(rng, rows * columns, low=-2, high=3)  # many ties
    first, second = random_parents(rng, rows, columns)
    children = [grow_child(compatibility_of(features, k), first, second, 0, seed)[0] for k in (keep, 100)]
    assert (children[0] == children[1]).all()


@pytest.mark.parametrize("measure", ["distance", "seams"])
def test_nor_does_it_where_lists_run_dry_in_a_puzzle_of_many_chunks(measure):
    rows, columns = 11, 13
    rng = np.random.default_rng(4)
    few_values = random_features(rng, rows * columns, low=-2, high=3)
    features = few_values if measure == "distance" else midline_seams(random_pieces(rng, rows * columns, levels=3))
    first, second = random_parents(rng, rows, columns)
    for mutation_rate in (0.0, 0.1):
        children = [
            grow_child(compatibility_of(features, keep), first, second, 7, 1, mutation_rate=mutation_rate)[0].tolist()
            for keep in (1, 3, rows * columns)
        ]
        assert children[0] == children[1] == children[2]


def free_pieces(pieces):
    """Room for as many; nothing in it makes sense yet."""
    return FreePieces(
        np.full(pieces, -9, dtype=np.int32),
        np.full((HEAD, pieces), np.nan, dtype=np.float32),
        np.full(pieces, np.nan, dtype=np.float32),
    )


FEATURES = {
    "few values": (-2, 3),
    "many values": (-1000, 1000),
    "more than float32 holds": (-(2**27), 2**27),
    "what float32 cannot tell apart": (2**29, 2**29 + 5),
    "all alike": (7, 8),
}


def features_of_kind(rng, kind, pieces):
    if kind == "seams":
        return midline_seams(random_pieces(rng, pieces, levels=3))
    return random_features(rng, pieces, HEAD + int(rng.integers(3)), *FEATURES[kind])


@settings(max_examples=120, deadline=None)
@given(
    st.sampled_from([*FEATURES, "seams"]),
    st.integers(1, 30) | st.sampled_from([CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 5]),
    st.integers(0, 2**32),
    st.booleans(),
)
def test_the_cheapest_free_piece_is_the_obvious_one(kind, pieces, seed, shuffled):
    rng = np.random.default_rng(seed)
    features = features_of_kind(rng, kind, pieces)
    compatibility = compatibility_of(features, 1)
    piece, direction = int(rng.integers(pieces)), int(rng.integers(4))
    facing = direction ^ 2
    squares = squares_towards(features, piece, direction, pieces)
    used, free, count = np.zeros(pieces, dtype=np.uint8), free_pieces(pieces), 0
    if shuffled:  # Then what is listed need not be in order of number.
        free.pieces[:] = rng.permutation(pieces)
        count = pieces
    # Pieces are used up, a few at a time, and only now and then dropped from the list.
    going = iter(rng.permutation(pieces))
    while not used.all():
        if count == 0 or (used[free.pieces[:count]].any() and rng.random() < 0.3) or np.isnan(free.heads[0, 0]):
            count = gather_free(used, compatibility.heads[facing], free, count)
            assert sorted(free.pieces[:count]) == np.flatnonzero(used == 0).tolist()
            assert (free.heads[:, :count] == compatibility.heads[facing][:, free.pieces[:count]]).all()
        left = np.flatnonzero(used == 0).tolist()
        lowest = bound_squares(free, count, features, 4 * piece + direction, used)
        assert not used[free.pieces[lowest]]
        for at in range(count):  # Those of used pieces may be anything.
            assert used[free.pieces[at]] or free.bounds[at] >= free.bounds[lowest]
        found = cheapest_free(features, compatibility.head_error, 4 * piece + direction, used, free, count)
        assert found == naive.cheapest_free(squares, piece, direction, left)
        for _ in range(int(rng.integers(1, max(2, pieces // 4)))):
            used[next(going, 0)] = 1


def squares_towards(features, piece, direction, pieces):
    """The exact sums of one side with those of all pieces: squares[piece, direction, other]."""
    squares = np.zeros((pieces, 4, pieces))
    for other in range(pieces):
        squares[piece, direction, other] = squared_distance(
            features, 4 * piece + direction, 4 * other + (direction ^ 2)
        )
    return squares


def test_the_heads_of_free_pieces_bound_what_they_cost():
    features = random_features(np.random.default_rng(5), 20)
    compatibility, squares = compatibility_of(features), naive.all_costs(features)
    used, free = np.zeros(20, dtype=np.uint8), free_pieces(20)
    for direction in range(4):
        count = gather_free(used, compatibility.heads[direction ^ 2], free, 0)
        for piece in range(20):
            bound_squares(free, count, features, 4 * piece + direction, used)
            heads = features.reshape(20, 4, -1)[:, :, :HEAD].astype(np.int64)
            expected = ((heads[piece, direction] - heads[:, direction ^ 2]) ** 2).sum(axis=1)
            # These numbers are small enough for float32 to hold them nearly as they are.
            assert free.bounds == pytest.approx(expected, rel=1e-6)
            assert all(free.bounds <= squares[piece, direction].astype(np.float64) * (1 + 1e-6))


def test_of_free_pieces_that_fit_alike_the_first_by_number_is_taken_wherever_it_is_listed():
    features = np.zeros((4 * 200, HEAD), dtype=np.int32)
    compatibility = compatibility_of(features, 1)
    used, free = np.zeros(200, dtype=np.uint8), free_pieces(200)
    used[:20] = 1
    free.pieces[:] = np.arange(200)[::-1]
    count = gather_free(used, compatibility.heads[0], free, 200)
    assert count == 180
    used[20:30] = 1
    assert cheapest_free(features, compatibility.head_error, 2, used, free, count) == 30


@pytest.mark.parametrize(
    ("rows", "columns", "mutant_from", "mutation_rate"),
    [(2, 3, None, 0.0), (3, 2, None, 0.0), (1, 5, None, 0.0), (2, 3, 2, 0.0), (2, 3, None, 0.2)],
)
def test_children_are_distributed_as_the_papers_algorithm_says(rows, columns, mutant_from, mutation_rate):
    """Compare the frequencies of whole children with those of the obvious version, phase counts included."""
    samples, pieces = 4000, rows * columns
    rng = np.random.default_rng(rows * 10 + columns)
    features = random_features(rng, pieces)
    compatibility, squares = compatibility_of(features), naive.all_costs(features)
    buddies = naive.best_buddies(squares)
    first, second = related_parents(rng, rows, columns, buddies)

    python = random.Random(1)
    expected, found = Counter(), Counter()
    for seed in range(samples):
        child, phases = naive.crossover(first, second, squares, buddies, python, mutant_from, mutation_rate)
        expected[(*child.ravel().tolist(), *phases)] += 1
        start = python.randrange(pieces)
        child, phases = grow_child(compatibility, first, second, start, seed, mutant_from, mutation_rate)
        found[(*child.ravel().tolist(), *phases.tolist())] += 1

    outcomes = expected.keys() | found.keys()
    assert len(outcomes) > 1
    for outcome in outcomes:
        share = (expected[outcome] + found[outcome]) / (2 * samples)
        deviation = np.sqrt(2 * samples * share * (1 - share))
        assert abs(expected[outcome] - found[outcome]) <= 5 * deviation + 1, outcome


def drawn_partners(rng, pieces):
    """Any partners of any level, and sides that have none or are vague: (pieces, 4) and (sides,)."""
    doubt = rng.integers(VAGUE + 1, size=4 * pieces)
    assert {NO_PARTNER, VAGUE} <= set(doubt)
    assert doubt.min() < NO_PARTNER - 1
    partners = (np.arange(4 * pieces) // 4 + rng.integers(1, pieces, size=4 * pieces)) % pieces
    partners = np.where(doubt < NO_PARTNER, partners, -1)
    return partners.reshape(-1, 4).astype(np.int32), doubt.astype(np.uint8)


@pytest.mark.parametrize("mutation_rate", [0.0, 0.2])
@pytest.mark.parametrize("keep", [1, 32])
@pytest.mark.parametrize(("rows", "columns"), [(2, 3), (3, 2), (1, 5)])
def test_children_judged_by_cells_are_distributed_as_the_obvious_version_says(rows, columns, keep, mutation_rate):
    """With one candidate a side the lists run dry, and any free piece is taken.

    Partners and their levels of doubt are drawn, so that sides of every level meet in one small puzzle.
    """
    samples, pieces = 4000, rows * columns
    rng = np.random.default_rng(100 + rows * 10 + columns)
    features = random_features(rng, pieces)
    compatibility, squares = compatibility_of(features, keep), naive.all_costs(features)
    partners, doubt = drawn_partners(rng, pieces)
    compatibility = compatibility._replace(partners=partners, doubt=doubt)
    buddies, lists = naive.best_buddies(squares), naive.candidates(squares, keep)
    costs = np.sqrt(squares.astype(np.float64))
    first, second = related_parents(rng, rows, columns, buddies, moved=4)

    def for_cell(neighbours, free, random_numbers):
        chosen = naive.fittest_for_cell(neighbours, free, costs, lists, LOOKED_AT)
        if chosen is None:
            chosen = naive.fittest_of(neighbours, [random_numbers.choice(free) for _ in range(DRAWN)], costs)
        return chosen

    python = random.Random(1)
    expected, found = Counter(), Counter()
    for seed in range(samples):
        child, phases = naive.crossover(
            first, second, squares, buddies, python, None, mutation_rate, for_cell, partners, doubt
        )
        expected[(*child.ravel().tolist(), *phases)] += 1
        child, phases = grow_child(compatibility, first, second, python.randrange(pieces), seed, None, mutation_rate, 5)
        found[(*child.ravel().tolist(), *phases.tolist())] += 1

    outcomes = expected.keys() | found.keys()
    assert len(outcomes) > 1
    assert max(greedy for *_, greedy in outcomes) > 1
    for outcome in outcomes:
        share = (expected[outcome] + found[outcome]) / (2 * samples)
        deviation = np.sqrt(2 * samples * share * (1 - share))
        assert abs(expected[outcome] - found[outcome]) <= 5 * deviation + 1, outcome


@settings(max_examples=80, deadline=None)
@given(st.integers(5, 30), st.integers(1, 30), st.integers(0, 2**32), st.sampled_from([1, 2, 5]))
def test_the_piece_for_a_cell_is_the_obvious_one(pieces, keep, seed, bits):
    rng = np.random.default_rng(seed)
    features = random_features(rng, pieces)
    compatibility, squares = compatibility_of(features, keep), naive.all_costs(features)
    costs, lists = np.sqrt(squares.astype(np.float64)), naive.candidates(squares, keep)
    # The middle of 3 x 3 cells, with one to four neighbours.
    order, beside = rng.permutation(pieces), rng.permutation(4)[: rng.integers(1, 5)]
    neighbours = {int(direction): int(piece) for direction, piece in zip(beside, order, strict=False)}
    steps = (1, 3, -1, -3)
    grid, used = np.full(9, EMPTY), np.zeros(pieces, dtype=np.uint8)
    for direction, piece in neighbours.items():
        grid[4 + steps[direction]] = piece
    used[order[: int(rng.integers(len(beside), pieces + 1))]] = 1
    expected = naive.fittest_for_cell(neighbours, np.flatnonzero(used == 0), costs, lists, LOOKED_AT)
    lists = (compatibility.candidates, compatibility.costs)
    found = fittest_for_cell(*lists, features, grid, steps, 4, used, ANYWHERE, *new_memory(pieces, bits))
    assert found == (NONE if expected is None else expected)


@settings(max_examples=80, deadline=None)
@given(st.integers(5, 40), st.integers(0, 2**32), st.booleans())
def test_of_the_free_pieces_drawn_for_a_cell_the_fittest_is_taken(pieces, seed, seams):
    rng = np.random.default_rng(seed)
    features = midline_seams(random_pieces(rng, pieces)) if seams else random_features(rng, pieces)
    costs = costs_of(features).astype(np.float64)
    order, beside = rng.permutation(pieces), rng.permutation(4)[: rng.integers(1, 5)]
    neighbours = {int(direction): int(piece) for direction, piece in zip(beside, order, strict=False)}
    steps = (1, 3, -1, -3)
    grid, used = np.full(9, EMPTY), np.zeros(pieces, dtype=np.uint8)
    for direction, piece in neighbours.items():
        grid[4 + steps[direction]] = piece
    used[order[: int(rng.integers(len(beside), pieces + 1))]] = 1
    free = rng.permutation(pieces).astype(np.int32)
    piece, count = fittest_drawn(features, grid, steps, 4, used, ANYWHERE, free, pieces, np.uint64(seed))
    left = np.flatnonzero(used == 0)
    # What is dropped was used, whatever is free stays, and each once.
    assert len(set(free[:count].tolist())) == count
    assert set(left) <= set(free[:count])
    if len(left) == 0:
        assert (piece, count) == (NONE, 0)
        return
    assert not used[piece]
    # Pieces are drawn with repetition. Of one or two, each is among them but for one time in 2^15.
    if len(left) <= 2:
        assert piece == naive.fittest_of(neighbours, left, costs)


def test_pieces_that_cannot_lie_in_a_cell_are_passed_over():
    """Of eight phases each cell suits one, and what suits none is taken only where nothing else is left."""
    pieces = 64
    rng = np.random.default_rng(1)
    features = random_features(rng, pieces)
    compatibility = compatibility_of(features, 63)
    masks = np.uint64(1) << np.arange(pieces, dtype=np.uint64) % np.uint64(8)
    around = (np.uint64(1) << np.arange(8, dtype=np.uint64)).reshape(2, 4)
    grid, used = np.full(9, EMPTY), np.zeros(pieces, dtype=np.uint8)
    grid[3], used[0] = 0, 1
    steps, lists = (1, 3, -1, -3), (compatibility.candidates, compatibility.costs)
    for down, right in np.ndindex(2, 4):
        place = (masks, around, down - 2, right + 4)
        own = [piece for piece in range(1, pieces) if piece % 8 == 4 * down + right]
        costs = costs_of(features)[0, naive.RIGHT]
        piece = fittest_for_cell(*lists, features, grid, steps, 4, used, place, *new_memory(pieces, 5))
        assert piece == min(own, key=lambda piece: costs[piece])
        free = np.arange(pieces, dtype=np.int32)
        piece, _ = fittest_drawn(features, grid, steps, 4, used, place, free, pieces, np.uint64(down))
        assert piece in own
        gone = used.copy()
        gone[own] = 1
        assert fittest_for_cell(*lists, features, grid, steps, 4, gone, place, *new_memory(pieces, 5)) == NONE
        piece, _ = fittest_drawn(features, grid, steps, 4, gone, place, free, pieces, np.uint64(down))
        assert not gone[piece]


def test_children_lie_as_phases_demand_from_their_start_on():
    """Sixteen phases that repeat after four rows and columns, with a quarter of all pieces of each four of them."""
    rows = columns = 8
    rng = np.random.default_rng(1)
    compatibility = compatibility_of(random_features(rng, rows * columns), 63)
    step = np.arange(4)
    there = (step[:, np.newaxis, np.newaxis, np.newaxis] + step[:, np.newaxis]) % 4 * 4  # down, right, row, column
    moved = (there + (step[:, np.newaxis, np.newaxis] + step) % 4).reshape(4, 4, 16)
    piece = np.arange(rows * columns)
    phase = piece // columns % 4 * 4 + piece % columns % 4
    masks = np.uint64(1) << phase.astype(np.uint64)
    known = compatibility._replace(bearings=Bearings(masks, np.zeros(len(masks), np.bool_), moved))
    first, second = random_parents(rng, rows, columns)
    suited = []
    for judge in (compatibility, known):
        for seed in range(20):
            start = seed % 4
            child, _ = grow_child(judge, first, second, start, seed, bits=5)
            at = np.argwhere(child == start)[0]
            wanted = ((np.indices(child.shape) - at[:, np.newaxis, np.newaxis]) + [[[0]], [[start]]]) % 4
            suited.append((phase[child] == wanted[0] * 4 + wanted[1]).mean())
    assert max(suited[:20]) < 0.5
    assert min(suited[20:]) > 0.8


def test_pieces_drawn_for_a_cell_are_as_good_as_the_best_of_sixteen():
    """The rank of what is taken is that of the smallest of as many numbers drawn."""
    pieces, samples = 101, 4000
    features = random_features(np.random.default_rng(1), pieces)
    costs, used = costs_of(features), np.zeros(pieces, dtype=np.uint8)
    used[0] = 1
    grid = np.full(9, EMPTY)
    grid[3] = 0  # To the left of the cell.
    ranks = (costs[1:, naive.LEFT, 0]).argsort().argsort()
    found = []
    for index in range(samples):
        free = np.arange(pieces, dtype=np.int32)
        state = np.uint64(first_state(np.uint64(1), np.uint64(2), np.uint64(index)))
        piece, _ = fittest_drawn(features, grid, (1, 3, -1, -3), 4, used, ANYWHERE, free, pieces, state)
        found.append(ranks[piece - 1])
    at_least = np.array([((100 - rank) / 100) ** DRAWN for rank in range(100)])
    share = np.array([np.mean(np.array(found) >= rank) for rank in range(100)])
    assert np.abs(share - at_least).max() < 5 * 0.5 / np.sqrt(samples)


@settings(max_examples=60, deadline=None)
@given(FRAMES, st.integers(0, 2**32), st.integers(1, 40), st.sampled_from([0.0, 0.3]), st.booleans())
def test_judged_by_cells_every_piece_is_placed_once_and_the_same_again(frame, seed, keep, mutation_rate, alike):
    rows, columns = frame
    rng = np.random.default_rng(seed)
    features = random_features(rng, rows * columns, low=-2 if alike else -1000, high=3 if alike else 1000)
    compatibility = compatibility_of(features, keep)
    first, second = random_parents(rng, rows, columns)
    start = int(rng.integers(rows * columns))
    child, phases = grow_child(compatibility, first, second, start, seed, mutation_rate=mutation_rate, bits=5)
    assert sorted(child.ravel()) == list(range(rows * columns))
    assert phases.sum() == rows * columns - 1
    for bits in (5, 1):  # However little is remembered.
        again, _ = grow_child(compatibility, first, second, start, seed, mutation_rate=mutation_rate, bits=bits)
        assert (again == child).all()


def test_the_child_of_equal_parents_is_their_copy_however_cells_are_judged():
    rng = np.random.default_rng(3)
    compatibility = compatibility_of(random_features(rng, 20))
    parent, _ = random_parents(rng, 4, 5)
    child, phases = grow_child(compatibility, parent, parent.copy(), 7, 1, bits=5)
    assert (child == parent).all()
    assert phases.tolist() == [19, 0, 0]


def related_parents(rng, rows, columns, buddies, moved=2):
    """Parents that share relations and contain best buddies, so that every phase is used."""
    wanted = {(p, d, b) for p, row in enumerate(buddies) for d, b in enumerate(row) if b >= 0}
    while True:
        first, _ = random_parents(rng, rows, columns)
        second = first.copy()
        second.ravel()[:moved] = np.roll(second.ravel()[:moved], 1)
        relations = [
            {(p, d, naive.neighbour(grid, p, d)) for p in range(rows * columns) for d in range(4)}
            for grid in (first, second)
        ]
        agreed = {relation for relation in relations[0] & relations[1] if relation[2] is not None}
        buddied = wanted & (relations[0] ^ relations[1])
        if agreed and buddied:
            return first, second


def test_consult_notes_agreement_then_buddies():
    # first:  0 1 2    second:  0 1 4    The buddies of 1 are 2 (right) and 4 (down); first has both.
    #         3 4 5             3 2 5
    first = np.array([0, 1, 2, 3, 4, 5], dtype=np.int32)
    second = np.array([0, 1, 4, 3, 2, 5], dtype=np.int32)
    buddies = np.full((6, 4), -1, dtype=np.int32)
    buddies[1] = [2, 4, -1, -1]
    buddies[5] = [-1, -1, 2, 0]
    neighbours, flat = np.empty((6, 4), dtype=np.int32), np.empty(24, dtype=np.int32)
    consult(first, second, 3, buddies, neighbours, flat)
    advice = flat.reshape(6, 4)
    assert advice[0].tolist() == [1, 3, -1, -1]
    assert advice[1].tolist() == [-2 - 2, -2 - 4, 0, -1]
    assert advice[5].tolist() == [-1, -1, -2 - 2, -1]
    assert advice[3].tolist() == [-1, -1, -1, 0]


def test_breeding_gives_costs_and_counts_and_mutates_the_asked_share_of_children():
    rows, columns, children = 4, 5, 2000
    pieces = rows * columns
    rng = np.random.default_rng(11)
    compatibility = compatibility_of(random_features(rng, pieces))
    parent = rng.permutation(pieces).astype(np.int32)
    parents = np.zeros((children, 2), dtype=np.int64)
    grids, costs = np.empty((children, pieces), dtype=np.int32), np.empty(children)
    old = (
        parent[np.newaxis],
        np.array([cost_of_grid(compatibility.features, columns, parent)]),
    )
    key = np.uint64(1)
    phases = breed(
        compatibility, columns, old, parents, 0.25, 0.0, empty_memory(pieces, 0), key, key, (grids, costs), 0, children
    )
    assert phases.sum() == children * (pieces - 1)
    assert (np.sort(grids, axis=1) == np.arange(pieces)).all()
    for index in range(0, children, 97):
        assert costs[index] == cost_of_grid(compatibility.features, columns, grids[index])
    # A mutant differs from its two equal parents unless the random piece happened to be the right one.
    mutants = np.mean((grids != parent).any(axis=1))
    assert 0.17 < mutants < 0.27
