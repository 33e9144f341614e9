"""Likeness: flat pieces are judged by how likely they are to be neighbours, as the puzzle's own neighbours are.

Costs of flat pieces are small numbers of which some say a lot and some nothing. A seam that cuts blocks of JPEG proves
a pair right, one between blocks leaves hundreds to choose from; if both count by how dear they are, the second kind
drowns the first. Likelihoods can be added: what each number says is put in natural logarithms of how much less likely a
pair is. How much neighbours differ depends on the picture, and on where in it: so the units are those of the sure
partners that are most similar to a piece.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from .._jit import kernel
from ..threads import Threads
from .costs import Features
from .likeness_costs import (
    ACROSS,
    ALONG,
    BEGIN,
    BRIGHT,
    BUSY,
    BUSY_DOWN,
    COLUMNS,
    COMPARED,
    END,
    FLAT,
    UNITS,
    Likeness,
    no_likeness,
)
from .lists import insert
from .ramp_costs import BESIDE, BUSY_ACROSS, ROUGHNESS, TINTS_ROUGHNESS
from .ramp_costs import BUSY_DOWN as SHARE_DOWN
from .seam_costs import Seams

# The variance of what a ramp leaves out, in squared levels, at which a piece is half flat; one that is nearly flat is,
# and one that is hardly flat is not. Few pieces are in between: what these cost is a bit of both.
HALF_FLAT = 3.0
NEARLY_FLAT, HARDLY_FLAT = 0.95, 0.05
# Pairs of partners that units are told from: those most similar to a piece, of a sample; and how many there must be.
SIMILAR = 40
SAMPLE = 5000
FEWEST = 100
# How many numbers pieces are similar by, and in what units: levels of brightness and of tints.
KEYS = 5
SIMILAR_BRIGHTNESS, SIMILAR_TINT = 8.0, 3.0
# What is added to a variance and to a share before its logarithm is taken.
SMOOTH, IDLE = 0.05, 0.02
# A standard deviation is so many times the median of distances, and no unit is smaller than this.
DEVIATION = 1.4826
LEAST_UNIT = 0.02
# Numbers are rounded to such parts, so that every machine computes the same.
PARTS = 256


def learned_likeness(
    summaries: NDArray[np.float64], sure: NDArray[np.int32], sharpness: float, threads: Threads
) -> Likeness:
    """Return what flat pieces are like, given partners that are sure: (pieces, 4), -1 for none.

    By how much less likely a pair is costs what `sharpness` says. Nothing is learned where too few partners are flat.
    """
    flatness = how_flat(summaries[:, ROUGHNESS])
    flat = flatness > 0
    keys = _rounded(_keys(summaries))
    sheets = np.zeros((len(summaries), 2, COLUMNS), dtype=np.float32)
    for axis in range(2):
        here = np.flatnonzero((sure[:, axis] >= 0) & flat)
        here = here[flat[sure[here, axis]]]
        if len(here) < FEWEST or sharpness == 0:
            return no_likeness()
        here = here[:: -(-len(here) // SAMPLE)]
        there = sure[here, axis]
        sheet = sheets[:, axis]
        _describe(summaries, flatness, axis, sheet)
        differences = np.abs(_differences(sheet[here].astype(np.float64), sheet[there].astype(np.float64)))
        middles = 0.5 * (keys[here] + keys[there])
        units = np.empty((len(sheet), COMPARED))
        threads.run(len(sheet), partial(find_units, keys, middles, differences, units))
        # A pair's squared unit is the product of both pieces'; float16 hides how a machine rounds.
        sheet[:, UNITS : UNITS + COMPARED] = (1 / (DEVIATION * units + LEAST_UNIT)).astype(np.float16)
    return Likeness(sheets.reshape(-1, COLUMNS), np.array([1 / sharpness]), np.zeros(1))


def compile_likeness(threads: Threads) -> None:
    """Compile what only large puzzles need."""
    threads.run(
        1,
        partial(find_units, np.zeros((1, KEYS)), np.zeros((1, KEYS)), np.zeros((1, COMPARED)), np.empty((1, COMPARED))),
    )


def worth_of(features: Features) -> float:
    """Return what a natural logarithm of likelihood costs; zero where nothing is known of that."""
    if not isinstance(features, Seams) or len(features.likeness.sheets) == 0:
        return 0.0
    return float(features.likeness.worth[0])


def how_flat(roughness: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how flat pieces are, 0 to 1."""
    flatness = _rounded(1 / (1 + (roughness / HALF_FLAT) ** 4))
    return np.where(flatness > NEARLY_FLAT, 1.0, np.where(flatness < HARDLY_FLAT, 0.0, flatness))


def _keys(summaries: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what pieces are similar by: (pieces, KEYS)."""
    tints_roughness = summaries[:, TINTS_ROUGHNESS]
    return np.stack(
        [
            summaries[:, 0] / SIMILAR_BRIGHTNESS,
            summaries[:, 3] / SIMILAR_TINT,
            summaries[:, 4] / SIMILAR_TINT,
            np.log(summaries[:, ROUGHNESS] - tints_roughness + SMOOTH),
            np.log(tints_roughness + SMOOTH),
        ],
        axis=1,
    )


def _describe(
    summaries: NDArray[np.float64], flatness: NDArray[np.float64], axis: int, sheet: NDArray[np.float32]
) -> None:
    """Write down what pieces are as seams along an axis see them, but for the units."""
    sheet[:, BRIGHT] = _rounded(summaries[:, 0])
    sheet[:, ACROSS] = _rounded(summaries[:, 1 + axis])
    sheet[:, ALONG] = _rounded(summaries[:, 2 - axis])
    sheet[:, BUSY] = _rounded(np.log(summaries[:, BUSY_ACROSS] + IDLE))
    sheet[:, BUSY_DOWN] = _rounded(np.log(summaries[:, SHARE_DOWN] + IDLE))
    sheet[:, FLAT] = flatness
    sheet[:, BEGIN] = _rounded(summaries[:, BESIDE + axis + 2])
    sheet[:, END] = _rounded(summaries[:, BESIDE + axis])


def _rounded(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.rint(PARTS * numbers) / PARTS


def _differences(here: NDArray[np.float64], there: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return by what neighbours differ, in the order of units: (pairs, COMPARED)."""
    brighter = there[:, BRIGHT] - here[:, BRIGHT]
    step = brighter - 0.5 * (here[:, ACROSS] + there[:, ACROSS])
    others = (there - here)[:, [ALONG, BUSY, BUSY_DOWN]]
    return np.concatenate([np.stack([brighter, step], axis=1), others], axis=1)


@kernel
def find_units(keys, middles, differences, units, begin, end):
    """Find by how much the pairs most similar to the pieces begin .. end-1 differ: in each number, the median."""
    count = min(SIMILAR, len(middles))
    distances, nearest = np.empty(count), np.empty(count, np.int64)
    values = np.empty(count)
    for piece in range(begin, end):
        found = 0
        for pair in range(len(middles)):
            distance = 0.0
            for index in range(keys.shape[1]):
                apart = keys[piece, index] - middles[pair, index]
                distance += apart * apart
            if found < count or distance < distances[count - 1]:
                found = insert(distances, nearest, found, distance, pair)
        for index in range(COMPARED):
            for rank in range(count):
                values[rank] = differences[nearest[rank], index]
            units[piece, index] = np.sort(values)[count // 2]
