"""Evolution and refinement as a chart: cost and phases by generation."""

import io
from collections.abc import Sequence

from .errors import InputError
from .history import EVOLVE, REFINE, Generation

FORMATS = (".png", ".svg", ".pdf")
PHASE_COLOURS = ("#2a7f9e", "#e0a030", "#b04a4a")
REFINEMENT_COLOUR = "#f0f0e4"


def cost_plot(history: Sequence[Generation], suffix: str = ".png") -> bytes:
    """Return a chart of best and mean cost and of the shares of the phases, as a file of the given format.

    The refinement, which has no phases, is shaded.
    """
    from matplotlib.figure import Figure  # Slow to import, and only needed here.
    from matplotlib.ticker import LogLocator, NullLocator

    if suffix.lower() not in FORMATS:
        raise InputError(f"a plot cannot be written as {suffix!r}; use one of {', '.join(FORMATS)}")
    if not history:
        raise InputError("there is nothing to plot: the history is empty")
    numbers = [generation.number for generation in history]
    figure = Figure(figsize=(8, 6), layout="constrained")
    cost, phases = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    cost.plot(
        numbers, [generation.mean_cost for generation in history], color="#9a9a9a", label="mean of the population"
    )
    cost.plot(numbers, [generation.best_cost for generation in history], color="#2a7f9e", label="best")
    if any(generation.mean_cost > 0 for generation in history):
        cost.set_yscale("log")
        cost.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        cost.yaxis.set_minor_locator(NullLocator())
    cost.yaxis.set_major_formatter("{x:,g}")
    last = history[-1]
    end = (last.number, last.best_cost)
    cost.annotate(f"{last.best_cost:,.1f}", end, (-4, 6), textcoords="offset points", ha="right", color="#2a7f9e")
    cost.set_ylabel("cost (sum of dissimilarities)")
    cost.grid(visible=True, which="both", alpha=0.25)
    refined = [generation.number for generation in history if generation.stage == REFINE]
    if refined:
        cost.axvspan(refined[0] - 1, refined[-1], color=REFINEMENT_COLOUR, zorder=0, label="refinement")
        phases.axvspan(refined[0] - 1, refined[-1], color=REFINEMENT_COLOUR, zorder=0)
    cost.legend(frameon=False)
    evolved = [generation for generation in history if generation.stage == EVOLVE]
    bred = evolved[1:] or evolved or history
    phases.stackplot(
        [generation.number for generation in bred],
        [100 * generation.agreed_share for generation in bred],
        [100 * generation.buddy_share for generation in bred],
        [100 * generation.greedy_share for generation in bred],
        labels=("agreed by both parents", "best buddy", "greedy"),
        colors=PHASE_COLOURS,
    )
    phases.set_ylabel("placements (%)")
    phases.set_xlabel("generation, then part of the refinement" if refined else "generation")
    phases.set_ylim(0, 100)
    phases.margins(x=0)
    phases.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)
    buffer = io.BytesIO()
    figure.savefig(buffer, format=suffix.lower()[1:], dpi=120)
    return buffer.getvalue()
