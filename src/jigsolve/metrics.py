"""How right an arrangement is, against the truth, as the paper measures it (section 4)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .arrangement import Arrangement
from .errors import InputError
from .puzzle import Puzzle


@dataclass(frozen=True)
class Score:
    """The accuracies of an arrangement, as fractions of one."""

    neighbour: float
    direct: float

    @property
    def perfect(self) -> bool:
        """Whether every piece is in its place."""
        return self.direct == 1.0

    def to_dict(self) -> dict[str, float | bool]:
        """Return the accuracies by name, ready for JSON."""
        return {"neighbour": self.neighbour, "direct": self.direct, "perfect": self.perfect}

    def summary(self) -> str:
        """Return one line for people."""
        perfect = "yes" if self.perfect else "no"
        return f"neighbour {100 * self.neighbour:.2f} %, direct {100 * self.direct:.2f} %, perfect: {perfect}"


def neighbour_accuracy(arrangement: Arrangement, truth: Arrangement) -> float:
    """Return the fraction of adjacent pairs that are adjacent, on the same sides, in the truth too."""
    _check_frames(arrangement, truth)
    if truth.grid.size == 1:
        return 1.0
    across, down = right_pairs(arrangement, truth)
    return float((across.sum() + down.sum()) / (across.size + down.size))


def direct_accuracy(arrangement: Arrangement, truth: Arrangement) -> float:
    """Return the fraction of pieces that lie in their own cell."""
    _check_frames(arrangement, truth)
    return float(np.mean(arrangement.grid == truth.grid))


def score(arrangement: Arrangement, truth: Arrangement) -> Score:
    """Return all accuracies of an arrangement."""
    return Score(neighbour_accuracy(arrangement, truth), direct_accuracy(arrangement, truth))


def largest_component(arrangement: Arrangement, truth: Arrangement) -> float:
    """Return the share of pieces in the largest part whose pieces hang together by right neighbours."""
    import cv2  # Its labelling of pixels is what is needed here, and only here.

    across, down = right_pairs(arrangement, truth)
    # Pieces and pairs as pixels: pieces on even rows and columns, the pair of two pieces between them.
    pixels = np.zeros((2 * truth.rows - 1, 2 * truth.columns - 1), dtype=np.uint8)
    pixels[::2, ::2] = 1
    pixels[::2, 1::2] = across
    pixels[1::2, ::2] = down
    _, labels = cv2.connectedComponents(pixels, connectivity=4)
    return float(np.bincount(labels[::2, ::2].ravel()).max() / truth.grid.size)


def score_identical(kinds: NDArray[np.int64], arrangement: Arrangement, truth: Arrangement) -> Score:
    """Return the accuracies when pieces with the same pixels count as the same piece, as nobody can tell them apart.

    `kinds` are the puzzle's (`Puzzle.kinds`). A pair is right when the truth has a pair of such pieces, on the same
    sides; each true pair serves once.
    """
    _check_frames(arrangement, truth)
    found, right = kinds[arrangement.grid], kinds[truth.grid]
    direct = float(np.mean(found == right))
    pairs = 2 * truth.grid.size - truth.rows - truth.columns
    if pairs == 0:
        return Score(1.0, direct)
    matches = 0
    for one, other in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])):
        keys = [(grid[one].astype(np.int64) * len(kinds) + grid[other]).ravel() for grid in (found, right)]
        (values, counts), (true_values, true_counts) = (np.unique(key, return_counts=True) for key in keys)
        _, here, there = np.intersect1d(values, true_values, assume_unique=True, return_indices=True)
        matches += int(np.minimum(counts[here], true_counts[there]).sum())
    return Score(matches / pairs, direct)


def ceiling(puzzle: Puzzle, truth: Arrangement) -> Score:
    """Return the accuracies that are left when every piece of one colour is counted as wrong."""
    flat = puzzle.pieces.reshape(len(puzzle), -1, puzzle.pieces.shape[3])
    varied = (flat != flat[:, :1]).any(axis=(1, 2))[truth.grid]
    pairs = [varied[:, :-1] & varied[:, 1:], varied[:-1] & varied[1:]]
    count = sum(pair.size for pair in pairs)
    return Score(float(sum(pair.sum() for pair in pairs) / count) if count else 1.0, float(varied.mean()))


def right_pairs(arrangement: Arrangement, truth: Arrangement) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which pairs, across and down, are adjacent on the same sides in the truth."""
    _check_frames(arrangement, truth)
    cell_of_piece = np.argsort(truth.grid, axis=None)
    rows, columns = np.divmod(cell_of_piece[arrangement.grid], truth.columns)
    across = (np.diff(columns, axis=1) == 1) & (np.diff(rows, axis=1) == 0)
    down = (np.diff(rows, axis=0) == 1) & (np.diff(columns, axis=0) == 0)
    return across, down


def _check_frames(arrangement: Arrangement, truth: Arrangement) -> None:
    if arrangement.grid.shape != truth.grid.shape:
        raise InputError(
            f"an arrangement of {arrangement.rows} x {arrangement.columns} and a truth of "
            f"{truth.rows} x {truth.columns} do not belong together"
        )
