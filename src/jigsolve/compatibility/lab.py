"""The paper's dissimilarity (section 3.1): the Euclidean distance of abutting lines of pixels in L*a*b*."""

import numpy as np
from numpy.typing import NDArray

from ..puzzle import Puzzle
from .costs import to_fixed_point
from .sides import outer_lines

# A channel that varies less than one just noticeable difference is not blown up to the weight of the others.
LEAST_DEVIATION = 1.0

# sRGB (IEC 61966-2-1) to XYZ, each row divided by the white of D65, so that white becomes (1, 1, 1).
RGB_TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
RGB_TO_XYZ /= RGB_TO_XYZ.sum(axis=1, keepdims=True)
# L*a*b* from the cube roots of XYZ; what is left out, -16 in L*, changes no difference.
ROOTS_TO_LAB = np.array([[0, 116, 0], [500, -500, 0], [0, 200, -200]])


def lab_features(puzzle: Puzzle, *, normalized: bool = True) -> NDArray[np.int32]:
    """Return one row a side, such that the distance of two rows is the dissimilarity of the two sides.

    The paper's "normalized L*a*b*", of which it says no more, is read as: each channel with mean 0 and deviation 1 over
    the puzzle's sides. docs/algorithm.md compares it with the channels as they are.
    """
    lines = [rgb_to_lab(line) for line in outer_lines(puzzle)]
    pixels = np.concatenate([line.reshape(-1, 3) for line in lines])
    mean = pixels.mean(axis=0)
    deviation = np.maximum(pixels.std(axis=0), LEAST_DEVIATION) if normalized else np.ones(3)
    # Lines shorter than the longest (rectangular pieces) end in zeros, which add nothing to a distance.
    features = np.zeros((len(puzzle), 4, 3 * max(line.shape[1] for line in lines)))
    for direction, line in enumerate(lines):
        waves = _as_waves((line - mean) / deviation)
        features[:, direction, : waves.shape[1]] = waves
    return to_fixed_point(features.reshape(4 * len(puzzle), -1))


def rgb_to_lab(rgb: NDArray[np.float64]) -> NDArray[np.float64]:
    """Convert sRGB from 0 to 1 to L*a*b* (L* without its constant).

    By the formulas: imaging libraries interpolate them in tables too coarse for the last of 16 bits.
    """
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = linear @ RGB_TO_XYZ.T
    roots = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return roots @ ROOTS_TO_LAB.T


def _as_waves(lines: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn each line of shape (length, 3) into cosine coefficients, lowest frequency first.

    The transform is orthonormal: it changes no distance. But neighbouring pixels are alike, so nearly all of a distance
    now lies in the first few coefficients, and a comparison with a bound can mostly end there.
    """
    length = lines.shape[1]
    position, frequency = np.arange(length), np.arange(length)[:, np.newaxis]
    cosines = np.cos(np.pi * (position + 0.5) * frequency / length) * np.sqrt(2 / length)
    cosines[0] = np.sqrt(1 / length)
    return np.matmul(cosines, lines).reshape(len(lines), -1)
