import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jigsolve import Puzzle
from jigsolve.compatibility import candidates, products
from jigsolve.compatibility import lists as module
from jigsolve.compatibility.candidates import find_candidates
from jigsolve.compatibility.costs import HEAD, SCALE, cost_of, squared_distance, squared_distance_below, to_fixed_point
from jigsolve.compatibility.lab import lab_features
from jigsolve.compatibility.lists import CHUNK, MARGIN
from jigsolve.compatibility.loops import SOUGHT, SURE_RATIO
from jigsolve.compatibility.partners import DOUBT_RATIOS, LOOPS, NO_PARTNER, VAGUE, VAGUE_RATIO, buddied_share
from jigsolve.compatibility.products import bound_tiles, factors_of
from jigsolve.compatibility.seams import mgc_seams, midline_seams
from jigsolve.threads import Threads
from tests import naive
from tests.puzzles import compatibility_of, costs_of, drawing, drawn_puzzle, random_features, random_pieces, squares_of


def check_against_naive(features, keep):
    found = compatibility_of(features, keep)
    squares = naive.all_costs(features)
    assert found.candidates.tolist() == naive.candidates(squares, keep)
    assert found.buddies.tolist() == naive.best_buddies(squares)
    check_doubts(features, found)


def check_doubts(features, found):
    """Fair costs and doubts are what the costs of all pairs say."""
    costs, lists = costs_of(features), found.candidates.tolist()
    assert found.costs.tolist() == [
        [costs[side // 4, side % 4, other // 4] for other in others] for side, others in enumerate(lists)
    ]
    partners, doubts = naive.doubts(costs, lists, DOUBT_RATIOS, VAGUE_RATIO, SOUGHT, SURE_RATIO)
    assert found.partners.ravel().tolist() == partners
    assert found.doubt.tolist() == doubts
    for side, fair in enumerate(found.fair_costs):
        others = costs[side // 4, side % 4]
        settled = doubts[side] == 0
        assert fair == (others[partners[side]] if settled else np.delete(others, side // 4).min(initial=np.inf))


@pytest.mark.parametrize("keep", [1, 3, 100])
@pytest.mark.parametrize("pieces", [1, 2, 3, 20])
def test_random_features(pieces, keep):
    check_against_naive(random_features(np.random.default_rng(pieces), pieces), keep)


@pytest.mark.parametrize("keep", [1, 5, 24])
def test_lists_stay_exact_where_the_matrix_product_cannot_tell_pieces_apart(keep):
    # Differences of a few steps in features a million steps long: float32 rounds them all away.
    rng = np.random.default_rng(1)
    features = np.int32(2**20) + random_features(rng, 40, low=-3, high=4)
    check_against_naive(features.astype(np.int32), keep)


@pytest.fixture
def looks(monkeypatch):
    """How many pieces were looked at again, for each direction."""
    numbers, look_again = [], module._look_again

    def counted(features, direction, pieces, *rest):
        numbers.append(len(pieces))
        look_again(features, direction, pieces, *rest)

    monkeypatch.setattr(module, "_look_again", counted)
    return numbers


@pytest.mark.parametrize("keep", [1, 5, 70])
@pytest.mark.parametrize("tiles", [(512, 4096), (37, 70), (150, 9)])
def test_lists_stay_exact_where_every_side_needs_a_second_look(monkeypatch, looks, tiles, keep):
    monkeypatch.setattr(products, "TILE_ROWS", tiles[0])
    monkeypatch.setattr(products, "TILE_COLUMNS", tiles[1])
    pieces = 2 * CHUNK + 22
    features = np.int32(2**20) + random_features(np.random.default_rng(5), pieces, HEAD, low=-3, high=4)
    check_against_naive(features, keep)
    assert looks == [pieces] * 4


@pytest.mark.parametrize("keep", [1, 6, 80, 150])
def test_where_many_pieces_fit_exactly_the_first_of_them_are_taken(looks, keep):
    # Once a list is full of them, no later chunk is looked at: it is after the first, the second or the third.
    rng = np.random.default_rng(6)
    features = np.tile(random_features(rng, 1, HEAD)[[0, 1, 0, 1]], (3 * CHUNK, 1))
    few = rng.permutation(3 * CHUNK)[:20]
    features.reshape(-1, 4, HEAD)[few] += random_features(rng, 20, HEAD, low=-2, high=3).reshape(20, 4, HEAD)
    check_against_naive(features, keep)
    assert min(looks) > CHUNK


def test_of_features_that_differ_no_side_needs_a_second_look(looks):
    check_against_naive(random_features(np.random.default_rng(7), 60, HEAD), 5)
    assert looks == [0] * 4


@pytest.mark.parametrize("more", [-1, 0, 1])
@pytest.mark.parametrize("alike", [False, True])
def test_a_short_list_about_as_long_as_the_puzzle(alike, more):
    pieces = 20
    rng = np.random.default_rng(8)
    features = random_features(rng, pieces, low=-1 if alike else -1000, high=2 if alike else 1000)
    check_against_naive(features, pieces - 1 - MARGIN + more)


@settings(max_examples=40, deadline=None)
@given(
    st.tuples(st.integers(2, 30), st.integers(1, 32), st.integers(0, 3)),
    st.tuples(st.integers(1, 12), st.integers(1, 12)),
    st.integers(0, 2**32),
    st.sampled_from([(-1, 1), (-2, 3), (-1000, 1000), (2**20 - 2, 2**20 + 2)]),
)
def test_lists_are_exact_whatever_the_tiles_and_however_short_the_short_lists(sizes, tiles, seed, values):
    pieces, keep, margin = sizes
    features = random_features(np.random.default_rng(seed), pieces, HEAD, *values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MARGIN", margin)
        patch.setattr(products, "TILE_ROWS", tiles[0])
        patch.setattr(products, "TILE_COLUMNS", tiles[1])
        check_against_naive(features, keep)


def test_identical_pieces_go_by_number():
    features = np.tile(random_features(np.random.default_rng(2), 1), (30, 1))
    check_against_naive(features, 4)


def test_constant_pieces():
    check_against_naive(np.zeros((4 * 12, 20), dtype=np.int32), 5)


def test_more_pieces_than_one_tile(monkeypatch):
    monkeypatch.setattr(products, "TILE_ROWS", 7)
    monkeypatch.setattr(products, "TILE_COLUMNS", 5)
    check_against_naive(random_features(np.random.default_rng(3), 23), 6)


def test_a_real_puzzle():
    check_against_naive(lab_features(drawn_puzzle(4, 5)), 8)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 14), st.integers(1, 14), st.integers(0, 2**32), st.sampled_from([2, 50, 10**6]))
def test_any_features(pieces, keep, seed, spread):
    features = random_features(np.random.default_rng(seed), pieces, low=-spread, high=spread)
    check_against_naive(features, keep)


def check_seams_against_brute_force(seams, keep):
    found = compatibility_of(seams, keep)
    squares = squares_of(seams)
    assert found.candidates.tolist() == naive.candidates(squares, keep)
    assert found.buddies.tolist() == naive.best_buddies(squares)
    check_doubts(seams, found)


@pytest.mark.parametrize("measure", [mgc_seams, midline_seams])
@pytest.mark.parametrize("keep", [1, 8, 100])
def test_seams_of_a_real_puzzle(measure, keep):
    check_seams_against_brute_force(measure(drawn_puzzle(4, 5)), keep)


@pytest.mark.parametrize("measure", [mgc_seams, midline_seams])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 2), (2, 1)])
def test_seams_of_few_pieces(measure, rows, columns):
    check_seams_against_brute_force(measure(drawn_puzzle(rows, columns)), 4)


@pytest.mark.parametrize("measure", [mgc_seams, midline_seams])
def test_seams_of_identical_and_of_nearly_identical_pieces(measure):
    tile = drawing(8, 8)
    check_seams_against_brute_force(measure(Puzzle.from_array(np.tile(tile, (5, 6, 1)), 8)), 4)
    deep = np.tile(tile.astype(np.uint16) * 257, (5, 6, 1))
    deep += np.random.default_rng(1).integers(0, 2, size=deep.shape, dtype=np.uint16)
    check_seams_against_brute_force(measure(Puzzle.from_array(deep, 8)), 4)


@pytest.mark.parametrize("measure", [mgc_seams, midline_seams])
def test_seams_of_more_pieces_than_one_tile(monkeypatch, measure):
    monkeypatch.setattr(products, "TILE_ROWS", 7)
    monkeypatch.setattr(products, "TILE_COLUMNS", 5)
    check_seams_against_brute_force(measure(drawn_puzzle(4, 6, 5, 7)), 6)


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from([mgc_seams, midline_seams]),
    st.integers(2, 14),
    st.integers(1, 14),
    st.tuples(st.integers(1, 5), st.integers(1, 5)),
    st.integers(0, 2**32),
    st.sampled_from([1, 2, 3, 256]),
)
def test_any_seams(measure, pieces, keep, size, seed, levels):
    puzzle = random_pieces(np.random.default_rng(seed), pieces, *size, levels=levels)
    check_seams_against_brute_force(measure(puzzle), keep)


def bounds_of(features, direction):
    """All bounds of the sides of a direction: (piece, other, bound), each pair once."""
    left, right = factors_of(features, direction)
    pieces = len(left.pieces)
    assert sorted(left.pieces) == sorted(right.pieces) == list(range(pieces))
    found, ended = [], 0
    for first_row, first_column, bounds, ends_rows in bound_tiles(left, right):
        ended += ends_rows * len(bounds)
        for (row, column), bound in np.ndenumerate(bounds):
            found.append((left.pieces[first_row + row], right.pieces[first_column + column], bound))
    assert ended == pieces
    assert len({(piece, other) for piece, other, _ in found}) == len(found) == pieces**2
    return found


@pytest.mark.parametrize("tiles", [(512, 4096), (1, 3)])
@pytest.mark.parametrize("measure", [lab_features, mgc_seams, midline_seams])
@pytest.mark.parametrize("pieces", ["real", "random", "nearly identical", "oblong"])
def test_no_lower_bound_is_above_the_sum_and_few_are_far_below(monkeypatch, measure, pieces, tiles):
    monkeypatch.setattr(products, "TILE_ROWS", tiles[0])
    monkeypatch.setattr(products, "TILE_COLUMNS", tiles[1])
    rng = np.random.default_rng(4)
    nearly = np.tile(drawing(8, 8), (4, 5, 1)) ^ rng.integers(0, 2, size=(32, 40, 3), dtype=np.uint8)
    puzzles = {
        "real": drawn_puzzle(4, 5),
        "random": random_pieces(rng, 20),
        "nearly identical": Puzzle.from_array(nearly, 8),
        "oblong": drawn_puzzle(4, 5, 5, 9),
    }
    features = measure(puzzles[pieces])
    squares = squares_of(features)
    far_below = 0
    for direction in (0, 1):
        for piece, other, bound in bounds_of(features, direction):
            square = squares[piece, direction, other]
            assert bound <= square
            far_below += bound < 0.9 * square
    assert far_below < 0.1 * squares.size


@pytest.mark.parametrize("measure", [lab_features, mgc_seams, midline_seams])
def test_tiles_beyond_the_limits_of_their_rows_are_left_out_and_no_pair_within_them(monkeypatch, measure):
    monkeypatch.setattr(products, "TILE_ROWS", 3)
    monkeypatch.setattr(products, "TILE_COLUMNS", 4)
    rng = np.random.default_rng(6)
    levels = rng.integers(0, 250, size=40)
    pixels = levels[:, np.newaxis, np.newaxis, np.newaxis] + rng.integers(0, 3, size=(40, 5, 5, 3))
    features = measure(Puzzle(pixels.astype(np.uint8), 5, 8))
    squares = squares_of(features)
    left, right = factors_of(features, 0)
    for share, most in ((0.0, 0.4), (0.1, 0.5), (0.5, 0.99)):
        limits = np.quantile(squares[left.pieces, 0], share, axis=1)
        seen, ended = np.zeros((40, 40), dtype=bool), 0
        for first_row, first_column, bounds, ends_rows in bound_tiles(left, right, limits):
            rows, columns = np.indices(bounds.shape)
            seen[left.pieces[first_row + rows], right.pieces[first_column + columns]] = True
            ended += ends_rows * len(bounds)
        assert ended == 40
        within = squares[left.pieces, 0] <= limits[:, np.newaxis]
        assert seen[left.pieces][within].all()
        assert seen.mean() < most if measure is midline_seams else seen.all()


def test_sides_of_similar_colours_come_one_after_the_other_the_flattest_first():
    # Pieces of two colours, flat ones and noisy ones, mixed.
    rng = np.random.default_rng(5)
    colours, noise = np.array([[200, 40, 40], [20, 60, 180]]), np.array([2, 30])
    which = rng.permutation(np.repeat([0, 1], 15))
    pixels = np.array([colours[one] + rng.integers(0, noise[one], size=(6, 6, 3)) for one in which], dtype=np.uint8)
    left, right = factors_of(midline_seams(Puzzle(pixels, 5, 6)), 1)
    for factors in (left, right):
        assert which[factors.pieces].tolist() == [0] * 15 + [1] * 15


@pytest.mark.parametrize("measure", [lab_features, midline_seams])
def test_heads_are_the_first_features_of_every_direction(measure):
    features = measure(drawn_puzzle(3, 4))
    found = compatibility_of(features)
    assert found.heads.shape == (4, HEAD, 12)
    for direction in range(4):
        heads = np.zeros((12, HEAD)) if measure is midline_seams else features[direction::4, :HEAD]
        assert (found.heads[direction] == heads.T.astype(np.float32)).all()


def test_no_sum_is_below_the_distance_of_heads_less_their_error():
    # Too large for float32 by eight bits, and nearly alike: the distances of heads are all rounding.
    for low in (0, 2**30):
        features = random_features(np.random.default_rng(low), 12, HEAD, low, low + 100)
        found, squares = compatibility_of(features), naive.all_costs(features)
        heads = found.heads.astype(np.float64)
        for piece, direction, other in np.ndindex(squares.shape):
            distance = np.linalg.norm(heads[direction, :, piece] - heads[direction ^ 2, :, other])
            assert distance <= float(squares[piece, direction, other]) ** 0.5 + found.head_error


def fitting(rows, columns, more=0):
    """Features of a picture whose neighbours fit exactly, and nothing else, and of some pieces of no picture."""
    features = random_features(np.random.default_rng(9), rows * columns + more, low=-(2**20), high=2**20)
    for row, column in np.ndindex(rows, columns):
        piece = row * columns + column
        if column + 1 < columns:
            features[4 * (piece + 1) + naive.LEFT] = features[4 * piece + naive.RIGHT]
        if row + 1 < rows:
            features[4 * (piece + columns) + naive.UP] = features[4 * piece + naive.DOWN]
    return features


def test_in_a_large_puzzle_a_partner_in_one_loop_is_fair(monkeypatch):
    features = midline_seams(drawn_puzzle(5, 5))
    costs, small = costs_of(features), compatibility_of(features)
    monkeypatch.setattr(candidates, "SMALL_PUZZLE", 24)
    large = compatibility_of(features)
    assert (small.doubt == 1).any()
    for side in np.flatnonzero(large.doubt <= 1):
        piece, direction = divmod(side, 4)
        assert large.fair_costs[side] == costs[piece, direction, large.partners[piece, direction]]
    assert np.array_equal(large.fair_costs[large.doubt != 1], small.fair_costs[small.doubt != 1])


def test_partners_in_loops_are_the_surest():
    doubt = compatibility_of(fitting(3, 3)).doubt.reshape(3, 3, 4)
    assert doubt[:, :2, naive.RIGHT].tolist() == doubt[:, 1:, naive.LEFT].tolist() == [[1, 1], [0, 0], [1, 1]]
    assert doubt[:2, :, naive.DOWN].tolist() == doubt[1:, :, naive.UP].tolist() == [[1, 0, 1], [1, 0, 1]]
    doubt = compatibility_of(fitting(1, 3)).doubt.reshape(3, 4)
    assert doubt[:2, naive.RIGHT].tolist() == [LOOPS] * 2


def test_partners_in_a_loop_are_sure_however_well_another_fits():
    # 0 1    4 fits to the right of 0 nearly as well as 1 does.
    # 2 3
    features = fitting(2, 2, more=1)
    features[[4 * 1 + naive.LEFT, 4 * 4 + naive.LEFT]] = features[4 * 0 + naive.RIGHT]
    features[[4 * 1 + naive.LEFT, 4 * 4 + naive.LEFT], 0] += [1000, 1053]
    found = compatibility_of(features)
    assert found.candidates[4 * 0 + naive.RIGHT, :2].tolist() == [4 * 1 + naive.LEFT, 4 * 4 + naive.LEFT]
    assert found.partners[0, naive.RIGHT] == 1
    assert found.doubt[[4 * 0 + naive.RIGHT, 4 * 1 + naive.LEFT]].tolist() == [1, 1]


def test_a_partner_need_not_be_the_best_buddy():
    # 0 1    4 fits to the right of 0 better than 1 does, but only 1 closes a loop.
    # 2 3
    features = fitting(2, 2, more=1)
    features[[4 * 1 + naive.LEFT, 4 * 4 + naive.LEFT]] = features[4 * 0 + naive.RIGHT]
    features[[4 * 1 + naive.LEFT, 4 * 4 + naive.LEFT], 0] += [1000, 500]
    found = compatibility_of(features)
    assert found.buddies[0, naive.RIGHT] == 4
    assert found.buddies[4, naive.LEFT] == 0
    assert found.partners[0, naive.RIGHT] == 1
    assert found.partners[1, naive.LEFT] == 0
    assert found.partners[4, naive.LEFT] == -1


def test_not_even_a_loop_is_sure_where_others_fit_exactly_too():
    found = compatibility_of(np.zeros((4 * 6, 20), dtype=np.int32))
    assert (found.partners == -1).all()
    assert (found.doubt == VAGUE).all()


def test_doubt_has_levels_for_loops_and_for_every_ratio_then_none_and_vague():
    assert LOOPS + len(DOUBT_RATIOS) == NO_PARTNER == VAGUE - 1
    assert (naive.LOOPS, naive.NO_PARTNER, naive.VAGUE) == (LOOPS, NO_PARTNER, VAGUE)
    # On a line: the right of 0 is at 0, the left of 1, which is nearest to it, at 1000, and that of 2 beyond.
    for ratio, level in ((0.1, 2), (0.64, 2), (0.66, 3), (0.79, 3), (0.81, 4), (0.89, 4), (0.91, 5), (0.995, 5)):
        features = np.zeros((4 * 3, 20), dtype=np.int32)
        features[[4 * 0 + naive.LEFT, 4 * 1 + naive.RIGHT, 4 * 2 + naive.RIGHT], 0] = -(2**20), 2**20, -(2**21)
        features[[4 * 1 + naive.LEFT, 4 * 2 + naive.LEFT], 0] = 1000, -round(1000 / ratio)
        found = compatibility_of(features)
        assert found.buddies[0, naive.RIGHT] == 1
        assert found.doubt[[4 * 0 + naive.RIGHT, 4 * 1 + naive.LEFT]].tolist() == [level, level]


def test_a_side_without_a_buddy_is_vague_if_its_first_two_candidates_fit_alike():
    # Of 3 to the right 0 is the nearest, and then 1; but 0 and 1 are each nearer to others, 2 and 4.
    for second, level in ((1009, VAGUE), (1011, NO_PARTNER)):
        features = np.zeros((4 * 5, 20), dtype=np.int32)
        features[[4 * piece + naive.RIGHT for piece in range(5)], 0] = [9000, 9000, 1010, 0, -1020]
        features[[4 * piece + naive.LEFT for piece in range(5)], 0] = [1000, -second, 9100, 9200, 9200]
        found = compatibility_of(features)
        assert found.candidates[4 * 3 + naive.RIGHT, :2].tolist() == [4 * 0 + naive.LEFT, 4 * 1 + naive.LEFT]
        assert found.buddies[3, naive.RIGHT] == -1
        assert found.doubt[4 * 3 + naive.RIGHT] == level


def test_it_tells_how_far_it_is_and_ends_at_one(monkeypatch):
    monkeypatch.setattr(products, "TILE_ROWS", 7)
    monkeypatch.setattr(products, "TILE_COLUMNS", 5)
    features = np.int32(2**20) + random_features(np.random.default_rng(1), 40, low=-3, high=4)
    shares = []
    with Threads(2) as threads:
        find_candidates(features.astype(np.int32), 3, threads, shares.append)
    assert shares == sorted(shares)
    assert shares[0] < 0.1
    assert shares[-1] == 1
    assert len(shares) == 2 * 3 * 6  # Rows of tiles, in each direction: once for all, and again for either side.


def test_the_share_of_buddies_counts_pairs_right_and_down():
    # 0 1    Buddies: 0 and 1 side by side, 1 above 3, and 2 left of 0, which it is not here.
    # 2 3
    buddies = np.full((4, 4), -1, dtype=np.int32)
    for piece, direction, other in ((0, naive.RIGHT, 1), (1, naive.DOWN, 3), (2, naive.RIGHT, 0)):
        buddies[piece, direction], buddies[other, direction ^ 2] = other, piece
    assert buddied_share(buddies, np.array([[0, 1], [2, 3]])) == 0.5
    assert buddied_share(buddies, np.array([[1, 0], [3, 2]])) == 0.25
    assert buddied_share(buddies, np.array([[2, 0, 1, 3]])) == pytest.approx(2 / 3)
    assert buddied_share(buddies[:1], np.array([[0]])) == 1


@pytest.mark.parametrize("length", [HEAD, HEAD + 1, 84, 300])
def test_squared_distances_are_exact_and_end_early_only_above_the_bound(length):
    rng = np.random.default_rng(length)
    features = rng.integers(-(2**24), 2**24, size=(2, length)).astype(np.int32)
    # Summed up as integers and rounded once, at the end: above 2^53 floats are sparser than integers.
    exact = float(sum((int(a) - int(b)) ** 2 for a, b in zip(*features, strict=True)))
    assert squared_distance(features, 0, 1) == exact
    assert squared_distance_below(features, 0, 1, np.nextafter(exact, np.inf)) == exact
    assert squared_distance_below(features, 0, 1, exact) >= exact
    assert squared_distance_below(features, 0, 1, 1.0) >= 1
    assert cost_of(features, exact) == np.float32(np.sqrt(exact) / SCALE)


def test_fixed_point_pads_short_rows_and_rounds():
    fixed = to_fixed_point(np.array([[0.5, -1.25, 1 / 3]]))
    assert fixed.shape == (1, HEAD)
    assert fixed[0, :3].tolist() == [32768, -81920, 21845]
    assert not fixed[0, 3:].any()
