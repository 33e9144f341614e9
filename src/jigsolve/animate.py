"""Evolution and refinement as a moving picture: every arrangement that was better than all before it."""

import io
from dataclasses import dataclass, field

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from .arrangement import Arrangement
from .errors import InputError
from .history import REFINE
from .images import Picture
from .puzzle import Puzzle
from .solve import Progress

LONGEST_SIDE = 480
MOST_FRAMES = 80
FIRST_MS, LAST_MS = 1000, 3000
# What lies between takes about this long in all, within what the eye can follow.
BETWEEN_MS, LEAST_FRAME_MS, MOST_FRAME_MS = 6000, 80, 500
CAPTION_HEIGHT, CAPTION_SIZE = 26, 15
CAPTION_COLOUR, CAPTION_BACKGROUND = "#e8e8e8", "#202020"


@dataclass
class Film:
    """Collects what `solve` shows its callback and turns it into an animated GIF.

    Examples
    --------
    >>> film = Film(puzzle)  # doctest: +SKIP
    >>> result = solve(puzzle, callback=film.add)  # doctest: +SKIP
    >>> Path("evolution.gif").write_bytes(film.to_gif())  # doctest: +SKIP
    """

    puzzle: Puzzle
    _frames: list[tuple[str, Arrangement]] = field(default_factory=list)

    def add(self, progress: Progress) -> None:
        """Take a frame if the best arrangement is a new one. This is a callback for `solve`."""
        generation = progress.generation
        if not self._frames:
            self._frames.append(("shuffled", self.puzzle.as_given()))
        if generation.stale == 0:
            made = "refined" if generation.stage == REFINE else f"generation {generation.number}"
            self._frames.append((f"{made}   cost {generation.best_cost:,.0f}", progress.best))

    def to_gif(self) -> bytes:
        """Return the animation as the bytes of a GIF that plays for ever."""
        if not self._frames:
            raise InputError("there is nothing to animate: no generation has been added")
        frames = self._thinned()
        small = _shrunk(self.puzzle)
        images = [_captioned(small.assemble(arrangement), caption) for caption, arrangement in frames]
        # Every frame shows the same pieces, so one palette serves all.
        palette = images[-1].quantize(256, method=Image.Quantize.MEDIANCUT)
        paletted = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
        between = len(images) - 2
        frame_ms = min(max(BETWEEN_MS // max(between, 1), LEAST_FRAME_MS), MOST_FRAME_MS)
        durations = [FIRST_MS] + [frame_ms] * between + [LAST_MS]
        buffer = io.BytesIO()
        paletted[0].save(
            buffer, "GIF", save_all=True, append_images=paletted[1:], duration=durations, loop=0, optimize=False
        )
        return buffer.getvalue()

    def _thinned(self) -> list[tuple[str, Arrangement]]:
        """Return at most MOST_FRAMES frames, evenly chosen, the first and the last among them."""
        count = len(self._frames)
        chosen = np.unique(np.linspace(0, count - 1, min(count, MOST_FRAMES)).round().astype(int))
        return [self._frames[index] for index in chosen]


def _shrunk(puzzle: Puzzle) -> Puzzle:
    """Return the puzzle with its pieces shrunk, 8 bits, so that the longest side is about LONGEST_SIDE at most."""
    longest = max(puzzle.rows * puzzle.piece_height, puzzle.columns * puzzle.piece_width)
    scale = min(1.0, LONGEST_SIDE / longest)
    width, height = (max(1, round(scale * size)) for size in (puzzle.piece_width, puzzle.piece_height))
    pieces = (Picture(piece).to_pillow().convert("RGB") for piece in puzzle.pieces)  # Of many, one at a time.
    resized = [np.asarray(piece.resize((width, height), Image.Resampling.BOX)) for piece in pieces]
    return Puzzle(np.stack(resized), puzzle.rows, puzzle.columns)


def _captioned(picture: Picture, caption: str) -> Image.Image:
    image = Image.new("RGB", (picture.width, picture.height + CAPTION_HEIGHT), CAPTION_BACKGROUND)
    image.paste(picture.to_pillow(), (0, 0))
    font = ImageFont.load_default(CAPTION_SIZE)
    middle = (picture.width // 2, picture.height + CAPTION_HEIGHT // 2)
    ImageDraw.Draw(image).text(middle, caption, CAPTION_COLOUR, font=font, anchor="mm")
    return image
