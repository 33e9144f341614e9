"""Small puzzles for tests: drawn by formula, so that every machine draws the same."""

from io import BytesIO

import numpy as np
from PIL import Image

from jigsolve import Puzzle
from jigsolve.compatibility.candidates import find_candidates
from jigsolve.compatibility.costs import cost_of, squared_distance
from jigsolve.compatibility.seam_costs import Seams
from jigsolve.threads import Threads


def drawing(height, width, channels=3):
    """A smooth picture with colour and detail everywhere, in integer arithmetic."""
    y, x = np.mgrid[0:height, 0:width].astype(np.int64)
    planes = [
        128 + (x * 3 + y * 5) % 61 + (x * x // 40 + y) % 53,
        60 + (x * y // 50) % 97 + (y * 2) % 41,
        (255 - x - y) % 256 // 2 + (x + 2 * y) % 37,
        np.full_like(x, 255),
    ]
    return np.clip(np.stack(planes[:channels], axis=-1), 0, 255).astype(np.uint8)


def drawn_puzzle(rows, columns, piece_width=8, piece_height=None):
    piece_height = piece_height or piece_width
    return Puzzle.from_array(drawing(rows * piece_height, columns * piece_width), (piece_width, piece_height))


def random_features(rng, pieces, length=20, low=-1000, high=1000):
    """Features without meaning, as (4 * pieces, length) integers."""
    return rng.integers(low, high, size=(4 * pieces, length)).astype(np.int32)


def compatibility_of(features, keep=32):
    with Threads(2) as threads:
        return find_candidates(features, keep, threads)


def random_pieces(rng, pieces, width=4, height=None, levels=256):
    """A puzzle without meaning in one row, of colours from 0 to levels - 1."""
    pixels = rng.integers(0, levels, size=(pieces, height or width, width, 3)).astype(np.uint8)
    return Puzzle(pixels, 1, pieces)


def compressed_colours(rows, columns, flat, subsampling="4:2:0"):
    """Rows and columns of 28 x 28 pixels of soft colours that went through JPEG, some rows of them nearly flat."""
    height, width = 28 * rows, 28 * columns
    rng = np.random.default_rng(1)
    small = rng.integers(60, 196, size=(height // 8, width // 8, 3), dtype=np.uint8)
    colours = np.array(Image.fromarray(small).resize((width, height), Image.Resampling.BILINEAR)).astype(np.int64)
    colours[: 28 * flat] = 128 + (colours[: 28 * flat] - 128) // 64
    colours += rng.integers(-6, 7, size=(height, width, 1))
    file = BytesIO()
    Image.fromarray(colours.astype(np.uint8)).save(file, "JPEG", quality=80, subsampling=subsampling)
    return np.array(Image.open(file))


def sky(rows, columns, size=12, noise=0.6, seed=1):
    """A sky of so many pieces: colours that change slowly, a little noise, and levels to which they are rounded."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[: rows * size, : columns * size] / (rows * size)
    waves = [np.sin(rng.uniform(1, 4) * y + rng.uniform(1, 4) * x + rng.uniform(0, 6)) for _ in range(3)]
    bright = 140 + 50 * waves[0] + rng.normal(0, noise, y.shape)
    pixels = np.stack([bright + 12 * waves[1], bright, bright + 14 * waves[2]], axis=2)
    return np.clip(np.rint(pixels), 0, 255).astype(np.uint8)


def squares_of(features):
    """What the costs of all pairs are roots of, one by one: squares[piece, direction, other]."""
    sides = features.weights if isinstance(features, Seams) else features
    pieces = len(sides) // 4
    squares = np.zeros((pieces, 4, pieces))
    for piece in range(pieces):
        for direction in range(4):
            for other in range(pieces):
                squares[piece, direction, other] = squared_distance(
                    features, 4 * piece + direction, 4 * other + (direction ^ 2)
                )
    return squares


def costs_of(features):
    """The costs of all pairs, one by one: costs[piece, direction, other]."""
    squares = squares_of(features)
    costs = [cost_of(features, square) for square in squares.ravel()]
    return np.array(costs, dtype=np.float32).reshape(squares.shape)


def result_of(steps):
    """What a generator returns when it is through."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value
