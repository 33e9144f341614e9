"""What reading, cutting and writing a huge picture take, step by step: seconds, and the most memory that is held.

python -m benchmarks.pictures PHOTOS [--photographs 20] [--base COMMIT]

The picture is a poster of the PHOTOS of a folder, turned to one orientation and shuffled. With --base, another commit
does the same steps on the same file.
"""

import json
import os
import subprocess
import sys
import tempfile
from itertools import cycle, islice
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from benchmarks.compare import ROOT, checkout
from jigsolve import Puzzle, read_picture, write_picture
from jigsolve.bench.sets import list_images
from jigsolve.machine import describe_machine

PIECE_SIZE = 28

# Runs in each tree by itself, so it uses nothing but what every version has.
STEPS = """
import inspect, json, sys
from pathlib import Path
from time import perf_counter, process_time
from PIL import Image
from jigsolve import Puzzle, detect_piece_size, read_picture, truth_to_json, write_picture
from jigsolve.machine import peak_memory_megabytes, reset_peak_memory

path, out, size = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
can_raise = "max_megapixels" in inspect.signature(read_picture).parameters
options = {"max_megapixels": 1e6} if can_raise else {}
if not can_raise:
    Image.MAX_IMAGE_PIXELS = None


def measured(name, work):
    reset_peak_memory()
    start, cpu_start = perf_counter(), process_time()
    made = work()
    seconds, cpu = perf_counter() - start, process_time() - cpu_start
    print(json.dumps([name, seconds, cpu, peak_memory_megabytes() / 1000]), flush=True)
    return made


picture = measured("read the PNG", lambda: read_picture(path, **options))
assert measured("detect the piece size", lambda: detect_piece_size(picture)) == (size, size)
puzzle = measured("cut", lambda: Puzzle.from_image(picture, size))
del picture
given = puzzle.as_given()
solved = measured("put together (to_image)", lambda: puzzle.assemble(given))
measured("write the PNG", lambda: write_picture(out, solved, overwrite=True))
del solved
measured("digest", lambda: puzzle.digest)
measured("truth as JSON", lambda: truth_to_json(puzzle, given, 1))
measured("shuffle", lambda: puzzle.shuffled(1))
del puzzle
measured("read and cut (from_image)", lambda: Puzzle.from_image(path, size, **options))
"""


@click.command(help=__doc__)
@click.argument("photos", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--photographs", default=20, show_default=True, help="How many make the poster.")
@click.option("--base", help="A commit to compare with.")
@click.option("--folder", type=click.Path(file_okay=False, path_type=Path), help="Where the files go for a while.")
def main(photos: Path, photographs: int, base: str | None, folder: Path | None) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as made:
        path = Path(made) / "shuffled.png"
        pixels = poster(photos, photographs)
        size, pieces = pixels.size / 3e6, pixels.size // (3 * PIECE_SIZE**2)
        puzzle = Puzzle.from_array(pixels, PIECE_SIZE).shuffled(1)[0]
        del pixels
        write_picture(path, puzzle.assemble(puzzle.as_given()))
        del puzzle
        here = steps(ROOT, path)
        before = {}
        if base is not None:
            with checkout(base) as other:
                before = steps(other, path)
    click.echo(f"{size:.0f} megapixels, {pieces:,} pieces, {3 * size / 1000:.2f} GB of pixels; {describe_machine()}\n")
    trees = {base: before, "this tree": here} if base else {"this tree": here}
    click.echo("| step |" + "".join(f" {name}: s | CPU s | GB |" for name in trees))
    click.echo("|---|" + 3 * len(trees) * "---|")
    for step in here:
        figures = [f"{value:.2f}" for tree in trees.values() for value in tree[step]]
        click.echo(f"| {' | '.join([step, *figures])} |")


def poster(photos: Path, count: int) -> NDArray[np.uint8]:
    """Return so many photographs in a grid, the first ones again where there are too few."""
    upright = [read_picture(path).pixels for path in list_images(photos)]
    wide = [pixels if pixels.shape[1] >= pixels.shape[0] else np.rot90(pixels) for pixels in upright]
    height, width = (min(pixels.shape[axis] for pixels in wide) // PIECE_SIZE * PIECE_SIZE for axis in (0, 1))
    across = max(size for size in range(1, int(count**0.5) + 1) if count % size == 0)
    made = np.empty((count // across, height, across, width, 3), dtype=np.uint8)
    for number, pixels in enumerate(islice(cycle(wide), count)):
        made[number // across, :, number % across] = pixels[:height, :width]
    return made.reshape(count // across * height, across * width, 3)


def steps(tree: Path, path: Path) -> dict[str, list[float]]:
    """Return seconds, seconds of the processor and the most gigabytes held, of every step as a tree does it."""
    command = [sys.executable, "-c", STEPS, str(path), str(path.with_name("out.png")), str(PIECE_SIZE)]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=tree)
    if done.returncode != 0:
        raise click.ClickException(f"{tree} cannot do it: {done.stderr.strip().splitlines()[-1]}")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {name: figures for name, *figures in rows}


if __name__ == "__main__":
    main()
