"""Ramps: flat pieces are summed up in a few numbers, which are nearly the same in their neighbours.

A piece of a sky is a ramp: so bright, by so much brighter across it and down it, and so tinted. The lines of pixels
along a seam see little of that, as compression leaves blocks of one colour there; the mean of a whole piece is known to
a tenth of a level. And skies change so smoothly that few pieces, of thousands, are ramps that continue each other.

How closely the numbers of neighbours go together is learned from the puzzle itself, from partners that are sure: what
two neighbours have in common are canonical variates, in which they differ independently. What a sky leaves to noise
counts little then, and what it does not counts a lot.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._jit import inlined, kernel
from ..puzzle import Puzzle
from .ramp_costs import (
    BESIDE,
    BUSY_ACROSS,
    BUSY_DOWN,
    FLATNESS,
    NUMBERS,
    ROUGHNESS,
    SUMMARY,
    TINTS_ROUGHNESS,
    VARIATES,
    Ramps,
    no_ramps,
)

# The variance of what a ramp leaves out, in squared levels, at which a piece counts half; and how flat one must be to
# count at all.
HALF_FLAT = 4.0
LEAST_FLAT = 0.1
# Flat pairs of partners from which there is something to learn, along each axis, and what is beyond the
# ordinary: pairs that differ by so many squared deviations teach nothing, as they may be no neighbours.
FEWEST = 100
ORDINARY = 40.0
LESSONS = 3
# Pieces that are smoother than this are of one colour, or nearly, as where colours are clipped: they are the same as
# their neighbours, or not, and ramps say nothing more.
LEAST_ROUGH = 0.05
# Deviations in levels that summaries have in any case, as pixels are rounded.
ROUNDED = 0.02
# Two numbers that go together more closely than this do so by chance.
CLOSEST = 0.99999
# What a logarithm of chances is worth in a sum of squares, and what all of them are at most.
WORTH = 250.0
MOST = 3000.0
# Levels of brightness by which neighbouring pixels differ at least to be counted.
VISIBLE = 0.5
# How many pixels deep what lies beside a side is: half a block of JPEG.
DEEP = 4
# Variates are rounded to such parts, so that every machine computes the same.
PARTS = 16


def sum_up(puzzle: Puzzle) -> Ramps:
    """Return the summaries of all pieces."""
    pieces = puzzle.pieces
    summaries = np.empty((len(pieces), SUMMARY))
    fill_summaries(pieces, 255.0 / np.iinfo(pieces.dtype).max, summaries)
    return no_ramps()._replace(summaries=summaries)


def flatness(ramps: Ramps) -> NDArray[np.float64]:
    """Return how flat pieces are: nearly 1 if there is little but a ramp, 0 where there is too much, or nothing."""
    rough = ramps.summaries[:, ROUGHNESS]
    flat = 1 / (1 + (rough / HALF_FLAT) ** 2)
    return np.where((flat < LEAST_FLAT) | (rough < LEAST_ROUGH), 0.0, flat)


def learned(ramps: Ramps, sure: NDArray[np.int32], decided: NDArray[np.bool_]) -> Ramps:
    """Return the ramps with what neighbours have in common; `sure` are (pieces, 4): partners, -1 for none.

    Sides that are `decided` are not compared, as something else tells more of them than ramps, which would only blur
    it. Nothing is learned where too few of the partners are flat.
    """
    flat = flatness(ramps)
    numbers = ramps.summaries[:, :NUMBERS]
    variates = np.zeros((4 * len(numbers), VARIATES), dtype=np.float32)
    for direction in range(2):
        here = np.flatnonzero((sure[:, direction] >= 0) & (flat > 0))
        here = here[flat[sure[here, direction]] > 0]
        there = sure[here, direction]
        if len(here) < FEWEST:
            return ramps
        common = _common(numbers[here], numbers[there], flat[here] * flat[there])
        for facing, mean, bases in ((direction, *common.here), (direction + 2, *common.there)):
            values = (numbers - mean) @ bases.T
            variates[facing::4, :NUMBERS] = np.rint(PARTS * values) / PARTS
            variates[facing::4, FLATNESS] = np.where(decided[facing::4], 0.0, flat)
    return ramps._replace(variates=variates, most=np.array([MOST]))


class Common(NamedTuple):
    """What neighbours have in common: the mean of either, and the bases of what is compared."""

    here: tuple[NDArray[np.float64], NDArray[np.float64]]
    there: tuple[NDArray[np.float64], NDArray[np.float64]]


def _common(here: NDArray[np.float64], there: NDArray[np.float64], weights: NDArray[np.float64]) -> Common:
    """Return what neighbours have in common, given the numbers of some pairs.

    If canonical variates u and v correlate by c, the logarithm of how much more probable they are of neighbours is less
    by c / (1 - c^2) x (u - v)^2 / 2, but for what depends on either alone, which is the same in all arrangements.
    """
    for _ in range(LESSONS):
        means = [np.average(numbers, axis=0, weights=weights) for numbers in (here, there)]
        one, two = here - means[0], there - means[1]
        scaled = weights[:, np.newaxis] / weights.sum()
        inverses = [
            _inverse_root((scaled * numbers).T @ numbers + ROUNDED**2 * np.eye(NUMBERS)) for numbers in (one, two)
        ]
        left, correlations, right = np.linalg.svd(inverses[0] @ (scaled * one).T @ two @ inverses[1])
        correlations = np.minimum(correlations, CLOSEST)
        worth = np.sqrt(correlations / (1 - correlations**2))[:, np.newaxis]
        bases = worth * (left.T @ inverses[0]), worth * (right @ inverses[1])
        apart = ((one @ bases[0].T - two @ bases[1].T) ** 2).sum(axis=1)
        ordinary = weights * apart < ORDINARY
        here, there, weights = here[ordinary], there[ordinary], weights[ordinary]
    scale = np.sqrt(WORTH / 2)
    return Common((means[0], scale * bases[0]), (means[1], scale * bases[1]))


def _inverse_root(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the symmetric inverse square root of a covariance."""
    values, vectors = np.linalg.eigh(covariance)
    return (vectors / np.sqrt(values)) @ vectors.T


@inlined
def colour_of(pieces, piece, y, x, channel, scale):
    """Red, green or blue of a pixel in levels; what is transparent lies on white."""
    channels = pieces.shape[3]
    level = scale * np.float64(pieces[piece, y, x, channel if channels >= 3 else 0])
    if channels in (2, 4):
        opaque = scale * np.float64(pieces[piece, y, x, channels - 1]) / 255
        level = opaque * level + (1 - opaque) * 255
    return level


@kernel
def fill_summaries(pieces, scale, summaries):
    """Sum pieces up. A pixel's value times `scale` is in levels."""
    count, height, width, _ = pieces.shape
    pixels, middle_y, middle_x = height * width, 0.5 * (height - 1), 0.5 * (width - 1)
    # The variances of the places of pixels, and at least those of two: a piece of one line has no slope.
    down, across = max(height * height - 1, 1) / 12, max(width * width - 1, 1) / 12
    totals, above = np.empty((3, 4)), np.empty(width)
    deep_x, deep_y = min(DEEP, width), min(DEEP, height)
    for piece in range(count):
        totals[:] = 0
        summaries[piece, BESIDE : BESIDE + 4] = 0
        differ_across = differ_down = 0
        for y in range(height):
            before = 0.0
            for x in range(width):
                red = colour_of(pieces, piece, y, x, 0, scale)
                green = colour_of(pieces, piece, y, x, 1, scale)
                blue = colour_of(pieces, piece, y, x, 2, scale)
                bright = 0.299 * red + 0.587 * green + 0.114 * blue
                differ_across += x > 0 and abs(bright - before) > VISIBLE
                differ_down += y > 0 and abs(bright - above[x]) > VISIBLE
                before = above[x] = bright
                summaries[piece, BESIDE] += bright if x >= width - deep_x else 0.0
                summaries[piece, BESIDE + 1] += bright if y >= height - deep_y else 0.0
                summaries[piece, BESIDE + 2] += bright if x < deep_x else 0.0
                summaries[piece, BESIDE + 3] += bright if y < deep_y else 0.0
                for index in range(3):
                    value = bright if index == 0 else 0.564 * (blue - bright) if index == 1 else 0.713 * (red - bright)
                    totals[index, 0] += value
                    totals[index, 1] += value * (x - middle_x)
                    totals[index, 2] += value * (y - middle_y)
                    totals[index, 3] += value * value
        rough = tints_rough = 0.0
        for index in range(3):
            mean = totals[index, 0] / pixels
            to_right, to_bottom = totals[index, 1] / pixels / across, totals[index, 2] / pixels / down
            left = max(totals[index, 3] / pixels - mean * mean - to_right**2 * across - to_bottom**2 * down, 0.0)
            rough += left
            if index == 0:
                summaries[piece, 0], summaries[piece, 1], summaries[piece, 2] = (
                    mean,
                    to_right * width,
                    to_bottom * height,
                )
            else:
                summaries[piece, 2 + index] = mean
                tints_rough += left
        summaries[piece, ROUGHNESS], summaries[piece, TINTS_ROUGHNESS] = rough, tints_rough
        summaries[piece, BUSY_ACROSS] = differ_across / max(height * (width - 1), 1)
        summaries[piece, BUSY_DOWN] = differ_down / max(width * (height - 1), 1)
        for direction in range(4):
            lines, length, deep = (height, width, deep_x) if direction % 2 == 0 else (width, height, deep_y)
            onwards = 0.5 * deep / length * summaries[piece, 1 + direction % 2]
            beside = summaries[piece, BESIDE + direction] / (lines * deep)
            summaries[piece, BESIDE + direction] = beside + (onwards if direction < 2 else -onwards)
