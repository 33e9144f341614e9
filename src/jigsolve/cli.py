"""The command line: a thin caller of the library."""

import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from shutil import which
from typing import Any

import click
import numpy as np

from ._version import __version__
from .animate import Film
from .bench.cli import bench
from .checkpoint import DEFAULT_EVERY, Checkpoint, Checkpoints, add_notes, read_checkpoint, remove_checkpoint
from .checks import count
from .cli_types import (
    DURATION_TYPE,
    MEMORY_TYPE,
    PIECE_SIZE_TYPE,
    OutputPath,
    max_megapixels_option,
    parameter_options,
)
from .detect import detect_piece_size
from .display import Display, decoders_silenced
from .errors import InputError, JigsolveError, OutputError
from .files import check_distinct, check_writable, is_folder, make_folder, write_whole
from .history import Generation, to_csv
from .images import Picture, check_suffix, read_picture, write_picture
from .metrics import score as score_arrangement
from .metrics import score_identical
from .parameters import DEFAULT_PRESET, PRESETS, Parameters, parameters_of
from .plots import FORMATS as PLOT_FORMATS
from .plots import cost_plot
from .puzzle import Puzzle
from .records import check_belong_together, read_record, truth_to_json
from .result import Result
from .samples import sample_picture
from .solve import Progress, resume, solve, warm_up
from .stop import AnyOf, MaxSeconds, NoImprovement, StoppingRule
from .termination import EXIT_TERMINATED, Terminated, Termination
from .web.cli import serve

EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130
DEFAULT_PIECE_SIZE = 28
DEMO_PIECE_SIZE = 30
# Pairs that are best buddies, below which the result is not to be trusted.
DOUBTFUL_SHARE = 0.5
# Above this many pieces a solve takes long enough to say so when the puzzle is cut.
MANY_PIECES = 100_000


def main() -> None:
    """Run the command line; every error on purpose is one sentence and exit code 2."""
    try:
        code = cli(standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        sys.exit(EXIT_BAD_INPUT)
    except click.ClickException as error:
        _fail(error.format_message())
    except JigsolveError as error:
        _fail(str(error))
    except MemoryError:
        _fail("there is not enough memory for this puzzle; try a smaller --population or larger pieces")
    except OSError as error:  # Files are dealt with where they are: this is standard output.
        _fail(f"cannot print: {error.strerror or error}")
    except (KeyboardInterrupt, click.Abort) as error:
        terminated = isinstance(error.__cause__ or error, Terminated)  # Click raises an Abort of its own from it.
        click.echo(f"jigsolve: {'terminated' if terminated else 'interrupted'} before it was done", err=True)
        sys.exit(EXIT_TERMINATED if terminated else EXIT_INTERRUPTED)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str) -> None:
    click.echo(f"jigsolve: {' '.join(message.split())}", err=True)
    sys.exit(EXIT_BAD_INPUT)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="jigsolve")
def cli() -> None:
    """Put the shuffled pieces of a picture back together.

    \b
    Try it:  jigsolve demo
    """


@cli.command()
@click.argument("photo", type=click.Path(path_type=Path))
@click.option("-o", "--out", required=True, type=OutputPath, metavar="PUZZLE.png", help="Where the puzzle goes.")
@click.option(
    "--piece-size",
    type=PIECE_SIZE_TYPE,
    default=str(DEFAULT_PIECE_SIZE),
    show_default=True,
    help="Pixels of a piece: 28, or 51x27 for width x height.",
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Seed of the shuffle.")
@click.option("--truth", type=OutputPath, metavar="TRUTH.json", help="Record where each piece belongs.")
@click.option("--tiles", type=OutputPath, metavar="FOLDER", help="Write the shuffled pieces as single tiles too.")
@max_megapixels_option
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
def cut(
    photo: Path,
    out: Path,
    piece_size: tuple[int, int],
    seed: int,
    truth: Path | None,
    tiles: Path | None,
    max_megapixels: float | None,
    force: bool,
    quiet: bool,
) -> None:
    """Cut PHOTO into pieces and shuffle them.

    \b
    Example:
      jigsolve cut photo.jpg -o puzzle.png --piece-size 28 --seed 7 --truth truth.json
    """
    display = Display(quiet=quiet)
    check_suffix(out)
    _check_outputs([photo], [out, truth], force=force)
    if tiles is not None and tiles.exists():
        raise OutputError(f"{tiles} exists already; choose another name for the tiles")
    # A huge picture is not kept longer than it is needed: one step's pixels and the next one's are enough.
    puzzle, solution = _cut(photo, piece_size, max_megapixels, display).shuffled(seed)
    write_picture(out, puzzle.assemble(puzzle.as_given()), overwrite=force)
    if tiles is not None:
        puzzle.to_tiles(tiles)
    if truth is not None:
        # The truth is of the pieces as the file has them: a format may have changed colours, depth or alpha.
        del puzzle
        puzzle = Puzzle.from_image(out, piece_size, max_megapixels=max_megapixels)
        write_whole(truth, truth_to_json(puzzle, solution, seed).encode(), overwrite=force)
    display.say(
        f"{out}: {count(len(puzzle), 'piece')}, {count(puzzle.rows, 'row')} x "
        f"{count(puzzle.columns, 'column')}, shuffled"
    )
    if out.suffix.lower() in (".jpg", ".jpeg"):
        display.say("JPEG blurs the seams, which makes the puzzle harder; .png keeps every pixel")
    if len(puzzle) > MANY_PIECES:
        display.say("so many pieces take long to solve; larger pieces make fewer")


def _cut(photo: Path, piece_size: tuple[int, int], max_megapixels: float | None, display: Display) -> Puzzle:
    with decoders_silenced():
        picture = read_picture(photo, max_megapixels=max_megapixels)
    whole = Puzzle.from_image(picture, piece_size, crop=True)
    _say_if_cropped(display, picture, whole)
    return whole


@dataclass(frozen=True)
class _Outputs:
    """What a solve writes, besides the picture."""

    picture: Path
    json: Path | None
    history: Path | None
    animation: Path | None
    plot: Path | None

    def paths(self) -> list[Path | None]:
        return [self.picture, self.json, self.history, self.animation, self.plot]

    def to_dict(self) -> dict[str, str | None]:
        """Return the full paths by name, ready for JSON."""
        return {name: path and str(path.absolute()) for name, path in vars(self).items()}

    @classmethod
    def from_dict(cls, paths: dict[str, str | None], folder: Path | None) -> "_Outputs":
        """Return what `to_dict` gave; in another folder, if there is one."""
        named = {name: None if path is None else Path(path) for name, path in paths.items()}
        if folder is not None:
            named = {name: path and folder / path.name for name, path in named.items()}
        return cls(**named)  # type: ignore[arg-type]

    def check(self, inputs: list[Path], *, force: bool) -> None:
        """Refuse what cannot be written before any work is done."""
        check_suffix(self.picture)
        if self.animation is not None and self.animation.suffix.lower() != ".gif":
            raise InputError(f"an animation is written as .gif, not as {self.animation.name!r}")
        if self.plot is not None and self.plot.suffix.lower() not in PLOT_FORMATS:
            raise InputError(f"a plot is written as one of {', '.join(PLOT_FORMATS)}, not as {self.plot.name!r}")
        _check_outputs(inputs, self.paths(), force=force)

    def write(self, result: Result, film: Film, *, force: bool) -> None:
        write_picture(self.picture, result.to_image(), overwrite=force)
        if self.json is not None:
            write_whole(self.json, result.to_json().encode(), overwrite=force)
        if self.history is not None:
            write_whole(self.history, to_csv(result.history).encode(), overwrite=force)
        if self.animation is not None:
            write_whole(self.animation, film.to_gif(), overwrite=force)
        if self.plot is not None:
            write_whole(self.plot, cost_plot(result.history, self.plot.suffix), overwrite=force)


@cli.command("solve")
@click.argument("puzzle_path", metavar="PUZZLE", type=click.Path(path_type=Path))
@click.option("-o", "--out", required=True, type=OutputPath, metavar="SOLVED.png", help="Where the picture goes.")
@click.option("--piece-size", type=PIECE_SIZE_TYPE, help="28, or 51x27 for width x height; left out, it is detected.")
@click.option("--columns", type=int, help="Columns of the frame, for a folder of tiles.")
@max_megapixels_option
@click.option(
    "--preset",
    type=click.Choice(list(PRESETS)),
    default=DEFAULT_PRESET,
    show_default=True,
    help="Named set of parameters; the options below change single ones.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**64 - 1),
    default=1,
    show_default=True,
    help="The same seed gives the same result.",
)
@click.option("--threads", type=click.IntRange(min=1), help="Threads to use; all cores when left out.")
@click.option("--memory", type=MEMORY_TYPE, help="Memory it may take: 4GB, 500MB.  [half of what is free]")
@parameter_options
@click.option(
    "--max-seconds", type=float, help="Stop as soon as a generation or a part of the refinement ends after this time."
)
@click.option(
    "--no-improvement",
    type=int,
    metavar="N",
    help="Stop when the best cost has not fallen for N generations and parts of the refinement.",
)
@click.option(
    "--json", "json_path", type=OutputPath, metavar="RESULT.json", help="Write the arrangement and how it came."
)
@click.option(
    "--history",
    type=OutputPath,
    metavar="HISTORY.csv",
    help="Write one line a generation and a part of the refinement.",
)
@click.option("--animation", type=OutputPath, metavar="EVOLUTION.gif", help="Write how it came as a moving picture.")
@click.option("--plot", type=OutputPath, metavar="COST.png", help="Write a chart of cost by generation.")
@click.option("--checkpoint", type=OutputPath, metavar="FILE", help="Save the run, for jigsolve resume FILE.")
@click.option("--every", type=DURATION_TYPE, help=f"Time between saves: 90, 90s, 5m, 1h.  [{DEFAULT_EVERY:.0f}s]")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
def solve_command(
    puzzle_path: Path,
    out: Path,
    piece_size: tuple[int, int] | None,
    columns: int | None,
    max_megapixels: float | None,
    preset: str,
    seed: int,
    threads: int | None,
    memory: int | None,
    max_seconds: float | None,
    no_improvement: int | None,
    json_path: Path | None,
    history: Path | None,
    animation: Path | None,
    plot: Path | None,
    checkpoint: Path | None,
    every: float | None,
    force: bool,
    quiet: bool,
    **changes: Any,
) -> int:
    """Solve PUZZLE, a shuffled picture or a folder of tiles.

    Ctrl-C stops at once and writes the best so far, and so does SIGTERM. With --checkpoint nothing is lost: the run is
    saved from time to time and by Ctrl-C and SIGTERM, which then only saves, and jigsolve resume goes on with it to the
    same result. When all is written FILE is removed. Progress shows the cost of the best arrangement and how its
    generation placed its pieces: agreed by both parents, best buddy (a mutual best fit that one parent has), or greedy
    (the free piece that fits best); while it refines, the mean cost of what is being tried. Tiles are numbered in the
    order of their names, 2 before 10; RESULT.json lists them.

    \b
    Examples:
      jigsolve solve puzzle.png -o solved.png
      jigsolve solve puzzle.png -o solved.png --piece-size 28 --json result.json --animation evolution.gif
      jigsolve solve tiles/ -o solved.png --columns 24
      jigsolve solve puzzle.png -o solved.png --checkpoint run.checkpoint --every 5m
    """
    display = Display(quiet=quiet)
    outputs = _Outputs(out, json_path, history, animation, plot)
    outputs.check([puzzle_path], force=force)
    limits = _Limits(max_seconds, no_improvement)
    saving = _saving(checkpoint, every, outputs, limits, threads, display, force=force)
    if saving is not None:
        check_distinct([puzzle_path], [Path(saving.path), *(path for path in outputs.paths() if path)])
        saving.check()
    written = [path for path in (*outputs.paths(), checkpoint) if path]
    if is_folder(puzzle_path) and puzzle_path.resolve() in [path.resolve().parent for path in written]:
        raise InputError(f"{puzzle_path} is the folder of tiles: write the outputs somewhere else")
    parameters_of(preset, **changes)  # Refuses what makes no sense before any work is done.
    with Termination() as termination:
        puzzle = _read_puzzle(puzzle_path, piece_size, columns, max_megapixels, display)
        options = {
            "preset": preset,
            "seed": seed,
            "threads": threads,
            "memory": memory,
            "checkpoint": saving,
            **changes,
        }
        with _telling_how_to_resume(checkpoint, display):
            result, film = _solve(puzzle, display, limits, termination, **options)
            return _finish(result, film, outputs, checkpoint, termination, display, force=force)


@cli.command("resume")
@click.argument("checkpoint_path", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--into", type=OutputPath, metavar="FOLDER", help="Write to this folder, not where solve was told.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads to use; as many as before when left out.")
@click.option("--every", type=DURATION_TYPE, help="Time between saves: 90, 90s, 5m, 1h.  [as before]")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
def resume_command(
    checkpoint_path: Path, into: Path | None, threads: int | None, every: float | None, force: bool, quiet: bool
) -> int:
    """Go on with a solve that was saved to FILE by --checkpoint.

    FILE holds all that is needed, the puzzle too. The result is the one of a run that was never stopped, and goes where
    solve was told to write it. Meanwhile FILE is saved as before; when all is written it is removed.

    \b
    Example:
      jigsolve resume run.checkpoint
    """
    display = Display(quiet=quiet)
    with Termination() as termination:
        run = read_checkpoint(checkpoint_path)
        if not isinstance(asked := run.notes.get("solve"), dict):
            raise InputError(f"{checkpoint_path} was saved from Python: go on with it by jigsolve.resume()")
        outputs = _Outputs.from_dict(asked["outputs"], into)
        force = force or asked["force"] or run.notes.get("written") == outputs.to_dict()
        outputs.check([checkpoint_path], force=force)
        display.say(f"resuming {_standing(run)}")
        limits = _Limits(**asked["limits"])
        with _telling_how_to_resume(checkpoint_path, display):
            result, film = _resume(run, display, limits, termination, threads=threads or asked["threads"], every=every)
            return _finish(result, film, outputs, checkpoint_path, termination, display, force=force)


def _standing(run: Checkpoint) -> str:
    if not run.history:
        return "from the beginning"
    return f"after {run.history[-1].seconds:.0f} s, at cost {run.history[-1].best_cost:,.1f}"


@dataclass(frozen=True)
class _Limits:
    """What can end a solve early."""

    max_seconds: float | None = None
    no_improvement: int | None = None

    def __post_init__(self) -> None:
        self.rule()  # Refuses what makes no sense before any work is done.

    def rule(self) -> StoppingRule | None:
        rules: list[StoppingRule] = []
        if self.max_seconds is not None:
            rules.append(MaxSeconds(self.max_seconds))
        if self.no_improvement is not None:
            rules.append(NoImprovement(self.no_improvement))
        return AnyOf(tuple(rules)) if rules else None


def _saving(
    path: Path | None,
    every: float | None,
    outputs: _Outputs,
    limits: _Limits,
    threads: int | None,
    display: Display,
    *,
    force: bool,
) -> Checkpoints | None:
    """Return where and how often to save, with what `resume` must know of the command."""
    if path is None:
        if every is not None:
            raise InputError("--every is the time between saves: pass --checkpoint FILE too")
        return None
    asked = {"outputs": outputs.to_dict(), "limits": vars(limits), "threads": threads, "force": force}
    return Checkpoints(
        path,
        every=DEFAULT_EVERY if every is None else every,
        overwrite=force,
        trail=outputs.animation is not None,
        notes={"solve": asked},
        warn=display.warn,
    )


def _finish(
    result: Result,
    film: Film,
    outputs: _Outputs,
    checkpoint: Path | None,
    termination: Termination,
    display: Display,
    *,
    force: bool,
) -> int:
    """Write what was asked for, and return the exit code."""
    interrupted = result.stopped == "interrupted"
    if checkpoint is not None and termination.came:  # Who asks so may not wait long: it is saved, which is enough.
        display.say(_how_to_resume(checkpoint))
        return EXIT_TERMINATED
    if checkpoint is not None:
        _claim(outputs, checkpoint, force=force)
    outputs.write(result, film, force=force)
    if result.certain_share < DOUBTFUL_SHARE:
        display.say("few neighbours were certain: expect mistakes")
    if not display.quiet:
        click.echo(result.summary())
        click.echo(f"wrote {', '.join(click.format_filename(path) for path in outputs.paths() if path)}")
    if checkpoint is not None and interrupted:
        display.say(_how_to_resume(checkpoint))
    elif checkpoint is not None:
        remove_checkpoint(checkpoint)
        display.say(f"removed {click.format_filename(checkpoint)}, as all is done")
    if termination.came:
        return EXIT_TERMINATED
    return EXIT_INTERRUPTED if interrupted else 0


def _claim(outputs: _Outputs, checkpoint: Path, *, force: bool) -> None:
    """Note in the checkpoint that the outputs are this run's own.

    Then a run that is killed while it writes them, or goes on after Ctrl-C, may replace them.
    """
    outputs.check([checkpoint], force=force)
    if not force:
        with suppress(JigsolveError):  # Without room for it the outputs matter more, or say so themselves.
            add_notes(checkpoint, {"written": outputs.to_dict()})


@contextmanager
def _telling_how_to_resume(checkpoint: Path | None, display: Display) -> Iterator[None]:
    """Where a run is stopped before it has anything to show, or while it writes, say how to go on all the same."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is not None and checkpoint.is_file():
            display.say(_how_to_resume(checkpoint))
        raise


def _how_to_resume(checkpoint: Path) -> str:
    return f"saved; go on with: {_own_command()} resume {shlex.quote(click.format_filename(checkpoint))}"


def _read_puzzle(
    path: Path, piece_size: tuple[int, int] | None, columns: int | None, max_megapixels: float | None, display: Display
) -> Puzzle:
    if is_folder(path):
        if piece_size is not None:
            raise InputError("--piece-size is for a shuffled picture; the tiles of a folder have their own size")
        with decoders_silenced():
            return Puzzle.from_tiles(path, columns=columns, max_megapixels=max_megapixels)
    if columns is not None:
        raise InputError(
            "--columns is for a folder of tiles; the frame of a shuffled picture follows from --piece-size"
        )
    with decoders_silenced():
        picture = read_picture(path, max_megapixels=max_megapixels)
    if piece_size is None:
        piece_size = detect_piece_size(picture)
        display.say(f"detected piece size: {piece_size[0]}x{piece_size[1]} pixels (--piece-size overrides it)")
    return Puzzle.from_image(picture, piece_size)


def _solve(
    puzzle: Puzzle, display: Display, limits: _Limits, termination: Termination, **options: Any
) -> tuple[Result, Film]:
    """Solve with a display; return the result and the film of it."""
    names = {field.name for field in fields(Parameters)}
    parameters = parameters_of(options["preset"], **{name: options[name] for name in names & options.keys()})
    with _shown(puzzle, options["preset"], parameters, display, limits, termination) as (watchers, film):
        return solve(puzzle, stop=limits.rule(), **watchers, **options), film


def _resume(
    run: Checkpoint, display: Display, limits: _Limits, termination: Termination, **options: Any
) -> tuple[Result, Film]:
    """Go on with a run as `_solve` began it."""
    shown = _shown(run.puzzle, run.preset, run.parameters, display, limits, termination, run.history)
    with shown as (watchers, film):
        for generation, best in run.records() if run.trail else ():
            film.add(Progress(generation, best, run.parameters))
        return resume(run, stop=limits.rule(), **watchers, warn=display.warn, **options), film


@contextmanager
def _shown(
    puzzle: Puzzle,
    preset: str,
    parameters: Parameters,
    display: Display,
    limits: _Limits,
    termination: Termination,
    past: Sequence[Generation] = (),
) -> Iterator[tuple[dict[str, Any], Film]]:
    """Compile, then give what shows and films a solve: its `callback` and `preparing`."""
    with display.patiently("compiling for this machine: only the first time, a minute or two"):
        warm_up(preset, parameters.measure)
    film = Film(puzzle)
    stops_early = limits.no_improvement is not None
    with display.generations(parameters, len(puzzle), limits.max_seconds, stops_early=stops_early, past=past) as shown:

        def callback(progress: Progress) -> None:
            termination.check()
            film.add(progress)
            shown.show(progress)

        def preparing(share: float) -> None:
            termination.check()
            shown.prepare(share)

        yield {"callback": callback, "preparing": preparing}, film


def _check_outputs(inputs: list[Path], outputs: list[Path | None], *, force: bool) -> None:
    wanted = [path for path in outputs if path is not None]
    check_distinct(inputs, wanted)
    for path in wanted:
        check_writable(path, overwrite=force)


def _say_if_cropped(display: Display, picture: Picture, puzzle: Puzzle) -> None:
    width, height = puzzle.columns * puzzle.piece_width, puzzle.rows * puzzle.piece_height
    if (width, height) != (picture.width, picture.height):
        display.say(
            f"cropped the photo from {picture.width}x{picture.height} to {width}x{height} pixels, "
            f"a multiple of the piece size {puzzle.piece_width}x{puzzle.piece_height}"
        )


@cli.command()
@click.argument("result", type=click.Path(path_type=Path))
@click.argument("truth", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def score(result: Path, truth: Path, as_json: bool) -> None:
    """Compare RESULT with TRUTH: neighbour, direct and perfect, as the paper defines them.

    Where the puzzle has pieces with the same pixels, which nobody can tell apart, the accuracies that count them as the
    same piece are printed too.

    \b
    Example:
      jigsolve score result.json truth.json
    """
    found, right = read_record(result), read_record(truth)
    check_belong_together(found, right)
    accuracy = score_arrangement(found.arrangement, right.arrangement)
    identical = None
    if right.kinds:
        identical = score_identical(np.array(right.kinds), found.arrangement, right.arrangement)
    if as_json:
        values: dict[str, Any] = accuracy.to_dict()
        click.echo(json.dumps(values | ({"identical": identical.to_dict()} if identical else {})))
    else:
        click.echo(accuracy.summary())
        if identical:
            click.echo(f"counting identical pieces as one: {identical.summary()}")


def _own_command() -> str:
    """Return how to call this program: by its name where that is found, else by the path it was called by."""
    called = Path(sys.argv[0])
    return "jigsolve" if which("jigsolve") or called.name != "jigsolve" else str(called)


@cli.command()
@click.option("-o", "--out", type=OutputPath, default="demo", show_default=True, help="Folder for what it makes.")
@click.option(
    "--piece-size", type=PIECE_SIZE_TYPE, default=str(DEMO_PIECE_SIZE), show_default=True, help="Pixels of a piece."
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**64 - 1),
    default=1,
    show_default=True,
    help="Seed of the shuffle and of the solve.",
)
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def demo(out: Path, piece_size: tuple[int, int], seed: int, force: bool) -> int:
    """Cut, shuffle and solve a photograph, and say what to try next.

    \b
    Example:
      jigsolve demo -o demo
    """
    display = Display(quiet=False)
    picture = sample_picture()
    whole = Puzzle.from_image(picture, piece_size, crop=True)
    make_folder(out)
    names = ("solved.png", "result.json", "history.csv", "evolution.gif", "cost.png")
    outputs = _Outputs(*(out / name for name in names))
    shuffled_path, truth_path = out / "puzzle.png", out / "truth.json"
    outputs.check([shuffled_path, truth_path], force=force)
    _check_outputs([], [shuffled_path, truth_path], force=force)
    display.say("the photograph: Rear Admiral Grace Hopper, United States Navy, public domain")
    _say_if_cropped(display, picture, whole)
    puzzle, truth = whole.shuffled(seed)
    write_picture(shuffled_path, puzzle.assemble(puzzle.as_given()), overwrite=force)
    write_whole(truth_path, truth_to_json(puzzle, truth, seed).encode(), overwrite=force)
    result, film = _solve(puzzle, display, _Limits(), Termination(), preset=DEFAULT_PRESET, seed=seed)
    outputs.write(result, film, force=force)
    click.echo(
        f"{result.summary()}\n"
        f"{score_arrangement(result.arrangement, truth).summary()}\n\n"
        f"Look at   {shuffled_path}, {outputs.picture} and, moving, {outputs.animation}\n"
        f"Then try  {_own_command()} cut YOUR_PHOTO.jpg -o puzzle.png --piece-size 28 --truth truth.json\n"
        f"          {_own_command()} solve puzzle.png -o solved.png --json result.json\n"
        f"          {_own_command()} score result.json truth.json"
    )
    return EXIT_INTERRUPTED if result.stopped == "interrupted" else 0


cli.add_command(bench)
cli.add_command(serve)
