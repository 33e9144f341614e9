"""Accuracy of preset `best` on what no set of the literature has: other piece sizes, oblong pieces, grey, poor JPEG.

    python -m benchmarks.others [FOLDER ...]

tries every variant of the photograph that comes with Matplotlib and of the relief map that the page offers, and of the
photographs in the folders, and prints a table for each of these sources: one run a puzzle, averages over the pictures.
"""

import sys
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from statistics import mean

import numpy as np
from PIL import Image

from jigsolve import Picture, Puzzle, read_picture, sample_picture, score, solve, warm_up
from jigsolve.images import READABLE_SUFFIXES
from jigsolve.web.samples import relief

# Photographs of a folder that are tried.
MOST = 6


def grey(picture: Picture) -> Picture:
    return Picture(np.asarray(_image(picture).convert("L")))


def compressed(quality: int) -> Callable[[Picture], Picture]:
    def compress(picture: Picture) -> Picture:
        file = BytesIO()
        _image(picture).save(file, "JPEG", quality=quality)
        return Picture(np.asarray(Image.open(file)))

    return compress


def _image(picture: Picture) -> Image.Image:
    return Image.fromarray(picture.pixels[:, :, :3])


def unchanged(picture: Picture) -> Picture:
    return picture


VARIANTS: dict[str, tuple[tuple[int, int], Callable[[Picture], Picture]]] = {
    "14 pixels": ((14, 14), unchanged),
    "20 pixels": ((20, 20), unchanged),
    "28 pixels": ((28, 28), unchanged),
    "40 pixels": ((40, 40), unchanged),
    "64 pixels": ((64, 64), unchanged),
    "28 wide, 20 high": ((28, 20), unchanged),
    "20 wide, 40 high": ((20, 40), unchanged),
    "28 pixels, grey": ((28, 28), grey),
    "28 pixels, JPEG of quality 50": ((28, 28), compressed(50)),
    "28 pixels, JPEG of quality 20": ((28, 28), compressed(20)),
    "28 pixels, JPEG of quality 10": ((28, 28), compressed(10)),
}


def sources(folders: list[Path]) -> Iterator[tuple[str, list[Picture]]]:
    """Yield (name, pictures)."""
    yield "Photograph of Matplotlib", [sample_picture()]
    yield "Relief map", [relief()]
    for folder in folders:
        files = sorted(path for path in folder.iterdir() if path.suffix.lower() in READABLE_SUFFIXES)
        yield f"{folder.name}, the first {len(files[:MOST])}", [read_picture(path) for path in files[:MOST]]


def main() -> None:
    warm_up()
    for name, pictures in sources([Path(folder) for folder in sys.argv[1:]]):
        print(f"\n{name}\n\n| pieces | number | neighbour | direct | perfect | seconds |\n|---|---|---|---|---|---|")
        for variant, (size, change) in VARIANTS.items():
            numbers, scores, seconds = [], [], []
            for picture in pictures:
                puzzle, truth = Puzzle.from_image(change(picture), size, crop=True).shuffled(seed=1)
                result = solve(puzzle)
                numbers.append(len(puzzle))
                scores.append(score(result.arrangement, truth))
                seconds.append(result.seconds["total"])
            neighbour, direct = (100 * mean(getattr(one, kind) for one in scores) for kind in ("neighbour", "direct"))
            perfect = f"{sum(one.perfect for one in scores)} of {len(scores)}"
            print(
                f"| {variant} | {mean(numbers):,.0f} | {neighbour:.2f} | {direct:.2f} | {perfect} "
                f"| {mean(seconds):.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
