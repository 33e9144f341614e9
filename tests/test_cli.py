import contextlib
import errno
import fcntl
import json
import os
import pty
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import termios
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep

import click
import numpy as np
import pytest
from PIL import Image

from jigsolve import OutputError, Picture, Puzzle, read_picture, read_record, warm_up, write_picture
from jigsolve import cli as cli_module
from jigsolve import solve as solve_function
from jigsolve.history import from_csv
from tests.encoders import SHORT, by_pillow, noise, png, png_header_only, tiff

PIECE = 40
# Few and quick, and still enough for 20 pieces.
QUICK = ("--population", 20, "--generations", 4, "--effort", 1)
# Goes on until it is stopped.
ENDLESS = ("--population", 200, "--generations", 100_000, "--patience", 0)
OUTPUTS = ("-o", "s.png", "--json", "r.json", "--history", "h.csv", "--animation", "a.gif", "--plot", "c.png")
OUTPUT_NAMES = OUTPUTS[1::2]
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "TTY_COMPATIBLE", "COLUMNS")
}


def command(*arguments):
    return [sys.executable, "-m", "jigsolve", *map(str, arguments)]


def run_in(folder, *arguments, **options):
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": ENVIRONMENT} | options
    return subprocess.run(command(*arguments), cwd=folder, text=True, timeout=120, check=False, **options)


def side_by_side(function, items):
    """What a function gives for each item; most of a short run is Python's start, so that runs share the cores."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(function, items))


def contents(folder):
    """All that is in a folder, hidden files too."""
    return {path.relative_to(folder): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory, photo):
    """A folder with a photograph of 5 x 4 pieces, the same shuffled, with its truth, and its pieces as tiles."""
    folder = tmp_path_factory.mktemp("prepared")
    write_picture(folder / "photo.png", Picture(photo.pixels[100 : 100 + 4 * PIECE, 150 : 150 + 5 * PIECE]))
    run_in(folder, "cut", "photo.png", "-o", "puzzle.png", "--piece-size", PIECE, "--truth", "truth.json")
    (folder / "tiles").mkdir()
    for number, piece in enumerate(Puzzle.from_image(folder / "puzzle.png", PIECE).pieces):
        write_picture(folder / "tiles" / f"{number}.png", Picture(piece))
    return folder


@pytest.fixture
def folder(prepared, tmp_path):
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def run(folder):
    """Runs jigsolve in the folder."""
    return lambda *arguments, **options: run_in(folder, *arguments, **options)


def problem_with_refusal(folder, arguments, message, **options):
    """What is wrong with how jigsolve refuses: it says one line, and leaves everything as it is."""
    before = contents(folder)
    done = run_in(folder, *arguments, **options)
    one_line = done.stderr.startswith("jigsolve: ") and done.stderr.find("\n") == len(done.stderr) - 1
    if done.returncode != 2 or done.stdout or not one_line or message not in done.stderr:
        return f"{arguments}: exit code {done.returncode}, said {done.stdout!r} and {done.stderr!r}, not {message!r}"
    after = contents(folder)
    return None if after == before else f"{arguments}: left {sorted(after.items() - before.items())}"


@pytest.fixture
def problems_with_refusals(prepared, tmp_path):
    """Checks many refusals: of (arguments, message) or (arguments, message, files to make first)."""

    def check(numbered_case):
        number, (arguments, message, *files) = numbered_case
        folder = tmp_path / str(number)
        shutil.copytree(prepared, folder)
        for name, data in (files[0] if files else {}).items():
            (folder / name).write_bytes(data)
        return problem_with_refusal(folder, arguments, message)

    return lambda cases: [problem for problem in side_by_side(check, enumerate(cases)) if problem]


# All goes well


def test_cut_solve_and_score_make_a_round_trip(run, folder, compiled):
    cut = run("cut", "photo.png", "-o", "p.png", "--piece-size", PIECE, "--seed", 7, "--truth", "t.json")
    assert (cut.returncode, cut.stdout) == (0, "")
    assert cut.stderr == "p.png: 20 pieces, 4 rows x 5 columns, shuffled\n"
    assert not np.array_equal(read_picture(folder / "p.png").pixels, read_picture(folder / "photo.png").pixels)

    solved = run("solve", "p.png", "--seed", 3, *QUICK, *OUTPUTS)
    assert solved.returncode == 0
    assert "detected piece size: 40x40 pixels (--piece-size overrides it)\n" in solved.stderr
    assert "generation 4: cost " in solved.stderr
    assert solved.stdout.startswith("20 pieces, 4 rows x 5 columns, preset best, seed 3\n")
    assert solved.stdout.endswith("wrote s.png, r.json, h.csv, a.gif, c.png\n")

    score = run("score", "r.json", "t.json")
    assert (score.returncode, score.stderr) == (0, "")
    assert score.stdout == "neighbour 100.00 %, direct 100.00 %, perfect: yes\n"
    as_json = run("score", "r.json", "t.json", "--json")
    assert json.loads(as_json.stdout) == {"neighbour": 1.0, "direct": 1.0, "perfect": True}

    assert np.array_equal(read_picture(folder / "s.png").pixels, read_picture(folder / "photo.png").pixels)
    result = json.loads((folder / "r.json").read_text())
    assert (result["format"], result["seed"], result["generations"]) == ("jigsolve-result", 3, 4)
    assert (result["piece_width"], result["piece_height"]) == (PIECE, PIECE)
    assert (result["parameters"]["population"], result["parameters"]["elites"]) == (20, 4)
    assert result["stopped"] == "reached 4 generations"
    assert result["seconds"]["total"] > 0
    assert read_record(folder / "r.json").arrangement == read_record(folder / "t.json").arrangement
    history = from_csv((folder / "h.csv").read_text())
    assert [generation.number for generation in history] == [0, 1, 2, 3, 4]
    assert history[-1].best_cost == result["cost"] < history[0].best_cost
    with Image.open(folder / "a.gif") as animation:
        assert animation.format == "GIF"
        assert animation.n_frames == 1 + sum(generation.stale == 0 for generation in history)
    with Image.open(folder / "c.png") as chart:
        assert chart.size == (960, 720)


def test_what_is_in_doubt_is_refined(run, folder, compiled):
    done = run(
        "solve", "puzzle.png", "--piece-size", 20, "--population", 6, "--generations", 1, "--effort", 1, *OUTPUTS
    )
    assert done.returncode == 0
    assert "generation 1: cost " in done.stderr
    assert re.search(r"refining, part \d+: cost [\d.,]+, mean [\d.,]+\n", done.stderr)
    assert "after 1 generation (no improvement in a round of refinement)\n" in done.stdout
    result = json.loads((folder / "r.json").read_text())
    assert (result["generations"], result["stopped"]) == (1, "no improvement in a round of refinement")
    assert result["seconds"]["total"] > result["seconds"]["refine"] > 0
    history = from_csv((folder / "h.csv").read_text())
    assert [generation.number for generation in history if generation.stage == "evolve"] == [0, 1]
    assert [generation.number for generation in history] == list(range(len(history)))
    assert history[-1].stage == "refine"
    assert history[-1].best_cost == result["cost"] < history[1].best_cost
    with Image.open(folder / "a.gif") as animation:
        assert animation.n_frames == 1 + sum(generation.stale == 0 for generation in history)
    with Image.open(folder / "c.png") as chart:
        assert chart.size == (960, 720)


def test_the_seed_and_the_parameters_reach_the_solver(run, folder, compiled):
    options = ("--population", 12, "--generations", 3, "--elites", 2, "--mutation-rate", 0.5, "--selection", "window")
    more = ("--mutation-unit", "placement", "--candidates", 5, "--threads", 2, "--measure", "lab", "--preset", "paper")
    assert run("solve", "puzzle.png", "-o", "s.png", "--json", "r.json", "--seed", 5, *options, *more).returncode == 0
    result = json.loads((folder / "r.json").read_text())
    expected = solve_function(
        Puzzle.from_image(folder / "puzzle.png", PIECE),
        "paper",
        seed=5,
        population=12,
        generations=3,
        elites=2,
        mutation_rate=0.5,
        selection="window",
        mutation_unit="placement",
        candidates=5,
    )
    assert result["parameters"] == expected.parameters.to_dict()
    assert result["cost"] == expected.cost
    assert read_record(folder / "r.json").arrangement == expected.arrangement


def test_the_parameters_of_the_default_preset_reach_the_solver(run, folder, compiled):
    options = ("--population", 12, "--generations", 9, "--patience", 2, "--effort", 2, "--greedy", "side")
    more = ("--measure", "mgc", "--candidates", 6, "--piece-size", 20)
    assert run("solve", "puzzle.png", "-o", "s.png", "--json", "r.json", *options, *more).returncode == 0
    result = json.loads((folder / "r.json").read_text())
    expected = solve_function(
        Puzzle.from_image(folder / "puzzle.png", 20),
        population=12,
        generations=9,
        patience=2,
        effort=2,
        greedy="side",
        measure="mgc",
        candidates=6,
    )
    assert result["preset"] == "best"
    assert result["parameters"] == expected.parameters.to_dict()
    assert result["cost"] == expected.cost
    assert read_record(folder / "r.json").arrangement == expected.arrangement


def test_the_preset_paper_counts_to_the_end(run, folder, compiled):
    done = run("solve", "puzzle.png", "-o", "s.png", "--preset", "paper", "--population", 20, "--generations", 4)
    assert "generation 4/4: cost " in done.stderr
    assert "refining" not in done.stderr
    assert "preset paper" in done.stdout
    assert "after 4 generations (reached 4 generations)" in done.stdout


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--max-seconds", 0.2), "reached 0.2 seconds"),
        (("--max-seconds", 60, "--no-improvement", 2), "no improvement for 2 generations"),
    ],
)
def test_stopping_rules_stop(run, folder, compiled, options, reason):
    many = ("--population", 20, "--generations", 1_000_000, "--patience", 0)
    done = run("solve", "puzzle.png", "-o", "s.png", "--json", "r.json", *many, *options)
    assert done.returncode == 0
    assert json.loads((folder / "r.json").read_text())["stopped"] == reason
    assert f"({reason})" in done.stdout


def test_quiet_prints_nothing(run, folder, compiled):
    # 33 does not divide the photograph, which is worth a word to others.
    cut = run("cut", "photo.png", "-o", "p.png", "--piece-size", 33, "--truth", "t.json", "-q")
    solved = run("solve", "p.png", "--piece-size", 33, *QUICK, *OUTPUTS, "--quiet")
    for done in (cut, solved):
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert {"p.png", "t.json", *OUTPUT_NAMES} <= {path.name for path in folder.iterdir()}


def test_cut_says_when_it_crops(run, folder):
    done = run("cut", "photo.png", "-o", "p.png", "--piece-size", "51x27")
    assert "cropped the photo from 200x160 to 153x135 pixels, a multiple of the piece size 51x27\n" in done.stderr
    picture = read_picture(folder / "p.png")
    assert (picture.width, picture.height) == (153, 135)


def test_a_truth_is_of_the_puzzle_in_the_file(folder):
    # Formats change colours, depth or alpha; solve sees what is in the file.
    def cut(case):
        number, (suffix, channels, dtype) = case
        original, puzzle, truth = (folder / f"{number}{end}" for end in ("-original.png", suffix, ".json"))
        pixels = noise(32, 48, channels, dtype)
        pixels[:9, :, -1] = 0
        original.write_bytes(png(pixels))
        run_in(folder, "cut", original, "-o", puzzle, "--piece-size", 16, "--truth", truth)
        return read_record(truth).puzzle == Puzzle.from_image(puzzle, 16).digest

    cases = [
        (".jpg", 3, np.uint8),
        (".bmp", 4, np.uint8),
        (".webp", 1, np.uint8),
        (".webp", 3, np.uint16),
        (".png", 2, np.uint16),
    ]
    assert [case for case, agrees in zip(cases, side_by_side(cut, enumerate(cases)), strict=True) if not agrees] == []


def test_one_piece_is_solved(run, folder, compiled):
    done = run("solve", "photo.png", "--piece-size", "200x160", "-o", "s.png", *QUICK, "--plot", "c.pdf", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    assert np.array_equal(read_picture(folder / "s.png").pixels, read_picture(folder / "photo.png").pixels)


def test_tiles_are_solved(run, folder, compiled):
    done = run("solve", "tiles", "--columns", 5, "-o", "s.png", "--json", "r.json", *QUICK)
    assert done.returncode == 0
    assert np.array_equal(read_picture(folder / "s.png").pixels, read_picture(folder / "photo.png").pixels)
    # The tiles are the pieces of the puzzle in their order, so its truth is theirs.
    assert run("score", "r.json", "truth.json").stdout.endswith("perfect: yes\n")


def test_a_good_picture_that_c_libraries_warn_about_is_read_quietly(run, folder):
    # OpenCV says on standard error that it is not told what the fourth channel is.
    (folder / "deep.tif").write_bytes(tiff(noise(16, 16, 4, np.uint16)))
    done = run("cut", "deep.tif", "-o", "p.png", "--piece-size", 4, "-q")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_name_that_is_no_text_is_no_obstacle(run, folder, compiled):
    name = os.fsdecode(b"\xff.png")
    done = run("solve", "puzzle.png", "-o", name, *QUICK, env=ENVIRONMENT | {"PYTHONIOENCODING": "utf-8:strict"})
    assert done.returncode == 0
    assert (folder / name).exists()


def test_the_demo_works_in_an_empty_folder(tmp_path, compiled):
    done = run_in(tmp_path, "demo", "--piece-size", 64)
    assert done.returncode == 0
    assert "perfect: yes" in done.stdout
    assert "jigsolve cut YOUR_PHOTO.jpg" in done.stdout
    made = ("puzzle.png", "truth.json", "solved.png", "result.json", "history.csv", "evolution.gif", "cost.png")
    assert contents(tmp_path).keys() == {Path("demo"), *(Path("demo") / name for name in made)}


# What it says about itself


def test_every_command_has_help_with_an_example(tmp_path):
    names = list(cli_module.cli.commands)
    texts = [done.stdout for done in side_by_side(lambda name: run_in(tmp_path, name, "--help"), names)]
    assert sorted(names) == ["bench", "cut", "demo", "resume", "score", "serve", "solve"]
    for name, text in zip(names, texts, strict=True):
        assert re.search(rf"Examples?:\n\s+jigsolve {name} ", text)


def test_every_option_says_what_it_is_for():
    options = [
        (name, option)
        for name, found in cli_module.cli.commands.items()
        for option in found.params
        if isinstance(option, click.Option)
    ]
    assert [(name, option.name) for name, option in options if not option.help] == []


def test_it_knows_its_version(run):
    assert re.fullmatch(r"jigsolve, version \d+\.\d+\.\d+\S*\n", run("--version").stdout)


def test_without_a_command_it_shows_its_help(run):
    done = run()
    assert done.returncode == 2
    assert "Try it:  jigsolve demo" in done.stdout
    assert re.search(r"solve +Solve PUZZLE", done.stdout)


# What it refuses


def test_wrong_usage_is_refused(problems_with_refusals):
    cases = [
        (["mend"], "No such command 'mend'"),
        (["solve", "puzzle.png"], "Missing option '-o'"),
        (["solve", "puzzle.png", "-o", "s.png", "--popluation", 5], "--popluation"),
    ]
    assert problems_with_refusals(cases) == []


LZW = by_pillow(noise(40, 40), "TIFF", compression="tiff_lzw")
BAD_PICTURES = [
    (None, "there is no file bad"),
    (b"", "bad is empty"),
    (b"hello " * 100, "bad is not a picture"),
    (png_header_only(60_000, 60_000), "more pixels than is safe"),
    (by_pillow(Image.new("F", (8, 8)), "TIFF"), "pixel type (F)"),
    (by_pillow(noise(40, 40), "PNG")[:2000], "bad is damaged or truncated"),
    (by_pillow(noise(40, 40), "JPEG")[:1000], "bad is damaged or truncated"),
    (by_pillow(noise(40, 40), "WEBP")[:500], "bad is "),
    (by_pillow(noise(40, 40), "BMP")[:500], "bad is damaged or truncated"),
    (tiff(noise(16, 16, 3, np.uint16))[:900], "bad is "),
    # OpenCV and libtiff say something of their own about these.
    (tiff(noise(16, 16, 4, np.uint16), [(262, SHORT, [5])]), "16-bit channels cannot be decoded"),
    (LZW[:1000] + bytes(500) + LZW[1500:], "bad is damaged or truncated"),
]


def test_what_is_no_picture_is_refused(problems_with_refusals):
    cut = ["cut", "bad", "-o", "p.png", "--piece-size", 4, "--truth", "t.json"]
    solve = ["solve", "bad", "-o", "s.png", "--piece-size", 4]
    bad = [(message, {} if data is None else {"bad": data}) for data, message in BAD_PICTURES]
    cases = [(cut, *each) for each in bad] + [(solve, *each) for each in (bad[0], bad[-1])]
    cases += [
        (["cut", "tiles", "-o", "p.png"], "cannot read tiles: Is a directory"),
        (["solve", "x" * 300, "-o", "s.png"], "File name too long"),
    ]
    assert problems_with_refusals(cases) == []


def test_piece_sizes_that_make_no_sense_are_refused(problems_with_refusals):
    solve = ["solve", "puzzle.png", "-o", "s.png", "--piece-size"]
    cases = [
        ([*solve, "0"], "a piece of 0x0 pixels is too small"),
        ([*solve, "-40"], "a piece of -40x-40 pixels is too small"),
        ([*solve, "161"], "larger than the picture of 200x160"),
        ([*solve, "28"], "square sizes that divide both: 2, 4, 5, 8, 10, 20, 40"),
        ([*solve, "40x"], "'40x' is not a piece size; write 28, or 51x27"),
        ([*solve, "big"], "'big' is not a piece size"),
        (["cut", "photo.png", "-o", "p.png", "--piece-size", 1000], "larger than the picture"),
        # Not shuffled, so that its pieces cannot be told.
        (["solve", "photo.png", "-o", "s.png"], "pass --piece-size"),
    ]
    assert problems_with_refusals(cases) == []


def test_parameters_that_make_no_sense_are_refused(problems_with_refusals):
    solve = ["solve", "puzzle.png", "-o", "s.png", "--piece-size", PIECE]
    cases = [
        ([*solve, "--population", 4], "a population of 4 must be larger than its 4 elites"),
        ([*solve, "--population", 10**18], "population must be a whole number from 2 to 2147483648"),
        ([*solve, "--generations", -1], "generations must be"),
        ([*solve, "--mutation-rate", "nan"], "mutation_rate is a chance from 0 to 1"),
        ([*solve, "--effort", 11], "effort must be a whole number from 0 to 10, not 11"),
        ([*solve, "--threads", 0], "0 is not in the range x>=1"),
        ([*solve, "--seed", -1], "-1 is not in the range"),
        ([*solve, "--max-seconds", 0], "must be more than 0 seconds, not 0.0"),
        ([*solve, "--no-improvement", 0], "must be at least 1, not 0"),
    ]
    assert problems_with_refusals(cases) == []


def test_tiles_that_make_no_puzzle_are_refused(problems_with_refusals, tmp_path):
    (tmp_path / "empty").mkdir()
    solve = ["solve", "tiles", "-o", "s.png"]
    wide, grey = png(noise(PIECE, PIECE + 1)), png(noise(PIECE, PIECE, 1))
    cases = [
        (solve, "--columns (columns=), one of 1, 2, 4, 5, 10, 20"),
        ([*solve, "--columns", 3], "20 tiles do not fill 3 columns: 1 missing or 2 too many"),
        ([*solve, "--columns", 5, "--piece-size", PIECE], "--piece-size is for a shuffled picture"),
        ([*solve, "--columns", 5], "all tiles must be alike: 7.png is 41x40", {"tiles/7.png": wide}),
        ([*solve, "--columns", 5], "7.png is 40x40 pixels with 1 channel", {"tiles/7.png": grey}),
        (["solve", "../empty", "-o", "s.png", "--columns", 2], "the folder ../empty holds no pictures"),
        (["solve", "puzzle.png", "-o", "s.png", "--columns", 5], "--columns is for a folder of tiles"),
    ]
    assert problems_with_refusals(cases) == []


def test_nothing_is_overwritten_unasked(problems_with_refusals):
    solve = ["solve", "puzzle.png", *OUTPUTS, *QUICK]
    cut = ["cut", "photo.png", "-o", "p.png", "--truth", "t.json", "--piece-size", PIECE]
    cases = [
        (arguments, f"{name} exists already; choose another name or pass --force", {name: b"mine"})
        for arguments, names in ((solve, OUTPUT_NAMES), (cut, ("p.png", "t.json")))
        for name in names
    ]
    cases += [(["demo", "-o", "tiles"], "truth.json exists already", {"tiles/truth.json": b"mine"})]
    assert problems_with_refusals(cases) == []


def test_everything_is_overwritten_when_asked(run, folder, compiled):
    names = {"p.png", "t.json", *OUTPUT_NAMES}
    for name in names:
        (folder / name).write_bytes(b"mine")
    cut = run("cut", "photo.png", "-o", "p.png", "--truth", "t.json", "--piece-size", PIECE, "--force")
    solved = run("solve", "puzzle.png", *OUTPUTS, *QUICK, "--force")
    assert (cut.returncode, solved.returncode) == (0, 0)
    assert [name for name in names if (folder / name).read_bytes() == b"mine"] == []
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []


def test_outputs_that_cannot_be_written_are_refused(problems_with_refusals, tmp_path):
    solve, cut = ["solve", "puzzle.png", *QUICK], ["cut", "photo.png", "--piece-size", PIECE]
    wide = png(np.zeros((4, 16_400, 1), np.uint8))
    cases = [
        ([*solve, "-o", "missing/s.png"], "the folder missing does not exist"),
        ([*solve, "-o", "photo.png/s.png"], "the folder photo.png does not exist"),
        ([*solve, "-o", "s.png", "--json", "missing/r.json"], "the folder missing does not exist"),
        ([*solve, "-o", "s.gif"], "s.gif ends in no picture format that can be written"),
        ([*solve, "-o", "s.png", "--json", "."], ". is a folder"),
        ([*solve, "-o", "s.png", "--animation", "a.mp4"], "an animation is written as .gif, not as 'a.mp4'"),
        ([*solve, "-o", "s.png", "--plot", "c.jpg"], "a plot is written as one of .png, .svg, .pdf, not as 'c.jpg'"),
        ([*solve, "-o", "s.png", "--plot", "./s.png"], "s.png is named for two outputs"),
        ([*solve, "-o", "puzzle.png", "--force"], "puzzle.png is named for an input and an output"),
        ([*solve, "-o", "x" * 300 + ".png"], "File name too long"),
        ([*cut, "-o", "p.png", "--truth", "p.png"], "p.png is named for two outputs"),
        ([*cut, "-o", "photo.png", "--force"], "photo.png is named for an input and an output"),
        (["cut", "wide", "-o", "p.webp", "--piece-size", 4], "16400x4 pixels cannot be written", {"wide": wide}),
        (["demo", "-o", "photo.png/demo"], "cannot make the folder photo.png/demo"),
        ([*cut, "-o", "../loop.png"], "loop.png"),
    ]
    (tmp_path / "loop.png").symlink_to("loop.png")
    if sys.platform == "linux":  # A folder that takes no files, not even those of the superuser.
        cases += [([*cut, "-o", "/proc/p.png"], "/proc")]
    assert problems_with_refusals(cases) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_folder_that_is_not_writable_is_refused(folder):
    (folder / "locked").mkdir(mode=0o500)
    solve = ["solve", "puzzle.png", "-o", "locked/s.png", *QUICK]
    assert problem_with_refusal(folder, solve, "the folder locked is not writable") is None


def test_records_that_do_not_belong_together_or_are_damaged_are_refused(problems_with_refusals, prepared):
    truth = json.loads((prepared / "truth.json").read_text())
    other_frame = truth | {"arrangement": {"rows": 1, "columns": 2, "pieces": [[0, 1]]}}
    score = ["score", "other.json", "truth.json"]
    bad = [
        (json.dumps(truth | {"puzzle": "0" * 32}).encode(), "other.json and truth.json do not belong together"),
        (json.dumps(other_frame).encode(), "an arrangement of 1 x 2 and a truth of 4 x 5"),
        (b'{"format": "jigsolve-truth", "arr', "other.json is not JSON"),
        (b"[" * 100_000, "other.json is not JSON"),
        (b"{}", "other.json is neither a result nor a truth"),
        (b'{"format": "jigsolve-result", "arrangement": {"rows": 1}}', "other.json is damaged"),
    ]
    cases = [(score, message, {"other.json": data}) for data, message in bad]
    cases += [(["score", "truth.json", "missing.json"], "cannot read missing.json: No such file")]
    assert problems_with_refusals(cases) == []


def test_another_seed_gives_another_puzzle_with_a_truth_of_its_own(run, folder):
    run("cut", "photo.png", "-o", "other.png", "--piece-size", PIECE, "--seed", 9, "--truth", "other.json")
    assert (folder / "other.png").read_bytes() != (folder / "puzzle.png").read_bytes()
    message = "truth.json and other.json do not belong together"
    assert problem_with_refusal(folder, ["score", "truth.json", "other.json"], message) is None


# A full disk


def fill_the_disk():
    """Let no file grow beyond two thousand bytes, as on a disk that is nearly full."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))


def test_cut_on_a_full_disk_leaves_the_old_file(folder):
    (folder / "p.png").write_bytes(b"mine")
    cut = ["cut", "photo.png", "-o", "p.png", "--piece-size", PIECE, "--truth", "t.json", "--force"]
    assert problem_with_refusal(folder, cut, "cannot write p.png: File too large", preexec_fn=fill_the_disk) is None


def test_solve_on_a_full_disk_leaves_nothing(folder, compiled):
    solve = ["solve", "puzzle.png", *OUTPUTS, *QUICK, "-q"]
    assert problem_with_refusal(folder, solve, "cannot write s.png: File too large", preexec_fn=fill_the_disk) is None


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_results_that_cannot_be_printed_are_an_error(run):
    with Path("/dev/full").open("w") as full:
        done = run("score", "truth.json", "truth.json", stdout=full)
    assert (done.returncode, done.stderr) == (2, "jigsolve: cannot print: No space left on device\n")


def test_nobody_reading_is_no_disaster(run):
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = run("score", "truth.json", "truth.json", stdout=write_end)
    os.close(write_end)
    assert (done.returncode, done.stderr) == (1, "")


# In the middle of it


@pytest.fixture
def start(folder, compiled):
    """Starts a long solve and returns when it has shown a line that begins with some words."""
    processes = []

    def start_and_wait(words, *options):
        process = subprocess.Popen(
            command("solve", "puzzle.png", *OUTPUTS, *(options or ENDLESS)),
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )
        processes.append(process)
        assert any(line.startswith(words) for line in process.stderr)
        return process

    yield start_and_wait
    for process in processes:
        process.kill()
        process.communicate()


def test_ctrl_c_writes_the_best_so_far_and_says_so(start, folder):
    process = start("generation ")
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "generations (interrupted)" in output
    assert output.endswith("wrote s.png, r.json, h.csv, a.gif, c.png\n")
    assert "Traceback" not in errors
    result = json.loads((folder / "r.json").read_text())
    assert result["stopped"] == "interrupted"
    assert 0 < result["generations"] < 100_000
    assert len(from_csv((folder / "h.csv").read_text())) == result["generations"] + 1
    assert np.array_equal(read_picture(folder / "s.png").pixels, read_picture(folder / "photo.png").pixels)
    for name in ("a.gif", "c.png"):
        Image.open(folder / name).close()


def test_ctrl_c_in_the_refinement_writes_the_best_so_far_and_says_so(start, folder):
    # So many pieces and so much effort take minutes.
    process = start("refining, part ", "--piece-size", 10, "--generations", 0, "--effort", 10)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "after 0 generations (interrupted)" in output
    assert "Traceback" not in errors
    history = from_csv((folder / "h.csv").read_text())
    assert history[-1].stage == "refine"
    result = json.loads((folder / "r.json").read_text())
    assert (result["stopped"], result["cost"]) == ("interrupted", history[-1].best_cost)


def test_a_kill_leaves_nothing(start, folder, prepared):
    process = start("finding candidates")
    sleep(0.3)
    process.kill()
    assert process.wait(timeout=60) == -signal.SIGKILL
    assert contents(folder) == contents(prepared)


def run_here(monkeypatch, folder, *arguments):
    """Run the command line in this process and return its exit code."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["jigsolve", *map(str, arguments)])
    with pytest.raises(SystemExit) as stopped:
        cli_module.main()
    return stopped.value.code


@pytest.mark.parametrize("command", [("cut", "photo.png", "--truth", "t.json"), ("solve", "puzzle.png", *QUICK)])
def test_a_picture_over_the_limit_is_unpacked_on_purpose_only(monkeypatch, capsys, folder, prepared, command):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10_000)
    arguments = [*command, "--piece-size", PIECE, "-o", "out.png", "-q"]
    assert run_here(monkeypatch, folder, *arguments) == 2
    advice = "200x160 are 32000, the limit is 20000; if you trust the file, pass --max-megapixels 1 (max_megapixels=1)"
    assert advice in capsys.readouterr().err
    assert contents(folder) == contents(prepared)
    assert run_here(monkeypatch, folder, *arguments, "--max-megapixels", 1) == 0
    assert (folder / "out.png").exists()


def test_ctrl_c_before_there_is_anything_says_so(monkeypatch, capsys, folder, prepared):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli_module, "warm_up", interrupt)
    assert run_here(monkeypatch, folder, "solve", "puzzle.png", "-o", "s.png", "-q") == 130
    assert capsys.readouterr().err.strip() == "jigsolve: interrupted before it was done"
    assert contents(folder) == contents(prepared)


def test_ctrl_c_while_it_compiles_is_not_taken_for_the_end_of_a_solve(monkeypatch):
    # The package's solve is the function; the module of that name is only found here.
    module = sys.modules["jigsolve.solve"]
    evolve = module.evolve

    def interrupted(*arguments):
        yield next(evolve(*arguments))
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "evolve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        warm_up()


def test_no_room_for_compiled_kernels_is_said(monkeypatch):
    def disk_is_full(*_arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sys.modules["jigsolve.solve"], "evolve", disk_is_full)
    with pytest.raises(OutputError, match=r"compiled kernels: No space left on device; .*NUMBA_CACHE_DIR"):
        warm_up()


def test_too_little_memory_is_said(monkeypatch, capsys, folder):
    def need_too_much(*_arguments, **_options):
        raise MemoryError

    monkeypatch.setattr(cli_module, "solve", need_too_much)
    assert run_here(monkeypatch, folder, "solve", "puzzle.png", "-o", "s.png", "-q") == 2
    assert re.fullmatch(r"jigsolve: there is not enough memory .*--population.*\n", capsys.readouterr().err)


def shown_on_a_terminal(folder, *preset):
    """What a solve of at most 300 generations draws on a terminal of 40 columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 40, 0, 0))
    process = subprocess.Popen(
        command("solve", "puzzle.png", "-o", "s.png", "--population", 100, "--generations", 300, *preset),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=ENVIRONMENT | {"TERM": "xterm-256color"},
    )
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # How Linux says that the other side is closed.
        while part := os.read(ours, 10_000):
            shown += part
    os.close(ours)
    process.communicate(timeout=60)
    assert process.returncode == 0
    return shown


def test_a_terminal_even_a_narrow_one_shows_the_refinement_live(folder, compiled):
    shown = shown_on_a_terminal(folder, "--effort", "4", "--piece-size", "8")
    parts = [int(number) for number in re.findall(rb"refining, part (\d+)", shown)]
    assert parts == sorted(parts)
    assert parts[-1] > 1
    assert b"/300" not in shown
    assert b"\x1b[2K" in shown
    assert shown.count(b"\n") < len(parts) + 5


def test_a_terminal_even_a_narrow_one_shows_the_generations_live(folder, compiled):
    shown = shown_on_a_terminal(folder, "--preset", "paper")
    numbers = [int(number) for number in re.findall(rb"generation (\d+)/300", shown)]
    assert numbers == sorted(numbers)
    assert numbers[-1] == 300
    # Each is drawn over the last one, not below it.
    assert b"\x1b[2K" in shown
    assert shown.count(b"\n") < len(numbers) + 5


# What newcomers tripped over


def test_identical_pieces_are_scored_both_ways(run, folder):
    write_picture(folder / "flat.png", Picture(np.full((80, 80, 3), 90, dtype=np.uint8)))
    run("cut", "flat.png", "-o", "p.png", "--piece-size", PIECE, "--truth", "t.json", "--seed", 3)
    run("solve", "p.png", "-o", "s.png", "--piece-size", PIECE, "--json", "r.json", *QUICK)
    strict, identical = run("score", "r.json", "t.json").stdout.splitlines()
    assert identical == "counting identical pieces as one: neighbour 100.00 %, direct 100.00 %, perfect: yes"
    assert strict != identical.partition(": ")[2]
    assert json.loads(run("score", "r.json", "t.json", "--json").stdout)["identical"]["perfect"] is True


def test_a_result_is_not_taken_for_a_truth(run):
    run("solve", "puzzle.png", "-o", "s.png", "--piece-size", PIECE, "--json", "r.json", *QUICK)
    done = run("score", "r.json", "r.json")
    assert done.returncode == 2
    assert "r.json is a result, not a truth" in done.stderr


def test_outputs_do_not_go_among_the_tiles(run, folder):
    done = run("solve", "tiles", "-o", "tiles/s.png", "--columns", 5)
    assert done.returncode == 2
    assert "tiles is the folder of tiles" in done.stderr
    assert not (folder / "tiles" / "s.png").exists()


def test_a_doubtful_result_and_a_blurring_format_are_said(run, folder):
    pixels = np.random.default_rng(1).integers(0, 256, size=(160, 200, 3)).astype(np.uint8)
    write_picture(folder / "noise.png", Picture(pixels))
    assert "JPEG blurs the seams" in run("cut", "noise.png", "-o", "p.jpg", "--piece-size", PIECE).stderr
    for options in (("--effort", 1), ("--preset", "paper")):
        solve = ("solve", "p.jpg", "-o", "s.png", "--piece-size", PIECE, "--population", 20, "--generations", 1)
        assert "expect mistakes" in run(*solve, *options, "--force").stderr


def test_a_result_that_is_certain_is_not_called_doubtful(run):
    done = run("solve", "puzzle.png", "-o", "s.png", *QUICK)
    assert done.returncode == 0
    assert "expect mistakes" not in done.stderr


def test_help_tells_the_values_of_the_presets(run):
    text = " ".join(run("solve", "--help").stdout.split())
    assert "[best: 100, paper: 1000]" in text
    assert "[best: traces, paper: lab]" in text


def test_tiles_can_be_cut_and_solved(run, folder):
    cut = ("cut", "photo.png", "-o", "p.png", "--piece-size", PIECE, "--truth", "t.json", "--tiles", "mine")
    assert run(*cut).returncode == 0
    done = run("solve", "mine", "-o", "s.png", "--columns", 5, "--json", "r.json", *QUICK)
    assert done.returncode == 0
    assert run("score", "r.json", "t.json").stdout.startswith("neighbour 100.00 %")
    assert json.loads((folder / "r.json").read_text())["tiles"][0] == "00.png"
    again = run(*cut, "--force")
    assert again.returncode == 2
    assert "mine exists already" in again.stderr
