import io

import numpy as np
import pytest
from PIL import Image

from jigsolve import Arrangement, Film, Generation, InputError, Parameters, Progress, Puzzle, animate
from jigsolve.animate import CAPTION_HEIGHT, FIRST_MS, LAST_MS, LONGEST_SIDE, MOST_FRAMES

COLOURS = np.array([[230, 20, 20], [20, 230, 20], [20, 20, 230], [230, 230, 20]], np.uint8)


def plain_puzzle(columns=2, size=20, dtype=np.uint8, channels=3):
    """Four pieces of one colour each."""
    factor = 257 if dtype == np.uint16 else 1
    colours = np.concatenate([COLOURS, np.full((4, 1), 255)], axis=1)[:, :channels].astype(dtype) * factor
    pieces = np.broadcast_to(colours[:, np.newaxis, np.newaxis], (4, size, size, channels))
    return Puzzle(pieces, 4 // columns, columns)


def progress(number, order=(0, 1, 2, 3), stale=0, cost=10.0, columns=2, stage="evolve"):
    generation = Generation(number, stage, cost, cost, 0.0, 0.0, 0.0, 0.0, stale)
    return Progress(generation, Arrangement(np.array(order).reshape(-1, columns)), Parameters())


def frames(film):
    """The frames of a film's GIF, as RGB, with how long each is shown."""
    image = Image.open(io.BytesIO(film.to_gif()))
    assert image.format == "GIF"
    shown = []
    for index in range(image.n_frames):
        image.seek(index)
        shown.append((np.asarray(image.convert("RGB")), image.info["duration"]))
    return shown


def orders(film, size=20):
    """Which piece lies in which cell, frame by frame, told by its colour."""
    middles = [
        frame[:-CAPTION_HEIGHT][size // 2 :: size, size // 2 :: size].reshape(-1, 3) for frame, _ in frames(film)
    ]
    return [[int(np.abs(COLOURS.astype(int) - pixel).sum(axis=1).argmin()) for pixel in middle] for middle in middles]


def test_the_film_shows_the_shuffled_puzzle_and_then_every_improvement():
    film = Film(plain_puzzle())
    film.add(progress(0, (3, 2, 1, 0)))
    film.add(progress(1, (1, 0, 2, 3)))
    film.add(progress(2, (1, 0, 2, 3), stale=1))
    film.add(progress(3, (2, 0, 1, 3)))
    assert orders(film) == [[0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 2, 3], [2, 0, 1, 3]]


def test_the_film_starts_slowly_ends_slowly_and_plays_for_ever():
    film = Film(plain_puzzle())
    for number in range(4):
        film.add(progress(number, np.roll(range(4), number)))
    durations = [duration for _, duration in frames(film)]
    assert durations == [FIRST_MS, 500, 500, 500, LAST_MS]
    assert Image.open(io.BytesIO(film.to_gif())).info["loop"] == 0


def test_a_long_evolution_is_thinned_but_keeps_its_ends():
    film = Film(plain_puzzle())
    for number in range(300):
        film.add(progress(number, (3, 2, 1, 0) if number == 299 else np.roll(range(4), number % 4), cost=1000 - number))
    shown = frames(film)
    assert len(shown) == MOST_FRAMES
    assert all(80 <= duration <= 500 for _, duration in shown[1:-1])
    assert orders(film)[0] == [0, 1, 2, 3]
    assert orders(film)[-1] == [3, 2, 1, 0]


def test_the_caption_tells_generations_apart():
    film = Film(plain_puzzle(size=100))
    film.add(progress(0))
    film.add(progress(7))
    captions = [frame[-CAPTION_HEIGHT:].tobytes() for frame, _ in frames(film)]
    assert len(set(captions)) == 3


def captions(film, monkeypatch):
    """What is written below the frames."""
    written = []
    captioned = animate._captioned
    monkeypatch.setattr(
        animate, "_captioned", lambda picture, caption: (written.append(caption), captioned(picture, caption))[1]
    )
    film.to_gif()
    return written


def test_the_caption_tells_evolution_from_refinement(monkeypatch):
    film = Film(plain_puzzle())
    film.add(progress(0, cost=1234.4))
    film.add(progress(7, stale=1, cost=1234.4))
    film.add(progress(8, cost=1100.0, stage="refine"))
    expected = ["shuffled", "generation 0   cost 1,234", "refined   cost 1,100"]
    assert captions(film, monkeypatch) == expected


def test_a_small_picture_keeps_its_size():
    film = Film(plain_puzzle(size=21))
    film.add(progress(0))
    assert frames(film)[0][0].shape == (42 + CAPTION_HEIGHT, 42, 3)


@pytest.mark.parametrize("columns", [1, 2, 4])
def test_a_large_picture_is_shrunk(columns):
    film = Film(plain_puzzle(columns, size=400))
    film.add(progress(0, columns=columns))
    height, width, _ = frames(film)[0][0].shape
    assert max(height - CAPTION_HEIGHT, width) == LONGEST_SIDE
    assert width / (height - CAPTION_HEIGHT) == pytest.approx(columns / (4 // columns))


@pytest.mark.parametrize("channels", [3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_colours_of_every_depth_are_shown_right(channels, dtype):
    film = Film(plain_puzzle(dtype=dtype, channels=channels))
    film.add(progress(0, (3, 2, 1, 0)))
    last = frames(film)[-1][0]
    assert np.abs(last[10, [10, 30]].astype(int) - COLOURS[[3, 2]]).max() <= 8


@pytest.mark.parametrize("channels", [1, 2])
def test_grey_is_shown_grey(channels):
    film = Film(plain_puzzle(channels=channels))
    film.add(progress(0))
    pixel = frames(film)[0][0][10, 10].astype(int)
    assert np.abs(pixel - COLOURS[0, 0]).max() <= 8


def test_a_film_of_one_piece_is_a_film():
    film = Film(Puzzle.from_array(np.full((20, 20, 3), 9, np.uint8), 20))
    only = Generation(0, "evolve", 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0)
    film.add(Progress(only, Arrangement(np.array([[0]])), Parameters()))
    assert frames(film)[0][0].shape == (20 + CAPTION_HEIGHT, 20, 3)


def test_nothing_makes_no_film():
    with pytest.raises(InputError, match="nothing to animate"):
        Film(plain_puzzle()).to_gif()
