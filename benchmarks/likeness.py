"""Fit the weights of likeness (`jigsolve/compatibility/likeness_costs.py`) to photographs, and tell what they say.

    python -m benchmarks.likeness PICTURE ... [--held PICTURE ...]

asks, for true neighbours among the flat pieces of each photograph, how probable they are among all flat pieces, by the
weights as they are and by those that make the true ones most probable on all photographs together but the held ones. It
prints for each photograph the natural logarithms that are left open, less is better, and both sets of weights. What has
few flat pieces is left out.
"""

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jigsolve import Puzzle
from jigsolve._jit import kernel
from jigsolve.compatibility import likeness_costs as costs
from jigsolve.compatibility.candidates import learn
from jigsolve.compatibility.seam_costs import Seams, square_of_lines
from jigsolve.compatibility.seams import traced_seams
from jigsolve.compatibility.trace_costs import UNKNOWN, broken_between, changed_between
from jigsolve.parameters import SMALL_PUZZLE
from jigsolve.threads import Threads

# Neighbours of a photograph that are asked for along each axis, and flat pieces that each is told from.
ASKED, OTHERS = 300, 500
# The weights of the terms, in the order of `terms_of`.
BLOCK_WEIGHTS = ("OF_BROKEN", "OF_BLOCK", "OF_BROKEN_COLOUR", "OF_COLOUR_BLOCK")
CHANGED_WEIGHTS = ("OF_CHANGED", "OF_CHANGED_BETWEEN")
UNIT_WEIGHTS = ("OF_BRIGHT", "OF_STEP", "OF_ALONG", "OF_BUSY", "OF_BUSY_DOWN")
NAMES = ("OF_LINES", *BLOCK_WEIGHTS, *CHANGED_WEIGHTS, *UNIT_WEIGHTS, "OF_BESIDE")
WEIGHTS = {name: float(getattr(costs, name)) for name in NAMES}
NEWTON_STEPS = 50


class Question(NamedTuple):
    """Which of many pieces lies beside one: the terms of all of them, the true one first."""

    terms: NDArray[np.float64]
    number: NDArray[np.float64]
    """How many pieces each stands for, as a logarithm."""


@kernel
def compare(features, side, others, out):
    """Find what lines and blocks say of a side and each of some others."""
    for index in range(len(others)):
        other = np.int64(others[index])
        square = square_of_lines(features.lines, features.lengths, features.means, features.weights, side, other)
        out[index, 0] = square
        out[index, 1] = broken_between(features.traces.brightness, side, other, UNKNOWN)
        out[index, 2] = broken_between(features.traces.colour, side, other, UNKNOWN)
        out[index, 3] = changed_between(features.traces.colour, side, other, UNKNOWN)


def terms_of(seams: Seams, side: int, others: NDArray[np.int64], said: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the terms of what a side and others, to its right or below it, cost: (others, terms).

    `said` is what lines and blocks say (see `compare`).
    """
    sheets = seams.likeness.sheets
    one, two = (sheets[costs.sheet_of(sides)].astype(np.float64) for sides in (side, others))
    brighter = two[:, costs.BRIGHT] - one[costs.BRIGHT]
    step = brighter - 0.5 * (one[costs.ACROSS] + two[:, costs.ACROSS])
    columns = [costs.ALONG, costs.BUSY, costs.BUSY_DOWN]
    differences = np.stack([brighter, step, *(two[:, columns] - one[columns]).T], axis=1)
    units = one[costs.UNITS : costs.UNITS + costs.COMPARED] * two[:, costs.UNITS : costs.UNITS + costs.COMPARED]
    beside = costs.differs(two[:, costs.BEGIN] - one[costs.END], costs.HALF_LEVEL)
    broken, broken_colour, changed = said[:, 1], said[:, 2], said[:, 3]
    blocks = [
        broken > costs.HARDLY,
        np.minimum(broken, costs.MOST_BROKEN),
        broken_colour > costs.HARDLY,
        np.minimum(broken_colour, costs.MOST_BROKEN),
        np.maximum(changed, 0),
        np.minimum(changed, 0),
    ]
    off = np.sqrt(1 + np.minimum(differences**2 * units, costs.MOST_UNITS)) - 1
    return np.concatenate([np.stack([np.sqrt(said[:, 0]), *blocks], axis=1), off, beside[:, np.newaxis]], axis=1)


def check_terms(
    seams: Seams, side: int, others: NDArray[np.int64], said: NDArray[np.float64], terms: NDArray[np.float64]
) -> None:
    """Make sure that the terms are those of the product's own cost."""
    total = costs.LEAST + np.minimum(terms @ np.array(list(WEIGHTS.values())), costs.MOST)
    own = [
        costs.unlikeness(seams.likeness, side, int(other), *numbers)
        for other, numbers in zip(others, said, strict=True)
    ]
    np.testing.assert_allclose(total * seams.likeness.worth[0], own, rtol=1e-5)


def questions_of(path: Path, threads: Threads) -> list[Question]:
    """Return what is asked of a photograph's pieces, which lie in their true order."""
    puzzle = Puzzle.from_image(path, 28, crop=True)
    if len(puzzle) <= SMALL_PUZZLE:
        raise SystemExit(f"{path}: {len(puzzle)} pieces; likeness is learned from more than {SMALL_PUZZLE}")
    frame = puzzle.rows, puzzle.columns
    seams, _ = learn(traced_seams(puzzle), threads)
    if not isinstance(seams, Seams) or len(seams.likeness.sheets) == 0:
        return []
    flat = seams.likeness.sheets[::2, costs.FLAT] == 1
    rng = np.random.default_rng(1)
    questions: list[Question] = []
    for direction in range(2):
        there = np.arange(len(puzzle)).reshape(frame)
        here, next_to = (there[:, :-1], there[:, 1:]) if direction == 0 else (there[:-1], there[1:])
        both = flat[here] & flat[next_to]
        for piece in rng.permutation(here[both])[:ASKED]:
            true = piece + (1 if direction == 0 else puzzle.columns)
            drawn = rng.permutation(np.flatnonzero(flat))[:OTHERS]
            drawn = drawn[(drawn != piece) & (drawn != true)]
            side, others = 4 * int(piece) + direction, 4 * np.concatenate([[true], drawn]) + direction + 2
            said = np.empty((len(others), 4))
            compare(seams, side, others, said)
            if not np.isfinite(said[0]).all():
                continue
            possible = np.isfinite(said).all(axis=1)
            others, said = others[possible], said[possible]
            terms = terms_of(seams, side, others, said)
            if not questions:
                check_terms(seams, side, others, said, terms)
            number = np.full(len(others), np.log((flat.sum() - 2) / max(len(drawn), 1)))
            number[0] = 0
            questions.append(Question(terms, number))
    return questions


def left_open(weights: NDArray[np.float64], questions: list[Question]) -> float:
    """Return how many natural logarithms are left open on average."""
    return float(np.mean([_chances(weights, question)[1] for question in questions]))


def _chances(weights: NDArray[np.float64], question: Question) -> tuple[NDArray[np.float64], float]:
    said = question.number - question.terms @ weights
    said -= said.max()
    chances = np.exp(said)
    chances /= chances.sum()
    return chances, float(-np.log(chances[0]))


def fitted(questions: list[Question]) -> NDArray[np.float64]:
    """Return the weights, none negative, that leave least open: Newton's method, with shorter steps where it must."""
    weights = np.array(list(WEIGHTS.values()))
    least = left_open(weights, questions)
    for _ in range(NEWTON_STEPS):
        gradient, curvature = np.zeros(len(weights)), 1e-4 * np.eye(len(weights))
        for question in questions:
            chances, _ = _chances(weights, question)
            expected = chances @ question.terms
            centred = question.terms - expected
            gradient += (question.terms[0] - expected) / len(questions)
            curvature += (chances[:, np.newaxis] * centred).T @ centred / len(questions)
        step = np.linalg.solve(curvature, gradient)
        for shorter in range(8):
            tried = np.maximum(weights - step / 2**shorter, 0)
            open_now = left_open(tried, questions)
            if open_now < least:
                break
        else:
            return weights
        gained, weights, least = least - open_now, tried, open_now
        if gained < 1e-5:
            return weights
    return weights


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pictures", nargs="+", type=Path)
    parser.add_argument("--held", nargs="*", type=Path, default=[], help="told of, but not fitted to")
    arguments = parser.parse_args()
    asked: dict[Path, list[Question]] = {}
    with Threads() as threads:
        for path in (*arguments.pictures, *arguments.held):
            asked[path] = questions_of(path, threads)
            print(f"{path.name}: {len(asked[path])} neighbours", flush=True)
    questions = [question for path in arguments.pictures for question in asked[path]]
    if not questions:
        raise SystemExit("too few flat pieces in these photographs to fit anything; try some with a wide sky")
    weights = fitted(questions)
    present = np.array(list(WEIGHTS.values()))
    print("\n| picture | left open as it is | as fitted |\n|---|---|---|")
    for path, answers in asked.items():
        if answers:
            held = " (held)" if path in arguments.held else ""
            print(f"| {path.name}{held} | {left_open(present, answers):.2f} | {left_open(weights, answers):.2f} |")
    print("\n| weight | as it is | as fitted |\n|---|---|---|")
    for (name, now), then in zip(WEIGHTS.items(), weights, strict=True):
        print(f"| {name} | {now:.2f} | {then:.2f} |")


if __name__ == "__main__":
    main()
