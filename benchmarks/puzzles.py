"""The puzzles that speed is measured on."""

from dataclasses import dataclass
from pathlib import Path

from jigsolve import Puzzle, sample_picture
from jigsolve.bench.sets import KNOWN_SETS, list_images


@dataclass(frozen=True)
class Case:
    """A puzzle of the size of a known set, and how many generations of it show the difference between two trees."""

    name: str
    generations: int


CASES = (Case("432", 100), Case("5015", 20))


def puzzle_of(case: Case, images: Path | None) -> Puzzle:
    """Return the first photograph of the set, shuffled, or the sample photograph cut into as many pieces."""
    known = KNOWN_SETS[case.name]
    if images is not None:
        return Puzzle.from_image(list_images(images / known.folder)[0], 28, crop=True).shuffled(1)[0]
    picture = sample_picture()
    size = min(picture.height // known.rows, picture.width // known.columns)
    return Puzzle.from_array(picture.pixels[: known.rows * size, : known.columns * size], size).shuffled(1)[0]
