"""The command line: a thin caller of the library."""

import json
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from shutil import which
from typing import Any

import click
import numpy as np

from ._version import __version__
from .animate import Film
from .bench.cli import bench
from .checks import count
from .cli_types import PIECE_SIZE_TYPE, OutputPath, parameter_options
from .detect import detect_piece_size
from .display import Display, decoders_silenced
from .errors import InputError, JigsolveError, OutputError
from .files import check_distinct, check_writable, is_folder, make_folder, write_whole
from .history import to_csv
from .images import Picture, check_suffix, encode_picture, read_picture, write_picture
from .metrics import score as score_arrangement
from .metrics import score_identical
from .parameters import DEFAULT_PRESET, PRESETS, Parameters, parameters_of
from .plots import FORMATS as PLOT_FORMATS
from .plots import cost_plot
from .puzzle import Puzzle
from .records import check_belong_together, read_record, truth_to_json
from .result import Result
from .samples import sample_picture
from .solve import Progress, solve, warm_up
from .stop import AnyOf, MaxSeconds, NoImprovement, StoppingRule
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
    except (KeyboardInterrupt, click.Abort):
        click.echo("jigsolve: interrupted before it was done", err=True)
        sys.exit(EXIT_INTERRUPTED)
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
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
def cut(
    photo: Path,
    out: Path,
    piece_size: tuple[int, int],
    seed: int,
    truth: Path | None,
    tiles: Path | None,
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
    with decoders_silenced():
        picture = read_picture(photo)
    whole = Puzzle.from_image(picture, piece_size, crop=True)
    _say_if_cropped(display, picture, whole)
    puzzle, solution = whole.shuffled(seed)
    data = encode_picture(puzzle.assemble(puzzle.as_given()), out.suffix)
    write_whole(out, data, overwrite=force)
    if tiles is not None:
        puzzle.to_tiles(tiles)
    if truth is not None:
        # The truth is of the pieces as the file has them: a format may have changed colours, depth or alpha.
        puzzle = Puzzle.from_image(out, piece_size)
        write_whole(truth, truth_to_json(puzzle, solution, seed).encode(), overwrite=force)
    display.say(
        f"{out}: {count(len(puzzle), 'piece')}, {count(puzzle.rows, 'row')} x "
        f"{count(puzzle.columns, 'column')}, shuffled"
    )
    if out.suffix.lower() in (".jpg", ".jpeg"):
        display.say("JPEG blurs the seams, which makes the puzzle harder; .png keeps every pixel")
    if len(puzzle) > MANY_PIECES:
        display.say("so many pieces take long to solve; larger pieces make fewer")


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
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
def solve_command(
    puzzle_path: Path,
    out: Path,
    piece_size: tuple[int, int] | None,
    columns: int | None,
    preset: str,
    seed: int,
    threads: int | None,
    max_seconds: float | None,
    no_improvement: int | None,
    json_path: Path | None,
    history: Path | None,
    animation: Path | None,
    plot: Path | None,
    force: bool,
    quiet: bool,
    **changes: Any,
) -> int:
    """Solve PUZZLE, a shuffled picture or a folder of tiles.

    Ctrl-C stops at once and writes the best so far. Progress shows the cost of the best arrangement and how its
    generation placed its pieces: agreed by both parents, best buddy (a mutual best fit that one parent has), or greedy
    (the free piece that fits best); while it refines, the mean cost of what is being tried. Tiles are numbered in the
    order of their names, 2 before 10; RESULT.json lists them.

    \b
    Examples:
      jigsolve solve puzzle.png -o solved.png
      jigsolve solve puzzle.png -o solved.png --piece-size 28 --json result.json --animation evolution.gif
      jigsolve solve tiles/ -o solved.png --columns 24
    """
    display = Display(quiet=quiet)
    outputs = _Outputs(out, json_path, history, animation, plot)
    outputs.check([puzzle_path], force=force)
    if is_folder(puzzle_path) and puzzle_path.resolve() in [path.resolve().parent for path in outputs.paths() if path]:
        raise InputError(f"{puzzle_path} is the folder of tiles: write the outputs somewhere else")
    rules = _rules(max_seconds, no_improvement)
    parameters_of(preset, **changes)  # Refuses what makes no sense before any work is done.
    puzzle = _read_puzzle(puzzle_path, piece_size, columns, display)
    result, film = _solve(
        puzzle, display, max_seconds, preset=preset, seed=seed, stop=rules, threads=threads, **changes
    )
    outputs.write(result, film, force=force)
    if result.certain_share < DOUBTFUL_SHARE:
        display.say("few neighbours were certain: expect mistakes")
    if not quiet:
        click.echo(result.summary())
        click.echo(f"wrote {', '.join(click.format_filename(path) for path in outputs.paths() if path)}")
    return EXIT_INTERRUPTED if result.stopped == "interrupted" else 0


def _rules(max_seconds: float | None, no_improvement: int | None) -> StoppingRule | None:
    rules: list[StoppingRule] = []
    if max_seconds is not None:
        rules.append(MaxSeconds(max_seconds))
    if no_improvement is not None:
        rules.append(NoImprovement(no_improvement))
    return AnyOf(tuple(rules)) if rules else None


def _read_puzzle(path: Path, piece_size: tuple[int, int] | None, columns: int | None, display: Display) -> Puzzle:
    if is_folder(path):
        if piece_size is not None:
            raise InputError("--piece-size is for a shuffled picture; the tiles of a folder have their own size")
        with decoders_silenced():
            return Puzzle.from_tiles(path, columns=columns)
    if columns is not None:
        raise InputError(
            "--columns is for a folder of tiles; the frame of a shuffled picture follows from --piece-size"
        )
    with decoders_silenced():
        picture = read_picture(path)
    if piece_size is None:
        piece_size = detect_piece_size(picture)
        display.say(f"detected piece size: {piece_size[0]}x{piece_size[1]} pixels (--piece-size overrides it)")
    return Puzzle.from_image(picture, piece_size)


def _solve(puzzle: Puzzle, display: Display, max_seconds: float | None = None, **options: Any) -> tuple[Result, Film]:
    """Solve with a display; return the result and the film of it."""
    with display.patiently("compiling for this machine: only the first time, less than a minute"):
        warm_up(options["preset"], options.get("measure"))
    names = {field.name for field in fields(Parameters)}
    parameters = parameters_of(options["preset"], **{name: options[name] for name in names & options.keys()})
    film = Film(puzzle)
    with display.generations(parameters, len(puzzle), max_seconds) as shown:

        def callback(progress: Progress) -> None:
            film.add(progress)
            shown.show(progress)

        return solve(puzzle, callback=callback, **options), film


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
    result, film = _solve(puzzle, display, preset=DEFAULT_PRESET, seed=seed)
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
