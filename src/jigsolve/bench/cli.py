"""jigsolve bench: thin callers of the bench."""

import statistics
from collections import defaultdict
from pathlib import Path
from time import monotonic
from typing import Any

import click

from ..cli_types import PIECE_SIZE_TYPE, OutputPath, max_megapixels_option, parameter_options
from ..display import Display
from ..errors import InputError
from ..files import check_writable
from ..images import check_suffix, write_picture
from ..machine import source_commit
from ..parameters import DEFAULT_PRESET, PRESETS, parameters_of
from ..puzzle import as_width_and_height
from ..threads import usable_cores
from .making import crop_folder, make_poster
from .peers import PEERS, run_duels
from .pictures import better_than_perfect_pictures
from .report import write_report
from .results import ResultsFile, Run, read_runs
from .runner import Failure, Task, plan, run_tasks
from .sets import KNOWN_SETS, PIECE_SIZE, check_set, find_folders

FolderPath = click.Path(path_type=Path)


@click.group()
def bench() -> None:
    """Reproduce the paper's experiments: run, report, compare.

    \b
    Example:
      jigsolve bench run --images DIR --set 432,540 --runs 10 --out results.csv
      jigsolve bench report results.csv -o benchmarks.md
    """


@bench.command("run")
@click.option("--images", required=True, type=FolderPath, help="A folder that holds one folder of pictures a set.")
@click.option("--set", "sets", help="Only these sets, as in 432,540.")
@click.option("--runs", type=click.IntRange(min=1), default=10, show_default=True, help="Seeds an image: 1, 2, ...")
@click.option("--only", type=click.IntRange(min=1), help="Only the first so many images of a set.")
@click.option("--out", type=OutputPath, default="results.csv", show_default=True, help="Rows are appended to it.")
@click.option("--piece-size", type=PIECE_SIZE_TYPE, default=str(PIECE_SIZE), show_default=True)
@click.option("--preset", type=click.Choice(list(PRESETS)), default=DEFAULT_PRESET, show_default=True)
@click.option("--threads", type=click.IntRange(min=1), help="Threads of each run; the cores shared among the jobs.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Runs side by side.")
@click.option("--time-limit", type=float, help="Seconds after which a run stops.")
@max_megapixels_option
@parameter_options
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
def run_command(
    images: Path,
    sets: str | None,
    runs: int,
    only: int | None,
    out: Path,
    piece_size: tuple[int, int],
    preset: str,
    threads: int | None,
    jobs: int,
    time_limit: float | None,
    max_megapixels: float | None,
    quiet: bool,
    **changes: Any,
) -> int:
    """Solve every image of every set, several seeds each, and append one row a run.

    Stopped or killed at any moment, the same command goes on where it was.

    \b
    Example:
      jigsolve bench run --images DIR --set 432,540,805 --runs 10 --jobs 2 --out results.csv
    """
    display = Display(quiet=quiet)
    check_writable(out, overwrite=True)
    changed = tuple(sorted((name, value) for name, value in changes.items() if value is not None))
    parameters_of(preset, **dict(changed))
    if time_limit is not None and time_limit <= 0:
        raise InputError(f"--time-limit must be more than 0 seconds, not {time_limit:g}")
    names = list(dict.fromkeys(sets.split(","))) if sets else None
    folders = [folder.first(only) for folder in find_folders(images, names)]
    as_width_and_height(piece_size)
    commit = source_commit()
    workers_threads = threads or max(1, usable_cores() // jobs)

    def make_task(name: str, image: Path, seed: int) -> Task:
        return Task(
            name, image, *piece_size, seed, preset, changed, time_limit, workers_threads, jobs, commit, max_megapixels
        )

    tasks = plan(folders, range(1, runs + 1), make_task)
    with ResultsFile(out) as results:
        failures = _do(tasks, jobs, results, display)
    if failures:
        click.echo(f"jigsolve: {len(failures)} runs failed; the same command tries them again", err=True)
        return 1
    return 0


def _do(tasks: list[Task], jobs: int, results: ResultsFile, display: Display) -> list[Failure]:
    """Do the runs that are not among the results yet; return those that failed."""
    wanted = {task.key for task in tasks}
    before = [run for run in results.runs if run.key in wanted]
    done = {run.key for run in before}
    todo = [task for task in tasks if task.key not in done]
    display.say(f"{len(tasks)} runs, {len(tasks) - len(todo)} of them in {results.path} already")
    progress = _Progress(display, before, todo)
    failures = []
    for outcome in run_tasks(todo, jobs):
        if isinstance(outcome, Failure):
            failures.append(outcome)
            progress.fail(outcome)
        else:
            results.append(outcome)
            progress.show(outcome)
    return failures


class _Progress:
    """Says after every run how it went, the average of its set so far, and about how long the rest takes."""

    def __init__(self, display: Display, before: list[Run], todo: list[Task]) -> None:
        self._display = display
        self._accuracies: dict[str, list[float]] = defaultdict(list)
        for run in before:
            self._accuracies[run.set].append(run.neighbour)
        self._left: dict[str, int] = defaultdict(int)
        for task in todo:
            self._left[task.set] += 1
        self._seconds: dict[str, list[float]] = defaultdict(list)
        self._last = monotonic()

    def fail(self, failure: Failure) -> None:
        task = failure.task
        self._left[task.set] -= 1
        self._display.say(f"{task.set} {task.image.name} seed {task.seed}: {failure.reason}")

    def show(self, run: Run) -> None:
        now = monotonic()
        self._seconds[run.set].append(now - self._last)
        self._last = now
        self._left[run.set] -= 1
        self._accuracies[run.set].append(run.neighbour)
        accuracies = self._accuracies[run.set]
        self._display.say(
            f"{run.set} {run.image} seed {run.seed}: {100 * run.neighbour:.2f} % in {run.total_seconds:.1f} s; "
            f"set average {100 * statistics.mean(accuracies):.2f} % of {len(accuracies)} runs, "
            f"{sum(self._left.values())} runs left{self._time_left()}"
        )

    def _time_left(self) -> str:
        """Return the time left for the sets that have been timed, and say so where others follow."""
        means = {name: statistics.mean(seconds) for name, seconds in self._seconds.items() if seconds}
        timed = sum(left * means.get(name, 0.0) for name, left in self._left.items())
        others = any(left and name not in means for name, left in self._left.items())
        return f", about {timed / 60:.1f} min" + (" and the larger sets" if others else "")


@bench.command("sets")
@click.argument("images", required=False, type=FolderPath)
def sets_command(images: Path | None) -> int:
    """Print the sets of the literature and where to get them; check a folder of IMAGES.

    \b
    Example:
      jigsolve bench sets DIR
    """
    if images is None:
        for known in KNOWN_SETS.values():
            click.echo(
                f"{known.name:>5}  folder {known.folder}: {known.images} images of "
                f"{known.rows} x {known.columns} pieces, {known.depth} bits; {known.first_used_by}; from {known.source}"
            )
        return 0
    wrong = 0
    for folder in find_folders(images):
        problems = check_set(folder)
        wrong += bool(problems)
        kind = "as published" if folder.name in KNOWN_SETS else "a set of its own"
        click.echo(f"{folder.name}: {len(folder.images)} images, {'; '.join(problems) or kind}")
    return 1 if wrong else 0


@bench.command("report")
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o", "--out", required=True, type=OutputPath, metavar="REPORT.md", help="Charts go to a folder beside it."
)
@click.option("--notes", type=click.Path(path_type=Path), help="A Markdown file to put before the tables.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def report_command(results: tuple[Path, ...], out: Path, notes: Path | None, force: bool) -> None:
    """Write RESULTS as tables and charts beside the published figures.

    \b
    Example:
      jigsolve bench report results.csv -o benchmarks.md
    """
    check_writable(out, overwrite=force)
    write_report(results, out, notes=_text(notes) if notes else "", overwrite=force)
    click.echo(f"wrote {out} and its charts in {out.with_suffix('')}")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}") from error


@bench.command("pictures")
@click.argument("results", type=click.Path(path_type=Path))
@click.option("--images", required=True, type=FolderPath, help="The folder that the results were made from.")
@click.option("-o", "--out", required=True, type=FolderPath, help="Folder for the pictures.")
@max_megapixels_option
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def pictures_command(results: Path, images: Path, out: Path, max_megapixels: float | None, force: bool) -> None:
    """Show the better-than-perfect runs in RESULTS: truth and solution, wrong pairs marked.

    \b
    Example:
      jigsolve bench pictures results.csv --images DIR -o better-than-perfect
    """
    runs = read_runs(results)
    for line in better_than_perfect_pictures(runs, images, out, overwrite=force, max_megapixels=max_megapixels):
        click.echo(line)


@bench.command("crop")
@click.argument("photos", type=FolderPath)
@click.option("-o", "--out", required=True, type=FolderPath, help="Folder for the crops: a set of its own.")
@click.option("--pieces", required=True, type=int, help="Pieces of every crop.")
@click.option("--piece-size", type=PIECE_SIZE_TYPE, default=str(PIECE_SIZE), show_default=True)
@max_megapixels_option
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def crop_command(
    photos: Path, out: Path, pieces: int, piece_size: tuple[int, int], max_megapixels: float | None, force: bool
) -> None:
    """Make a set of crops with the same number of pieces from a folder of PHOTOS.

    \b
    Example:
      jigsolve bench crop holidays/ -o sets/holidays_432 --pieces 432
    """
    for line in crop_folder(photos, out, pieces, piece_size, overwrite=force, max_megapixels=max_megapixels):
        click.echo(line)


@bench.command("poster")
@click.argument("photos", type=FolderPath)
@click.option("-o", "--out", required=True, type=OutputPath, metavar="POSTER.png", help="Where the poster goes.")
@click.option("--columns", type=click.IntRange(min=1), help="Photographs side by side; nearly square when left out.")
@click.option("--piece-size", type=PIECE_SIZE_TYPE, default=str(PIECE_SIZE), show_default=True)
@max_megapixels_option
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def poster_command(
    photos: Path,
    out: Path,
    columns: int | None,
    piece_size: tuple[int, int],
    max_megapixels: float | None,
    force: bool,
) -> None:
    """Paste PHOTOS into one huge picture, for sizes that no photograph reaches.

    \b
    Example:
      jigsolve bench poster DIR/sholomon_10375 -o poster.png
      jigsolve bench poster DIR/sholomon_22755 -o poster.png --max-megapixels 400
    """
    check_suffix(out)
    check_writable(out, overwrite=force)
    poster, said = make_poster(photos, columns, piece_size, max_megapixels=max_megapixels)
    write_picture(out, poster, overwrite=force)
    click.echo(f"{out}: {said}")


@bench.command("peers")
@click.option("--images", type=FolderPath, help="A folder that holds one folder of pictures a set.")
@click.option("--set", "name", default="432", show_default=True, help="The set to run on.")
@click.option("--only", type=click.IntRange(min=1), default=3, show_default=True, help="Only the first so many images.")
@click.option("--peer", type=click.Choice(list(PEERS)), default="gaps", show_default=True)
@click.option("--command", type=click.Path(path_type=Path), help="The peer's command, in its own environment.")
@click.option("--piece-size", type=click.IntRange(min=1), default=PIECE_SIZE, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True)
def peers_command(
    images: Path | None, name: str, only: int, peer: str, command: Path | None, piece_size: int, seed: int
) -> None:
    """Compare with another solver on the same puzzles; without --command, say how to get it.

    \b
    Example:
      jigsolve bench peers --images DIR --set 432 --peer gaps --command /opt/gaps/bin/gaps
    """
    chosen = PEERS[peer]
    if command is None or images is None:
        click.echo(f"{chosen.name}: {chosen.about}\nTo get it: {chosen.install}.\nThen pass --images and --command.")
        return
    click.echo(f"{peer} as its command, start-up and files included; jigsolve from the puzzle, on all cores.\n")
    click.echo(
        f"| image | pieces | {peer}: neighbour % | s | jigsolve, preset paper: neighbour % | s | {peer} takes | "
        f"jigsolve, population {chosen.population} x {chosen.generations}: neighbour % | s | {peer} takes |\n"
        "|---|---|---|---|---|---|---|---|---|---|"
    )
    for duel in run_duels(chosen, command, find_folders(images, [name])[0].first(only), piece_size, seed):
        click.echo(
            f"| {duel.image} | {duel.pieces} | {100 * duel.peer.neighbour:.2f} | {duel.peer_seconds:.1f} "
            f"| {100 * duel.paper.neighbour:.2f} | {duel.paper_seconds:.1f} "
            f"| {duel.peer_seconds / duel.paper_seconds:.0f} x | {100 * duel.same.neighbour:.2f} "
            f"| {duel.same_seconds:.2f} | {duel.peer_seconds / duel.same_seconds:.0f} x |"
        )
