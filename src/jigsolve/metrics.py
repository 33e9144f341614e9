"""How right an arrangement is, against the truth, as the paper measures it (section 4)."""

from dataclasses import dataclass

import numpy as np

from .arrangement import Arrangement
from .errors import InputError


@dataclass(frozen=True)
class Score:
    """The accuracies of an arrangement, as fractions of one."""

    neighbour: float
    direct: float

    @property
    def perfect(self) -> bool:
        """Whether every piece is in its place."""
        return self.direct == 1.0

    def summary(self) -> str:
        """Return one line for people."""
        perfect = "yes" if self.perfect else "no"
        return f"neighbour {100 * self.neighbour:.2f} %, direct {100 * self.direct:.2f} %, perfect: {perfect}"


def neighbour_accuracy(arrangement: Arrangement, truth: Arrangement) -> float:
    """Return the fraction of adjacent pairs that are adjacent, on the same sides, in the truth too."""
    _check_frames(arrangement, truth)
    if truth.grid.size == 1:
        return 1.0
    rows, columns = _true_cells(arrangement, truth)
    across = (np.diff(columns, axis=1) == 1) & (np.diff(rows, axis=1) == 0)
    down = (np.diff(rows, axis=0) == 1) & (np.diff(columns, axis=0) == 0)
    return float((across.sum() + down.sum()) / (across.size + down.size))


def direct_accuracy(arrangement: Arrangement, truth: Arrangement) -> float:
    """Return the fraction of pieces that lie in their own cell."""
    _check_frames(arrangement, truth)
    return float(np.mean(arrangement.grid == truth.grid))


def score(arrangement: Arrangement, truth: Arrangement) -> Score:
    """Return all accuracies of an arrangement."""
    return Score(neighbour_accuracy(arrangement, truth), direct_accuracy(arrangement, truth))


def _true_cells(arrangement: Arrangement, truth: Arrangement) -> tuple[np.ndarray, np.ndarray]:
    """Return, for every cell of the arrangement, the row and the column where its piece belongs."""
    cell_of_piece = np.argsort(truth.grid, axis=None)
    return np.divmod(cell_of_piece[arrangement.grid], truth.columns)


def _check_frames(arrangement: Arrangement, truth: Arrangement) -> None:
    if arrangement.grid.shape != truth.grid.shape:
        raise InputError(
            f"an arrangement of {arrangement.rows} x {arrangement.columns} and a truth of "
            f"{truth.rows} x {truth.columns} do not belong together"
        )
