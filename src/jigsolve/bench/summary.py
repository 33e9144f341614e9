"""Averages over runs, in the paper's own form: of each image over its runs, then of each set over its images."""

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..checks import count
from ..parameters import PRESETS
from .results import Run
from .sets import KNOWN_SETS, PIECE_SIZE


@dataclass(frozen=True)
class Spread:
    """Set averages of the best, worst and average of each image's runs, and of their deviation; in percent."""

    best: float
    worst: float
    average: float
    deviation: float


@dataclass(frozen=True)
class SetSummary:
    """All runs on one set with the same preset and parameters."""

    name: str
    variant: str
    """The preset, and what was chosen differently: "paper", "paper, selection window"."""
    runs: tuple[Run, ...]

    @property
    def pieces(self) -> int:
        """Pieces of an image, averaged where they differ."""
        return round(statistics.mean(run.pieces for run in self.runs))

    @property
    def side_by_side(self) -> str:
        """How the runs shared the machine: "1 job x 2 threads"."""
        ways = sorted({(run.jobs, run.threads) for run in self.runs})
        return " or ".join(f"{count(jobs, 'job')} x {count(threads, 'thread')}" for jobs, threads in ways)

    @property
    def by_image(self) -> dict[str, list[Run]]:
        """The runs of each image."""
        images: dict[str, list[Run]] = defaultdict(list)
        for run in self.runs:
            images[run.image].append(run)
        return dict(images)

    @property
    def runs_per_image(self) -> str:
        """How many runs an image has: "10", or "1 to 2"."""
        counts = {len(runs) for runs in self.by_image.values()}
        return str(min(counts)) if len(counts) == 1 else f"{min(counts)} to {max(counts)}"

    def spread(self, value: Callable[[Run], float]) -> Spread:
        """Return best, worst, average and deviation of an accuracy."""
        images = [[100 * value(run) for run in runs] for runs in self.by_image.values()]
        return Spread(
            best=statistics.mean(max(values) for values in images),
            worst=statistics.mean(min(values) for values in images),
            average=statistics.mean(statistics.mean(values) for values in images),
            deviation=statistics.mean(statistics.pstdev(values) for values in images),
        )

    def average(self, value: Callable[[Run], float]) -> float:
        """Return the mean over images of the mean over runs."""
        return statistics.mean(statistics.mean(map(value, runs)) for runs in self.by_image.values())

    def least_accurate(self, count: int = 3) -> list[tuple[str, float]]:
        """Return the images whose best run is least accurate, with that accuracy in percent."""
        best = [(image, 100 * max(run.neighbour for run in runs)) for image, runs in self.by_image.items()]
        return sorted(best, key=lambda item: item[1])[:count]

    def perfect(self) -> float:
        """Return how many images are solved perfectly in a run, on average."""
        return self.average(lambda run: run.perfect) * len(self.by_image)

    def better_than_perfect(self) -> list[Run]:
        """Return the runs that found something cheaper than the truth."""
        return [run for run in self.runs if run.better_than_perfect]

    def at_most_true_cost(self) -> float:
        """Return the share of runs whose cost is at most the truth's, in percent."""
        return 100 * self.average(lambda run: run.cost <= run.true_cost * (1 + 1e-6))


def summarize(runs: Iterable[Run]) -> list[SetSummary]:
    """Group runs by preset, parameters and set: presets as they come, smallest sets first."""
    groups: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in {run.key: run for run in runs}.values():
        groups[variant_of(run), run.set].append(run)
    variants = list(dict.fromkeys(variant for variant, _ in groups))
    summaries = [SetSummary(name, variant, tuple(group)) for (variant, name), group in groups.items()]
    return sorted(
        summaries,
        key=lambda item: (variants.index(item.variant), item.name not in KNOWN_SETS, item.pieces, item.name),
    )


def variant_of(run: Run) -> str:
    """Return the preset of a run and what was chosen differently from it."""
    usual = PRESETS[run.preset].to_dict() if run.preset in PRESETS else {}
    usual |= {"piece": f"{PIECE_SIZE}x{PIECE_SIZE}", "time_limit": None}
    different = [f"{name} {value}" for name, value in run.chosen().items() if usual.get(name) != value]
    return ", ".join([run.preset, *different])
