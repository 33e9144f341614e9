"""Charts of a report: accuracy and seconds against pieces, cost by generation."""

import io
import statistics
from typing import TYPE_CHECKING

import numpy as np

from .published import PAPER_NEIGHBOUR, PAPER_SECONDS
from .results import Run
from .summary import SetSummary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = "o^Dv"
OURS, THEIRS = "#2a7f9e", "#b04a4a"


def accuracy_chart(summaries: list[SetSummary]) -> bytes:
    """Return neighbour accuracy against pieces."""
    figure, axes = _figure("pieces", "neighbour accuracy (%)")
    pieces = [summary.pieces for summary in summaries]
    axes.plot(pieces, [summary.spread(lambda run: run.neighbour).average for summary in summaries], "o-", color=OURS)
    axes.plot(
        pieces, [100 * summary.average(lambda run: run.ceiling_neighbour) for summary in summaries], ":", color="k"
    )
    known = [summary for summary in summaries if summary.name in PAPER_NEIGHBOUR]
    paper = [PAPER_NEIGHBOUR[summary.name].average for summary in known]
    axes.plot([summary.pieces for summary in known], paper, "s--", color=THEIRS)
    _pieces_axis(axes, pieces)
    names = ["jigsolve", "ceiling: pieces of one colour counted as wrong", "the paper"]
    axes.legend(names, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)  # No line passes there.
    return _png(figure)


def seconds_chart(summaries: list[SetSummary]) -> tuple[bytes, dict[str, float]]:
    """Return seconds against pieces on logarithmic axes, and the fitted exponents of sets that were run alike."""
    figure, axes = _figure("pieces", "seconds a run")
    exponents = {}
    for way in dict.fromkeys(summary.side_by_side for summary in summaries):
        alike = [summary for summary in summaries if summary.side_by_side == way]
        pieces = np.array([summary.pieces for summary in alike], dtype=float)
        seconds = np.array([summary.average(lambda run: run.total_seconds) for summary in alike])
        label = f"jigsolve, {way}"
        if len(set(pieces)) > 1:
            exponents[way], constant = (float(value) for value in np.polyfit(np.log(pieces), np.log(seconds), 1))
            label += f": pieces to the {exponents[way]:.2f}"
            axes.plot(pieces, np.exp(constant) * pieces ** exponents[way], "-", color=OURS)
        axes.plot(pieces, seconds, MARKERS[len(axes.lines) % len(MARKERS)], color=OURS, label=label)
    known = [summary for summary in summaries if summary.name in PAPER_SECONDS]
    if known:
        paper = [PAPER_SECONDS[summary.name] for summary in known]
        axes.plot([summary.pieces for summary in known], paper, "s--", color=THEIRS, label="the paper (2013)")
    _pieces_axis(axes, [summary.pieces for summary in summaries])
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.legend(frameon=False)
    return _png(figure), exponents


def cost_chart(summaries: list[SetSummary]) -> bytes:
    """Return the best cost by generation, as a multiple of the true picture's, averaged over each set."""
    figure, axes = _figure("generation", "best cost / cost of the true picture")
    for summary in summaries:
        courses = [course for run in summary.runs if run.true_cost > 0 and (course := _course(run))]
        numbers = sorted({number for course in courses for number in course})
        # A run that ended early keeps its last cost, or the average would be of ever fewer, harder images.
        means = [
            statistics.mean(course[max(known for known in course if known <= number)] for course in courses)
            for number in numbers
        ]
        axes.plot(numbers, means, label=f"{summary.name} pieces")
    axes.set_yscale("log")
    axes.set_xscale("symlog", linthresh=5)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("{x:g}")
    axes.legend(frameon=False)
    return _png(figure)


def _course(run: Run) -> dict[int, float]:
    """Return the best cost after some generations, as a multiple of the true picture's."""
    entries = (entry.split(":") for entry in run.costs_by_generation.split())
    return {int(number): float(cost) / run.true_cost for number, cost in entries}


def _figure(x_label: str, y_label: str) -> "tuple[Figure, Axes]":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.grid(visible=True, which="both", alpha=0.25)
    return figure, axes


def _pieces_axis(axes: "Axes", pieces: list[int]) -> None:
    """Give the axis of pieces a logarithmic scale whose ticks are the sets."""
    axes.set_xscale("log")
    axes.set_xticks(pieces, [f"{count:,}" for count in pieces])
    axes.minorticks_off()


def _png(figure: "Figure") -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return buffer.getvalue()
