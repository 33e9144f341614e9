from dataclasses import replace

import numpy as np
import pytest

from jigsolve import Puzzle
from jigsolve.compatibility import candidates
from jigsolve.compatibility.bearings import fill_codes
from jigsolve.compatibility.candidates import find_candidates
from jigsolve.compatibility.lab import lab_features
from jigsolve.compatibility.memory import empty_memory, pair_in, recalled
from jigsolve.compatibility.seams import mgc_seams, midline_seams, traced_seams
from jigsolve.genetic.population import cost_of_grid
from jigsolve.refine import rounds as module
from jigsolve.refine.anneal import new_chain
from jigsolve.refine.merge import merge
from jigsolve.refine.rounds import PLAUSIBLE, cost_unit, refine, refinement_bytes
from jigsolve.threads import Threads
from tests import naive
from tests.puzzles import (
    compatibility_of,
    compressed_colours,
    costs_of,
    drawing,
    drawn_puzzle,
    random_features,
    squares_of,
)

MEASURES = [lab_features, mgc_seams, midline_seams]


def refined(compatibility, columns, grid, effort=1, seed=1, threads=2, start=None):
    """Every part of a refinement."""
    with Threads(threads) as pool:
        grid = np.ascontiguousarray(grid, dtype=np.int32)
        return list(refine(compatibility, columns, grid, effort, seed, pool, start))


def facts(part):
    """All that is known after a part of a round."""
    start = {**vars(part.start), "grid": part.start.grid.tolist()}
    return part.grid.tolist(), part.cost, part.mean_cost, part.round, start


@pytest.mark.parametrize("measure", MEASURES)
def test_from_part_to_part_the_cost_never_rises_and_is_that_of_the_arrangement(measure):
    compatibility = compatibility_of(measure(drawn_puzzle(5, 6)))
    start = np.random.default_rng(1).permutation(30)
    parts = refined(compatibility, 6, start)
    costs = [cost_of_grid(compatibility.features, 6, start.astype(np.int32)), *(part.cost for part in parts)]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]
    for part in parts:
        assert sorted(part.grid) == list(range(30))
        assert part.cost == cost_of_grid(compatibility.features, 6, part.grid)
        assert part.mean_cost >= part.cost * (1 - 1e-6)


def test_what_was_yielded_stays_as_it_was():
    compatibility = compatibility_of(midline_seams(drawn_puzzle(5, 6)))
    start = np.random.default_rng(1).permutation(30).astype(np.int32)
    kept, copies = [], []
    with Threads(1) as threads:
        for part in refine(compatibility, 6, start, 1, 1, threads):
            kept.append(part.grid)
            copies.append(part.grid.copy())
    assert [grid.tolist() for grid in kept] == [grid.tolist() for grid in copies]
    assert start.tolist() == np.random.default_rng(1).permutation(30).tolist()


def test_it_ends_when_a_round_brings_nothing():
    compatibility = compatibility_of(midline_seams(drawn_puzzle(5, 6)))
    parts = refined(compatibility, 6, np.random.default_rng(1).permutation(30))
    rounds = [[part.cost for part in parts if part.round == number] for number in range(1, parts[-1].round + 1)]
    assert len(rounds) > 1
    assert rounds[-1][-1] == rounds[-2][-1]


def test_the_number_of_threads_changes_nothing_and_the_seed_does():
    compatibility = compatibility_of(midline_seams(drawn_puzzle(5, 6)))
    start = np.random.default_rng(1).permutation(30)

    def trajectory(**options):
        parts = refined(compatibility, 6, start, **options)
        return [(part.grid.tolist(), part.cost, part.mean_cost) for part in parts]

    alone = trajectory(threads=1)
    assert alone == trajectory(threads=2) == trajectory(threads=4)
    assert alone != trajectory(threads=1, seed=2)


@pytest.mark.parametrize("limit", [None, 1200])
def test_from_the_start_of_any_round_the_rest_is_the_same(monkeypatch, limit):
    monkeypatch.setattr(module, "PART_MOVES", 300)  # Rounds of several parts: each tells the start of its round.
    if limit:
        monkeypatch.setattr(module, "MOST_MOVES_IN_ALL", limit)
    compatibility = compatibility_of(midline_seams(drawn_puzzle(5, 6)))
    grid = np.random.default_rng(1).permutation(30)
    parts = refined(compatibility, 6, grid)
    assert parts[-1].round > 1
    assert len(parts) > parts[-1].round
    for part in parts:
        rest = [facts(other) for other in parts if other.round >= part.round]
        # What was given before the round does not matter, only what the round starts from.
        assert [facts(other) for other in refined(compatibility, 6, grid[::-1], start=part.start)] == rest


@pytest.mark.parametrize("effort", [0, 1])
def test_refinement_ends_when_chains_have_made_so_many_moves_in_all(monkeypatch, effort):
    swap_nothing(monkeypatch)
    compatibility = compatibility_of(midline_seams(drawn_puzzle(5, 6)))
    grid, costs = np.random.default_rng(1).permutation(30), costs_of(compatibility.features)
    endless = refined(compatibility, 6, grid, effort)
    made = [0]
    for part in endless:  # A round is one part here.
        start = part.start.grid.reshape(5, 6)
        doubts = len(naive.doubted_sides(start, costs, compatibility.partners, compatibility.doubt))
        assert part.start.moves_in_all == made[-1]
        made.append(made[-1] + part.start.moves_per_doubt * doubts)
    assert len(endless) > 2
    assert made[-1] < module.MOST_MOVES * 2**effort  # So that no round was cut short.
    for rounds in range(1, len(endless)):
        # Ends with the round that reaches the limit, not with one that comes near it.
        for limit, expected in ((made[rounds], rounds), (made[rounds] + 2**effort, rounds + 1)):
            monkeypatch.setattr(module, "MOST_MOVES_IN_ALL", limit // 2**effort)
            parts = refined(compatibility, 6, grid, effort)
            assert len(parts) == expected
            assert [facts(part) for part in parts[:rounds]] == [facts(part) for part in endless[:rounds]]


def test_a_round_that_is_cut_short_counts_the_moves_that_it_made(monkeypatch):
    swap_nothing(monkeypatch)
    monkeypatch.setattr(module, "MOST_MOVES", 100)
    monkeypatch.setattr(module, "LEAST_GAIN_PER_DOUBT", 0)  # So that these short rounds bring enough to go on.
    monkeypatch.setattr(module, "MOST_MOVES_IN_ALL", 250)
    compatibility = compatibility_of(random_features(np.random.default_rng(1), 30))
    parts = refined(compatibility, 6, np.random.default_rng(1).permutation(30), effort=1)
    assert [part.start.moves_in_all for part in parts] == [0, 200, 400]


def test_the_last_round_makes_no_more_moves_than_are_left(monkeypatch):
    monkeypatch.setattr(module, "MOST_MOVES", 100)
    monkeypatch.setattr(module, "LEAST_GAIN_PER_DOUBT", 0)
    monkeypatch.setattr(module, "MOST_MOVES_IN_ALL", 250)
    made, original = [], module._advance

    def noted(setting, phases, chains, bounds, moves):
        made.append(bounds[1] - bounds[0])
        original(setting, phases, chains, bounds, moves)

    monkeypatch.setattr(module, "_advance", noted)
    compatibility = compatibility_of(random_features(np.random.default_rng(1), 30))
    refined(compatibility, 6, np.random.default_rng(1).permutation(30), effort=1)
    assert made == [200, 200, 100]


def test_large_puzzles_get_fewer_moves():
    small, large = 100, round(2 * module.MOST_MOVES_BY_PIECES / module.MOST_MOVES_IN_ALL)
    assert module.most_moves(small, 0) == (module.MOST_MOVES, module.MOST_MOVES_IN_ALL)
    assert module.most_moves(small, 3) == (8 * module.MOST_MOVES, 8 * module.MOST_MOVES_IN_ALL)
    for effort in (0, 3):
        of_large, of_larger = module.most_moves(large, effort), module.most_moves(10 * large, effort)
        assert of_large[1] == pytest.approx(module.MOST_MOVES_IN_ALL * 2**effort / 2, rel=0.01)
        assert of_larger[0] == of_larger[1] == pytest.approx(of_large[1] / 10, rel=0.01)


def test_nothing_is_done_from_a_start_that_has_made_all_moves():
    compatibility = compatibility_of(midline_seams(drawn_puzzle(5, 6)))
    grid = np.random.default_rng(1).permutation(30).astype(np.int32)
    first = refined(compatibility, 6, grid)[0].start
    for moves, any_left in ((2 * module.MOST_MOVES_IN_ALL, False), (2 * module.MOST_MOVES_IN_ALL - 1, True)):
        start = replace(first, moves_in_all=moves)
        assert bool(refined(compatibility, 6, grid, start=start)) == any_left


def test_mistakes_in_a_photograph_are_repaired(photo):
    rows, columns = 6, 6
    puzzle = Puzzle.from_array(photo.pixels[100 : 100 + 32 * rows, 100 : 100 + 32 * columns], 32)
    compatibility = compatibility_of(midline_seams(puzzle))
    grid = np.arange(rows * columns)
    grid[[1, 8, 20]] = grid[[8, 20, 1]]
    grid[12:16] = np.roll(grid[12:16], 1)
    parts = refined(compatibility, columns, grid)
    assert parts[-1].grid.tolist() == list(range(rows * columns))


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 2), (2, 1), (1, 8), (8, 1)])
def test_the_smallest_frames(rows, columns):
    compatibility = compatibility_of(midline_seams(drawn_puzzle(rows, columns)))
    start = np.random.default_rng(3).permutation(rows * columns)
    for part in refined(compatibility, columns, start):
        assert sorted(part.grid) == list(range(rows * columns))


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("picture", [np.tile(drawing(8, 8), (4, 5, 1)), np.full((32, 40, 3), 77, np.uint8)])
def test_where_all_pieces_are_alike_there_is_nothing_to_gain(measure, picture):
    compatibility = compatibility_of(measure(Puzzle.from_array(picture, 8)), 8)
    assert all((part.grid == np.arange(20)).all() for part in refined(compatibility, 5, np.arange(20)))


@pytest.mark.parametrize("keep", [2, 5, 32])
def test_the_unit_is_what_a_plausible_mistake_costs(keep):
    features = midline_seams(drawn_puzzle(4, 5))
    squares = squares_of(features)
    roots = [
        np.array([squares[side // 4, side % 4, other // 4] for other in others]) ** (3 / 8)
        for side, others in enumerate(naive.candidates(squares, keep))
    ]
    costs = [np.minimum(each, (each + features.fair) / 2) for each in roots]
    expected = np.median([each[min(PLAUSIBLE, keep) - 1] - each[0] for each in costs])
    assert cost_unit(compatibility_of(features, keep)) == pytest.approx(expected, rel=1e-4)


def test_without_two_candidates_there_is_no_unit():
    assert cost_unit(compatibility_of(random_features(np.random.default_rng(1), 2))) == 0
    assert cost_unit(compatibility_of(random_features(np.random.default_rng(1), 9), 1)) == 0


@pytest.fixture(scope="module")
def portrait(photo):
    """What is known of the pieces of a photograph, 15 x 16 of them."""
    puzzle = Puzzle.from_array(photo.pixels[:480, :512], 32)
    with Threads(2) as threads:
        return find_candidates(midline_seams(puzzle), 16, threads, frame=(15, 16))


def note_turns(monkeypatch):
    """Note what is rearranged, in which way, and how many cells at most."""
    asked = []
    original = module.rearranged

    def noted(features, grounds, grid, way, most_cells, threads):
        asked.append((grid.ravel().tolist(), way, most_cells))
        yield  # As if it took long.
        return (yield from original(features, grounds, grid, way, most_cells, threads))

    monkeypatch.setattr(module, "rearranged", noted)
    return asked


def test_what_is_in_question_is_rearranged_before_each_annealing_until_all_ways_were_in_vain(monkeypatch, portrait):
    asked = note_turns(monkeypatch)
    monkeypatch.setattr(module, "EXCHANGING", ())
    grid = np.arange(240)
    grid[[37, 38, 53, 54, 101, 102, 117, 118]] = grid[[101, 102, 117, 118, 37, 38, 53, 54]]
    parts = refined(portrait, 16, grid)
    first = [part for part in parts if part.round == 1]
    assert [part.grid.tolist() for part in first[:1]] == [grid.tolist()]  # As it was, while that took.
    assert first[1].cost < first[0].cost
    assert len(first) > 2  # What was annealed.
    assert asked[0][0] == grid.tolist()
    assert asked[1][0] == first[-1].grid.tolist()
    assert [way for _, way, _ in asked] == [module.WAYS[turn % len(module.WAYS)] for turn in range(len(asked))]
    assert {most for _, _, most in asked[: module.LONG_TURNS]} == {module.MOST_CELLS}
    assert {most for _, _, most in asked[module.LONG_TURNS :]} == {module.CELLS_AFTER}
    assert len({tuple(before) for before, _, _ in asked[-len(module.WAYS) :]}) == 1
    costs = [part.cost for part in parts]
    assert costs == sorted(costs, reverse=True)


def test_patches_are_exchanged_first_in_some_rounds(monkeypatch, portrait):
    asked = []
    original = module.exchanged

    def noted(features, grounds, grid, size, heats, effort, key, threads):
        asked.append((grid.ravel().tolist(), size, key))
        assert effort == 1
        assert features is portrait.told
        assert heats == [heat * cost_unit(portrait) for heat in module.HEATS[size]]
        yield  # As if it took long.
        return (yield from original(features, grounds, grid, size, heats, effort, key, threads))

    monkeypatch.setattr(module, "exchanged", noted)
    grid = np.arange(240).reshape(15, 16)
    grid[4:6] = np.roll(grid[4:6], 2, axis=1)  # A strip that lies two pieces beside its place.
    parts = refined(portrait, 16, grid.ravel(), seed=7)
    starts = {part.round: part.start for part in parts}
    # Not where the round before was in vain, nor where the last exchanges hardly paid.
    begun = {r: starts[r + 1] for r in module.EXCHANGING if r + 1 in starts}
    rounds = [r for r, start in begun.items() if start.in_vain == 0 and start.exchanges_pay]
    assert len(begun) > len(rounds) > 0
    assert [(size, key) for _, size, key in asked] == [(size, (7, 1 + r)) for r in rounds for size in module.HEATS]
    assert asked[0][0] == parts[0].grid.tolist() == grid.ravel().tolist()
    assert parts[-1].grid[64:96].tolist() == list(range(64, 96))
    costs = [part.cost for part in parts]
    assert costs == sorted(costs, reverse=True)


def swap_nothing(monkeypatch):
    monkeypatch.setattr(module, "swapped", lambda compatibility, grid, *more: grid)


def note_swaps(monkeypatch):
    """Note of which arrangements all is swapped that is cheaper at once, and what comes of it."""
    looks = []
    original = module._swapped

    def noted(setting, now):
        after = yield from original(setting, now)
        looks.append((now.round, now.cost, after.cost))
        return after

    monkeypatch.setattr(module, "_swapped", noted)
    return looks


def test_what_is_cheaper_at_once_is_swapped_when_a_round_brings_nothing_more(monkeypatch, portrait):
    """Two squares in each other's places, and nothing is in question."""
    looks = note_swaps(monkeypatch)
    monkeypatch.setattr(module, "rearranged", lambda features, grounds, grid, *more: iter_of(grid))
    monkeypatch.setattr(module, "most_moves", lambda pieces, effort: (0, 0))
    monkeypatch.setattr(module, "EXCHANGING", ())
    monkeypatch.setattr(module, "SHIFTING", ())
    grid = np.arange(240)
    squares = [37, 38, 53, 54], [133, 134, 149, 150]
    grid[squares[0] + squares[1]] = grid[squares[1] + squares[0]]
    parts = refined(portrait, 16, grid)
    assert parts[-1].grid[:160].tolist() == list(range(160))
    # The first round is in vain but for what is swapped, the next brings nothing, and what follows is not looked at.
    assert [(round_number, after < before) for round_number, before, after in looks] == [(1, True), (2, False)]
    assert parts[-1].round == 1 + len(module.WAYS)


def test_what_is_cheaper_at_once_is_swapped_after_the_last_round(monkeypatch, portrait):
    looks = note_swaps(monkeypatch)
    monkeypatch.setattr(module, "MOST_TURNS", 0)
    monkeypatch.setattr(module, "LONG_TURNS", 1)
    monkeypatch.setattr(module, "most_moves", lambda pieces, effort: (0, 0))
    parts = refined(portrait, 16, np.random.default_rng(5).permutation(240))
    assert [round_number for round_number, _, _ in looks] == [1]
    assert looks[0][2] == parts[-1].cost


def test_what_is_cheaper_at_once_is_swapped_when_nothing_is_in_doubt(monkeypatch, portrait):
    looks = note_swaps(monkeypatch)
    compatibility = portrait._replace(fair_costs=np.full_like(portrait.fair_costs, np.inf))
    monkeypatch.setattr(module, "EXCHANGING", ())
    monkeypatch.setattr(module, "SHIFTING", ())
    monkeypatch.setattr(module, "rearranged", lambda features, grounds, grid, *more: iter_of(grid))
    grid = np.arange(240)
    grid[[37, 133]] = grid[[133, 37]]
    parts = refined(compatibility, 16, grid)
    assert parts[-1].grid[:160].tolist() == list(range(160))
    assert [(round_number, after < before) for round_number, before, after in looks] == [(1, True)]


def test_memory_of_costs_is_counted_for_every_thread():
    """All of them may ask for one at once, to look for swaps."""
    one, two, many = (refinement_bytes(5_000, 100, threads) for threads in (1, 2, 64))
    assert two > one
    assert many - one == 63 * (two - one)


def test_a_segment_that_lies_beside_its_place_is_shifted_and_mended(monkeypatch, portrait):
    """Nothing but shifts: a block lies three columns beside its place, and two of what it displaced are swapped."""
    monkeypatch.setattr(module, "SHIFTING", (0, 1))
    monkeypatch.setattr(module, "EXCHANGING", ())
    monkeypatch.setattr(module, "rearranged", lambda features, grounds, grid, *more: iter_of(grid))
    monkeypatch.setattr(module, "most_moves", lambda pieces, effort: (0, 0))  # No annealing but what mends.
    grid = np.arange(240).reshape(15, 16)
    grid[4:10, 3:12] = np.roll(grid[4:10, 3:12], 3, axis=1)
    grid[[4, 9], [3, 5]] = grid[[9, 4], [5, 3]]
    results = [refined(portrait, 16, grid.ravel(), threads=threads) for threads in (1, 2)]
    for parts in results:
        costs = [part.cost for part in parts]
        assert costs == sorted(costs, reverse=True)
        assert len(parts) > 2  # It can be stopped meanwhile.
        assert parts[-1].grid[64:160].tolist() == list(range(64, 160))
    assert [facts(part) for part in results[0]] == [facts(part) for part in results[1]]


@pytest.mark.parametrize(("by_pieces", "expected"), [(10**6, 4), (240 * 3 + 100, 3), (240, 2)])
def test_fewer_chains_mend_a_shift_in_a_larger_puzzle(monkeypatch, portrait, by_pieces, expected):
    monkeypatch.setattr(module, "MENDING_CHAINS_BY_PIECES", by_pieces)
    monkeypatch.setattr(module, "SHIFTING", (0,))
    monkeypatch.setattr(module, "EXCHANGING", ())
    monkeypatch.setattr(module, "rearranged", lambda features, grounds, grid, *more: iter_of(grid))
    monkeypatch.setattr(module, "most_moves", lambda pieces, effort: (0, 0))
    swap_nothing(monkeypatch)
    chains, original = [], module._annealed

    def noted(setting, now, own, moves):
        chains.append(len(own))
        return original(setting, now, own, moves)

    monkeypatch.setattr(module, "_annealed", noted)
    grid = np.arange(240).reshape(15, 16)
    grid[4:10, 3:12] = np.roll(grid[4:10, 3:12], 3, axis=1)
    parts = refined(portrait, 16, grid.ravel())
    assert parts[-1].grid[64:160].tolist() == list(range(64, 160))
    assert chains[0] == expected  # The rounds' own come after it.


def test_segments_are_shifted_again_only_if_something_has_changed(monkeypatch, portrait):
    asked = []

    def noted(setting, now):
        asked.append(now.start.rounds)
        yield from ()
        return now

    monkeypatch.setattr(module, "_shifted", noted)
    monkeypatch.setattr(module, "PAYING_SHARE", -1)
    monkeypatch.setattr(module, "EXCHANGING", ())
    monkeypatch.setattr(module, "most_moves", lambda pieces, effort: (0, 0))
    swap_nothing(monkeypatch)
    gains_in = {4}  # In the fifth round, one pair comes into order.
    turns = []

    def rearranged(features, grounds, grid, way, most_cells, threads):
        turns.append(way)
        return put_in_order(grid.ravel(), 2 if len(turns) - 1 in gains_in else 0).reshape(grid.shape)
        yield

    monkeypatch.setattr(module, "rearranged", rearranged)
    refined(portrait, 16, wrong_in_pairs(6))
    assert len(turns) == 5 + len(module.WAYS)
    assert asked == [1, 5]  # Not in the fourth and eighth round, after two that were in vain.


@pytest.mark.parametrize(("step", "rounds"), [("_exchanged", "EXCHANGING"), ("_shifted", "SHIFTING")])
@pytest.mark.parametrize(("share", "times"), [(0.0, 3), (1.0, 1)])
def test_what_hardly_paid_the_last_time_is_not_done_again(monkeypatch, portrait, step, rounds, share, times):
    """Each time one pair comes into order, and another one by belief, so that no round is in vain."""
    asked = []

    def ordered(setting, now):
        asked.append(now.start.rounds)
        yield now
        grid = put_in_order(now.grid, 2)
        return replace(now, grid=grid, cost=setting.cost_of(grid))

    def rearranged(features, grounds, grid, *more):
        return put_in_order(grid.ravel(), 2).reshape(grid.shape)
        yield

    for name in ("EXCHANGING", "SHIFTING"):
        monkeypatch.setattr(module, name, (0, 2, 3) if name == rounds else ())
    monkeypatch.setattr(module, step, ordered)
    monkeypatch.setattr(module, "rearranged", rearranged)
    monkeypatch.setattr(module, "most_moves", lambda pieces, effort: (0, 0))
    monkeypatch.setattr(module, "PAYING_SHARE", share)
    swap_nothing(monkeypatch)  # A swap that is cheaper than the truth would leave no pairs to put in order.
    refined(portrait, 16, wrong_in_pairs(11))
    assert asked == [0, 2, 3][:times]


def iter_of(grid):
    """A generator that returns a grid and yields nothing."""
    yield from ()
    return grid


def test_it_goes_on_from_any_round_as_if_undisturbed(portrait):
    grid = np.random.default_rng(5).permutation(240)
    parts = refined(portrait, 16, grid)
    assert len({part.start.in_vain for part in parts}) > 2
    for start in {part.round: part.start for part in parts}.values():
        rest = [facts(other) for other in parts if other.round > start.rounds]
        assert [facts(other) for other in refined(portrait, 16, grid[::-1], start=start)] == rest


def wrong_in_pairs(pairs):
    """A grid in order, but for so many pairs of neighbours that have changed places."""
    grid = np.arange(240)
    for index in range(pairs):
        grid[[20 * index + 1, 20 * index + 2]] = grid[[20 * index + 2, 20 * index + 1]]
    return grid


def put_in_order(grid, count):
    """A grid in which so many of the pieces that are wrong, in pairs, are where they belong."""
    better = grid.copy()
    places = np.flatnonzero(better != np.arange(240))[:count]
    better[places] = np.arange(240)[places]
    assert (np.bincount(better, minlength=240) == 1).all()  # Kernels trust that it is still an arrangement.
    return better


def test_what_rearranging_gains_gives_all_ways_another_turn(monkeypatch, portrait):
    swap_nothing(monkeypatch)
    turns = []

    def one_swap(features, grounds, grid, way, most_cells, threads):
        turns.append(way)
        return put_in_order(grid.ravel(), 2 if len(turns) in (1, 8) else 0).reshape(grid.shape)
        yield

    monkeypatch.setattr(module, "rearranged", one_swap)
    monkeypatch.setattr(module, "most_moves", lambda pieces, effort: (0, 0))  # No annealing.
    refined(portrait, 16, wrong_in_pairs(6))
    assert len(turns) == 8 + len(module.WAYS)


def test_half_of_the_chains_start_from_what_was_rearranged_cheaper_or_not(monkeypatch, portrait):
    """So what belief finds that is nearly right can be mended."""
    dearer = wrong_in_pairs(6)
    starts = []
    original = module.new_chain

    def noted(compatibility, columns, codes, grid, *others):
        starts.append(grid.tolist())
        return original(compatibility, columns, codes, grid, *others)

    def rearranged(features, grounds, grid, way, most_cells, threads):
        return dearer.reshape(grid.shape).astype(np.int32)
        yield

    monkeypatch.setattr(module, "new_chain", noted)
    monkeypatch.setattr(module, "rearranged", rearranged)
    monkeypatch.setattr(module, "EXCHANGING", ())
    grid = wrong_in_pairs(2)
    refined(portrait, 16, grid)
    assert starts[:4] == [grid.tolist(), dearer.tolist()] * 2


@pytest.mark.parametrize(("most", "expected"), [(5 * 240**2, 5), (10 * 240**2 - 1, 6), (0, 2)])
def test_a_large_puzzle_is_rearranged_in_few_rounds(monkeypatch, portrait, most, expected):
    asked = note_turns(monkeypatch)
    monkeypatch.setattr(module, "MOST_TURNS", 6)
    monkeypatch.setattr(module, "MOST_TURNS_BY_SQUARE", most)
    monkeypatch.setattr(module, "most_moves", lambda pieces, effort: (0, 0))  # No annealing.
    refined(portrait, 16, np.random.default_rng(5).permutation(240))
    assert len(asked) == expected


@pytest.fixture(scope="module")
def phased():
    """A puzzle of a compressed picture, of which many pieces may lie in blocks in several ways, as a large one."""
    features = traced_seams(Puzzle.from_array(compressed_colours(12, 12, flat=4), 28))
    with pytest.MonkeyPatch.context() as monkeypatch, Threads(2) as threads:
        monkeypatch.setattr(candidates, "SMALL_PUZZLE", 0)
        return candidates.find_candidates(features, 8, threads, frame=(12, 12))


def test_costs_go_by_the_phases_of_cells_and_never_rise(phased):
    assert phased.bearings.several.any()
    rng, dearer = np.random.default_rng(1), 0
    for _ in range(3):
        grid = np.arange(144)
        wrong = rng.permutation(144)[:40]
        grid[wrong] = rng.permutation(wrong)
        parts = refined(phased, 12, grid)
        start = cost_of_grid(phased.features, 12, grid.astype(np.int32), phased.bearings)
        dearer += start > cost_of_grid(phased.features, 12, grid.astype(np.int32))
        costs = [start, *(part.cost for part in parts)]
        assert costs == sorted(costs, reverse=True)
        assert costs[-1] < start
        for part in parts:
            assert sorted(part.grid) == list(range(144))
            assert part.cost == cost_of_grid(phased.features, 12, part.grid, phased.bearings)
    assert dearer > 0


def test_chains_and_merges_count_the_same_as_the_whole(phased):
    rng = np.random.default_rng(2)
    several = phased.bearings.several
    grid, other = (np.arange(144, dtype=np.int32) for _ in range(2))
    for one in (grid, other):
        wrong = np.flatnonzero(several)
        wrong = rng.permutation(wrong)[:12]
        one[wrong] = rng.permutation(wrong)
    codes = np.empty(144, dtype=np.int32)
    fill_codes(phased.bearings, 12, grid, codes)
    memory = empty_memory(144, 4)
    best = grid.copy()
    gain = merge(phased.features, codes, several, 12, best, other, memory, 1e-6)
    costs = [cost_of_grid(phased.features, 12, each, phased.bearings) for each in (grid, best)]
    assert gain == pytest.approx(costs[0] - costs[1], abs=1e-3)
    chain = new_chain(phased, 12, codes, grid, memory, np.uint64(1), np.uint64(1), np.uint64(1))
    doubted = set(chain.doubts.sides[: chain.doubts.number[0]].tolist())
    for cell in range(144):
        for direction, beside in ((0, cell + 1), (1, cell + 12)):
            if beside < 144 and (direction == 1 or beside % 12 > 0):
                row, second = pair_in(codes, several, grid[cell], direction, grid[beside], cell, beside)
                cost = recalled(phased.features, memory.entries, memory.step, np.int64(row), np.int64(second))
                for side in (4 * grid[cell] + direction, 4 * grid[beside] + direction + 2):
                    assert (side in doubted) == (cost > phased.fair_costs[side])
