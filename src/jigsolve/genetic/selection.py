"""Roulette-wheel selection (section 3): the chance to be a parent is proportional to fitness.

The paper's "fitness" is a cost, lower is better, and it does not say how it becomes a chance. Each function here is
one way; docs/algorithm.md compares them.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .random import fill_with_units

# Keeps the draws of parents apart from those of children, whose index is theirs.
PARENTS_STREAM = np.uint64(2**32)


def inverse(costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / cost: the most literal reading, and a mild one, as costs differ by some percent."""
    if costs.min() <= 0:
        return (costs == costs.min()).astype(np.float64)
    return costs.min() / costs


def window(costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Worst cost - cost: the distance from the worst, which is never a parent."""
    return costs.max() - costs


def exponential(costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """exp(-5 (cost - best) / (mean - best)): strong, and unmoved by the scale of the costs."""
    spread = costs.mean() - costs.min()
    if spread <= 0:
        return np.ones_like(costs)
    return np.exp(-5 * (costs - costs.min()) / spread)


SELECTIONS: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "inverse": inverse,
    "window": window,
    "exponential": exponential,
}


def select_parents(
    costs: NDArray[np.float64], selection: str, children: int, seed: int, generation: int
) -> NDArray[np.int64]:
    """Return the two parents of each child, drawn independently: shape (children, 2)."""
    cumulative = np.cumsum(SELECTIONS[selection](costs))
    if not cumulative[-1] > 0:  # All are equally bad.
        cumulative = np.arange(1.0, len(costs) + 1)
    draws = np.empty(2 * children, dtype=np.float64)
    fill_with_units(draws, np.uint64(seed), np.uint64(generation), PARENTS_STREAM)
    chosen = np.searchsorted(cumulative, draws * cumulative[-1], side="right")
    return np.minimum(chosen, len(costs) - 1).reshape(children, 2)
