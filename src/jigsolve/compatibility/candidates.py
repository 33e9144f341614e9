"""All that the search knows of the pieces: their candidates, who fits whom best, and what anything else would cost."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._jit import kernel
from ..parameters import SMALL_PUZZLE
from ..threads import Threads
from .bearings import Bearings, bearings_of, no_bearings
from .context import SETTLED, SURE, partners_in_context
from .costs import HEAD, Features, head_of, number_of_sides
from .likeness import compile_likeness, learned_likeness
from .lists import Lists, Tell, costs_from, costs_squared, find_lists, part_of
from .partners import Partners, find_partners, of_rank
from .phases import closed_links, cut_sides, narrowed, share_of_several
from .ramps import flatness, learned
from .seam_costs import Seams
from .segments import join_segments, partners_in_segments, sharpness

# The share of the time for candidates after which phases are told apart, about, the lists are found, and judged in
# context.
TOLD, LISTED, JUDGED = 0.2, 0.7, 0.8
# Candidates that are enough to tell phases, and the share of pieces that must be of several for that to be worth while.
ROUGH = 16
SEVERAL = 0.25
# The share from which on it is worth while to begin again with what segments tell of phases.
STILL_SEVERAL = 0.05
# The share of pieces that must be flat for that.
FLAT = 0.1


class Compatibility(NamedTuple):
    """All that the search knows of the pieces. Sides are numbered 4 * piece + direction."""

    candidates: NDArray[np.int32]
    """(sides, k): for every side the k sides that fit it best, best first, ties by number."""
    costs: NDArray[np.float32]
    """(sides, k): what they cost by `told`, where it costs something to be of several phases."""
    buddies: NDArray[np.int32]
    """(pieces, 4): the piece whose side is this side's best buddy, in context if that is asked for, or -1."""
    partners: NDArray[np.int32]
    """(pieces, 4): the piece that most probably lies at this side, or -1: in a sure loop with it (see `loops`), or a
    best buddy that fits clearly better than the next best."""
    doubt: NDArray[np.uint8]
    """(sides,): how doubtful a side's partner is, from 0 up: those in loops first, then by how much better they fit
    than the next best candidate of either; NO_PARTNER where there is none, VAGUE where moreover the first two
    candidates fit about equally well, or all are settled elsewhere."""
    fair_costs: NDArray[np.float32]
    """(sides,): what a side's partner costs if it is in two loops with it, or in a large puzzle in one, else its first
    candidate; infinite where it has none. A side that faces a dearer one is in doubt."""
    heads: NDArray[np.float32]
    """(4, HEAD, pieces): the heads of the sides of each direction (see `costs.head_of`), rounded."""
    head_error: float
    """By how much the distance of two heads can be off."""
    features: Features
    """What any other cost is computed from (see `costs`)."""
    told: Features
    """The same with what comparing pieces told of them (see `phases`), which is rarely wrong: what lists, partners and
    beliefs go by."""
    bearings: Bearings
    """By that, how far from each other pieces can lie, in a large puzzle of one picture: of several, each has blocks of
    its own."""


def find_candidates(
    features: Features,
    keep: int,
    threads: Threads,
    tell: Tell | None = None,
    *,
    frame: tuple[int, int] | None = None,
) -> Compatibility:
    """Find the `keep` cheapest candidates of every side, and what follows from them.

    Partners are told from the lists; for a `frame` (rows, columns) also from what other partners say (see `context`)
    and, in a large puzzle, from the segments that they make (see `segments`), and bearings count: a small one is
    refined to the end anyway. If many pieces may still be of several phases, segments tell more of them, and all begins
    again.
    """
    begin = TOLD if _is_flat(features) else 0.0
    features, told = learn(features, threads, part_of(tell, 0, begin))
    large = frame is not None and number_of_sides(features) > 4 * SMALL_PUZZLE
    if large and isinstance(features, Seams) and isinstance(told, Seams) and _are_several(told):
        middle = 0.5 * (begin + 1)
        partners = _find(told, keep, frame, threads, part_of(tell, begin, middle)).partners
        links = closed_links(told.traces.brightness, partners.up_to(SURE))
        told, begin = told._replace(traces=narrowed(features.traces, links)), middle
    lists, partners, several = _find(told, keep, frame, threads, part_of(tell, begin, 1))
    bearings = bearings_of(features, told) if large and not several else no_bearings()
    heads, head_error = _heads(features, len(partners.pieces))
    # A small puzzle can afford to doubt more.
    sure = partners.up_to(SURE if len(partners.pieces) > SMALL_PUZZLE else SETTLED)
    return Compatibility(
        candidates=lists.candidates,
        costs=lists.costs,
        buddies=partners.buddies,
        partners=partners.pieces,
        doubt=partners.doubt,
        fair_costs=fair_costs(features, lists, sure),
        heads=heads,
        head_error=head_error,
        features=features,
        told=told,
        bearings=bearings,
    )


class Found(NamedTuple):
    """Candidates, the partners that follow from them, and whether these are several pictures."""

    lists: Lists
    partners: Partners
    several: bool


def _find(told: Features, keep: int, frame: tuple[int, int] | None, threads: Threads, tell: Tell) -> Found:
    """Find candidates and partners; these in context if there is a frame, and in a large puzzle in segments."""
    lists = find_lists(told, keep, threads, part_of(tell, 0, LISTED if frame else 1))
    partners = find_partners(lists, threads)
    if frame is None:
        return Found(lists, partners, several=False)
    large = len(partners.pieces) > SMALL_PUZZLE
    partners = partners_in_context(told, lists, partners, threads, part_of(tell, LISTED, JUDGED if large else 1))
    if not large:
        return Found(lists, partners, several=False)
    return Found(lists, *partners_in_segments(told, lists, partners, frame, threads, part_of(tell, JUDGED, 1)))


def learn(features: Features, threads: Threads, tell: Tell | None = None) -> tuple[Features, Features]:
    """Return the features with what neighbours in this puzzle have in common, which costs go by.

    That is how ramps continue (see `ramps`) and, in a large puzzle, how likely pieces are to be neighbours (see
    `likeness`): a small one is refined to the end anyway. And the same with fewer phases of colour, as groups of pieces
    tell (see `phases`). All follow from partners that rough lists name, if there are flat pieces; where all have
    texture there is nothing to learn.
    """
    if not isinstance(features, Seams) or not _is_flat(features):
        return features, features
    lists = find_lists(features, ROUGH, threads, tell, exact=False)
    partners = find_partners(lists, threads)
    sure = partners.up_to(SURE)
    summaries = features.ramps.summaries
    if len(summaries) > 0:
        features = features._replace(
            ramps=learned(features.ramps, sure, cut_sides(features.traces.brightness, len(features.weights)))
        )
        if len(summaries) > SMALL_PUZZLE:
            sharp = sharpness(lists, partners.up_to(SETTLED))
            features = features._replace(likeness=learned_likeness(summaries, sure, sharp, threads))
    if len(features.traces.colour.keys) == 0 or len(features.traces.brightness.keys) == 0:
        return features, features
    vague = features.likeness._replace(vague=np.ones(1))  # Who may be of many phases would be in too many lists.
    told = features._replace(traces=narrowed(features.traces, sure), likeness=vague)
    # Who is compared with fewer has surer partners, which tell phases more surely in turn.
    lists = find_lists(told, ROUGH, threads, exact=False)
    sure = find_partners(lists, threads).up_to(SURE)
    return features, features._replace(traces=narrowed(features.traces, sure), likeness=vague)


def _are_several(told: Seams) -> bool:
    """Return whether many pieces may still be of several phases."""
    return share_of_several(told.traces) >= STILL_SEVERAL


def _is_flat(features: Features) -> bool:
    """Return whether many pieces are flat, or may be of several phases."""
    if not isinstance(features, Seams):
        return False
    flat = flatness(features.ramps) if len(features.ramps.summaries) > 0 else np.zeros(1)
    return share_of_several(features.traces) >= SEVERAL or float((flat > 0).mean()) >= FLAT


def compile_segments(features: Features, frame: tuple[int, int], threads: Threads) -> None:
    """Compile what only large puzzles need, or those with many flat pieces, with a small one."""
    lists = find_lists(features, 2, threads)
    partners = find_partners(lists, threads)
    join_segments(features, lists, partners, frame, 1.0, threads, part_of(None, 0, 1))
    if isinstance(features, Seams) and len(features.traces.brightness.keys) > 0:
        narrowed(features.traces._replace(colour=features.traces.brightness), partners.pieces)
    compile_likeness(threads)


def fair_costs(features: Features, lists: Lists, sure: NDArray[np.int32]) -> NDArray[np.float32]:
    """Return what each side's sure partner costs, else its first candidate; `sure` are (pieces, 4), -1 for none."""
    fair = of_rank(lists.costs, 0).copy()
    partners = sure.ravel()
    sides = np.flatnonzero(partners >= 0)
    squares = costs_squared(features, sides, 4 * partners[sides] + (sides & 3 ^ 2))
    fair[sides] = costs_from(features, squares[:, np.newaxis])[:, 0]
    return fair


def _heads(features: Features, pieces: int) -> tuple[NDArray[np.float32], float]:
    heads = heads_of(features, pieces)
    return heads, float(HEAD * 2.0**-23 * np.abs(heads).max())


@kernel
def heads_of(features, pieces):
    """The heads of all sides, by direction."""
    heads = np.empty((4, HEAD, pieces), np.float32)
    for direction in range(4):
        for piece in range(pieces):
            for index in range(HEAD):
                heads[direction, index, piece] = head_of(features, 4 * piece + direction, index)
    return heads
