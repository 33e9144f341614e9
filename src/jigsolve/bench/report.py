"""The report: results as tables in the paper's own form, each with published figures beside it, and charts."""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..errors import InputError
from ..files import make_folder, write_whole
from .charts import accuracy_chart, cost_chart, seconds_chart
from .published import BEST_PUBLISHED, PAPER_DIRECT, PAPER_LEAST_ACCURATE, PAPER_NEIGHBOUR, PAPER_SECONDS, PaperRow
from .results import Run, read_runs
from .summary import SetSummary, Spread, summarize

NONE = "-"


def write_report(results: Sequence[Path], out: Path, *, notes: str = "", overwrite: bool = False) -> None:
    """Write the report on some files of results as Markdown, with its charts in a folder beside it.

    `notes` is Markdown that stands before the tables: what no table can say.

    Raises
    ------
    InputError
        If there is no run to report on.
    """
    runs = [run for path in results for run in read_runs(path)]
    if not runs:
        raise InputError(f"there is no run in {', '.join(map(str, results))} to report on")
    summaries = summarize(runs)
    if not out.suffix:
        raise InputError(f"{out} needs an ending such as .md: its name without one is the folder of the charts")
    folder = out.with_suffix("")
    make_folder(folder)
    growth = {}
    for variant in _variants(summaries):
        group = [summary for summary in summaries if summary.variant == variant]
        seconds, growth[variant] = seconds_chart(group)
        charts = {"accuracy": accuracy_chart(group), "seconds": seconds, "cost": cost_chart(group)}
        for name, data in charts.items():
            write_whole(folder / f"{_file_name(variant)}-{name}.png", data, overwrite=overwrite)
    text = render(summaries, growth, results, out, notes)
    write_whole(out, text.encode(), overwrite=overwrite)


def render(
    summaries: list[SetSummary],
    growth: dict[str, dict[str, float]],
    sources: Sequence[Path],
    out: Path,
    notes: str,
) -> str:
    """Return the report as Markdown, to be written to `out`, with the exponents of `seconds_chart` by variant."""
    parts = ["# Benchmarks", _introduction(summaries, sources, out)] + ([notes.strip()] if notes else [])
    if len(_variants(summaries)) > 1:
        parts += ["## Side by side", _side_by_side(summaries)]
    for variant in _variants(summaries):
        group = [summary for summary in summaries if summary.variant == variant]
        charts = f"{out.stem}/{_file_name(variant)}"
        parts += [
            f"## Preset {variant}",
            _parameters(group),
            "### Neighbour accuracy (%)",
            _accuracy_table(group, PAPER_NEIGHBOUR, [summary.spread(lambda run: run.neighbour) for summary in group]),
            f"![Neighbour accuracy against pieces]({charts}-accuracy.png)",
            "### Direct accuracy (%)",
            _accuracy_table(group, PAPER_DIRECT, [summary.spread(lambda run: run.direct) for summary in group]),
            "### Beside what was published, and what is possible",
            _context_table(group),
            "### The three least accurate images of every set",
            _least_accurate_table(group),
            "### Better than perfect",
            _better_than_perfect(group),
            "### Time and memory",
            _time_table(group),
            _growth(growth[variant]),
            f"![Seconds against pieces]({charts}-seconds.png)",
            "### Cost by generation",
            f"![Cost by generation]({charts}-cost.png)",
        ]
    return "\n\n".join(parts) + "\n"


def _side_by_side(summaries: list[SetSummary]) -> str:
    """Return a table of all variants, a column each, beside what was published."""
    variants = _variants(summaries)
    found = {(summary.variant, summary.name): summary for summary in summaries}
    rows = []
    for name in dict.fromkeys(summary.name for summary in sorted(summaries, key=lambda item: item.pieces)):
        ours = [found.get((variant, name)) for variant in variants]
        published = BEST_PUBLISHED.get(name)
        any_of_them = next(summary for summary in ours if summary)
        rows.append(
            [
                name,
                *(_accuracies(summary) if summary else NONE for summary in ours),
                f"{published[0]:.2f} ({published[1]})" if published else NONE,
                f"{100 * any_of_them.average(lambda run: run.ceiling_neighbour):.2f}",
            ]
        )
    return (
        "Neighbour and direct accuracy in percent, images solved perfectly, and seconds a run; all averages.\n\n"
        + _table(["pieces", *variants, "best published, neighbour", "ceiling"], rows)
    )


def _accuracies(summary: SetSummary) -> str:
    neighbour, direct = (summary.average(value) for value in (lambda run: run.neighbour, lambda run: run.direct))
    seconds = summary.average(lambda run: run.total_seconds)
    perfect = f"{summary.perfect():.1f} of {len(summary.by_image)}"
    return f"**{100 * neighbour:.2f}** / {100 * direct:.2f}, {perfect}, {_duration(seconds)}"


def _variants(summaries: Iterable[SetSummary]) -> list[str]:
    return list(dict.fromkeys(summary.variant for summary in summaries))


def _file_name(variant: str) -> str:
    return re.sub(r"[^\w.]+", "-", variant)


def _introduction(summaries: list[SetSummary], sources: Sequence[Path], out: Path) -> str:
    runs = [run for summary in summaries for run in summary.runs]
    machines = sorted({run.machine for run in runs})
    versions = sorted({f"{run.version} ({run.commit})" if run.commit else run.version for run in runs})
    return (
        f"Written by `jigsolve bench report {' '.join(map(str, sources))} -o {out}` from {len(runs)} runs of "
        f"`jigsolve bench run`. Version {', '.join(versions)}. Machine: {'; '.join(machines)}.\n\n"
        "Known orientation and frame, pieces as the literature cuts them. As in the paper, best, worst, average and "
        "deviation are of the runs of one image, averaged over the images of a set. The paper's figures are from "
        "Sholomon, David, Netanyahu, CVPR 2013, tables 1 and 3 to 6; it prints 22,834 where the files have 22,755."
    )


def _parameters(group: list[SetSummary]) -> str:
    chosen = sorted({run.parameters for summary in group for run in summary.runs})
    lines = [
        ", ".join(f"{name} {value}" for name, value in json.loads(text).items() if value is not None) for text in chosen
    ]
    return "Parameters: " + "; or ".join(lines) + "."


def _accuracy_table(group: list[SetSummary], paper: dict[str, PaperRow], spreads: list[Spread]) -> str:
    rows = []
    for summary, spread in zip(group, spreads, strict=True):
        theirs = paper.get(summary.name)
        row = [summary.name, str(len(summary.by_image)), summary.runs_per_image]
        row += [f"{value:.2f}" for value in (spread.best, spread.worst, spread.average, spread.deviation)]
        row += [_figure(value) for value in (theirs.best, theirs.worst, theirs.average)] if theirs else [NONE] * 3
        row += [f"{spread.average - theirs.average:+.2f}" if theirs else NONE]
        rows.append(row)
    header = ["pieces", "images", "runs", "best", "worst", "average", "deviation"]
    return _table([*header, "paper: best", "worst", "average", "ours - paper"], rows)


def _context_table(group: list[SetSummary]) -> str:
    rows = []
    for summary in group:
        published = BEST_PUBLISHED.get(summary.name)
        rows.append(
            [
                summary.name,
                f"{summary.spread(lambda run: run.neighbour).average:.2f}",
                f"{summary.spread(lambda run: run.neighbour_identical).average:.2f}",
                f"{published[0]:.2f} ({published[1]})" if published else NONE,
                f"{100 * summary.average(lambda run: run.ceiling_neighbour):.2f}",
                f"{100 * summary.average(lambda run: run.ceiling_direct):.2f}",
                f"{summary.perfect():.1f} of {len(summary.by_image)}",
                f"{100 * summary.average(lambda run: run.component):.2f}",
                f"{summary.at_most_true_cost():.0f}",
            ]
        )
    header = ["pieces", "neighbour", "identical pieces counted as one", "best published", "ceiling", "ceiling, direct"]
    return (
        "Neighbour accuracy in percent. The ceiling counts every piece of one colour as wrong. *Perfect* is the number "
        "of images solved perfectly in a run, on average; *component* the largest correct connected part in percent of "
        "the pieces; the last column the percentage of runs that found a cost of at most the true picture's.\n\n"
        + _table([*header, "perfect", "component", "cost ≤ true"], rows)
    )


def _least_accurate_table(group: list[SetSummary]) -> str:
    rows = []
    for summary in group:
        least = summary.least_accurate()
        theirs = PAPER_LEAST_ACCURATE.get(summary.name)
        rows.append(
            [
                summary.name,
                f"{sum(accuracy for _, accuracy in least) / len(least):.2f}",
                f"{theirs:.2f}" if theirs is not None else NONE,
                ", ".join(f"{image} {accuracy:.2f}" for image, accuracy in least),
            ]
        )
    return "Best run of each, neighbour accuracy in percent.\n\n" + _table(["pieces", "mean", "paper", "images"], rows)


def _better_than_perfect(group: list[SetSummary]) -> str:
    rows = []
    for summary in group:
        better = summary.better_than_perfect()
        images = sorted({run.image for run in better})
        rows.append([summary.name, f"{len(better)} of {len(summary.runs)}", str(len(images)), _example(better)])
    return (
        "Runs that ended, not perfect, with a cost below the true picture's: what the paper observed too. "
        "`jigsolve bench pictures` makes their pictures.\n\n"
        + _table(["pieces", "runs", "images", "the cheapest against the truth"], rows)
    )


def _example(better: list[Run]) -> str:
    if not better:
        return NONE
    run = min(better, key=lambda run: run.cost / run.true_cost)
    return (
        f"{run.image}, seed {run.seed}: cost {run.cost:.1f} against {run.true_cost:.1f}, "
        f"neighbour {100 * run.neighbour:.2f}, direct {100 * run.direct:.2f}"
    )


def _time_table(group: list[SetSummary]) -> str:
    rows = []
    for summary in group:
        seconds = summary.average(lambda run: run.total_seconds)
        theirs = PAPER_SECONDS.get(summary.name)
        stages = [
            summary.average(lambda run, stage=stage: getattr(run, f"{stage}_seconds"))  # type: ignore[misc]
            for stage in ("read", "costs", "candidates", "evolve", "refine")
        ]
        rows.append(
            [
                summary.name,
                _duration(seconds),
                _duration(theirs) if theirs else NONE,
                f"{theirs / seconds:.0f} x" if theirs else NONE,
                summary.side_by_side,
                *(f"{stage:.2f}" for stage in stages),
                f"{summary.average(lambda run: run.peak_megabytes):.0f}",
            ]
        )
    header = ["pieces", "a run", "the paper (2013)", "faster", "at a time", "read (s)", "costs", "candidates"]
    return _table([*header, "evolve", "refine", "peak (MB)"], rows)


def _growth(exponents: dict[str, float]) -> str:
    if not exponents:
        return "How seconds grow with the number of pieces takes sets of two sizes, run alike, to tell."
    fits = [f"{exponent:.2f} ({way})" for way, exponent in exponents.items()]
    return f"Seconds grow with the number of pieces to the power of {' and '.join(fits)}, fitted over sets run alike."


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _figure(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}"


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
