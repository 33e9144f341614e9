"""Measures that judge a seam in units of each piece's own gradients.

`mgc_seams` is Gallagher's Mahalanobis gradient compatibility (CVPR 2012): the difference across the seam should be like
the differences between the last two lines of each piece. `midline_seams` goes further, after Son, Moreno, Hays and
Cooper (2018): each piece is continued, pixel by pixel, towards the middle of the seam, where the two should meet, and
differences along the seam are judged too, in units of the differences along each piece's own side.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..puzzle import Puzzle
from .likeness_costs import no_likeness
from .ramp_costs import no_ramps
from .ramps import sum_up
from .seam_costs import LANES, LIMIT, Seams, line_array, line_stride, root_of
from .sides import outer_lines
from .trace_costs import no_traces
from .traces import find_traces

# Steps to one of the 256 levels of a channel while sides are described: 255 of them are 65,535 steps, so that 16 bits a
# channel stay as they are. What is kept has fewer where a picture uses all levels (see `_gather`).
STEPS = 257
# Gallagher's dummy gradients, which keep covariances of flat pieces invertible: 0, +-(1,1,1), +- one in each channel.
DUMMIES = 9
DUMMY_MOMENTS = np.array([[4, 2, 2], [2, 4, 2], [2, 2, 4]])

# How far towards the other piece, in pixels, a line is continued by its gradient. Half a pixel would be the middle of
# the seam; gradients are noisy, and trusting them less is better (docs/research.md).
REACH = 0.35
# How much more the dummies weigh across the seam than in MGC.
ACROSS_DUMMY_WEIGHT = 2
# The sum for each pixel of a seam beyond which its cost grows half as fast. Fewer than one true seam in a hundred
# is as bad, where one thing ends and another begins: how bad says little then, and is not to be made up for by others.
FAIR_A_PIXEL = 300.0


def mgc_seams(puzzle: Puzzle) -> Seams:
    """Return the features of MGC: its cost is the square root of both directions' forms."""
    return _gather(
        puzzle,
        [
            (last, (last - second).mean(axis=1), _inverse_covariance(last - second), None)
            for last, second in _ends(puzzle)
        ],
        power=4,
    )


def midline_seams(puzzle: Puzzle) -> Seams:
    """Return the features of the midline measure.

    The cost is the 3/8th power, of which what is beyond a limit counts half: both forgive single bad seams.
    """
    sides = []
    for last, second in _ends(puzzle):
        gradient = last - second
        line = last + np.rint(REACH * gradient).astype(np.int64)
        across = _inverse_covariance(gradient, ACROSS_DUMMY_WEIGHT)
        sides.append((line, None, across, _inverse_covariance(np.diff(last, axis=1))))
    return _gather(puzzle, sides, power=3, fair_a_pixel=FAIR_A_PIXEL)


def traced_seams(puzzle: Puzzle) -> Seams:
    """Return the features of the midline measure with the traces of compression, where the pieces have any.

    Pieces are summed up, too; what follows from that is learned once there are partners (see `ramps`).
    """
    seams = midline_seams(puzzle)
    return seams._replace(traces=find_traces(puzzle, seams), ramps=sum_up(puzzle))


def _ends(puzzle: Puzzle) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield, for each direction, the last and the second last line of every piece, in steps: (pieces, length, 3)."""
    for last, second in zip(outer_lines(puzzle), outer_lines(puzzle, depth=1), strict=True):
        yield np.rint(255 * STEPS * last).astype(np.int64), np.rint(255 * STEPS * second).astype(np.int64)


def _inverse_covariance(gradients: NDArray[np.int64], dummy_weight: int = 1) -> NDArray[np.float64]:
    """Return the inverse covariance of each piece's gradients and the dummies, as `Seams` keeps it: (pieces, 6).

    Sums are of integers and the inverse is written out, so that every machine computes the same.
    """
    count = gradients.shape[1] + DUMMIES
    moments = np.einsum("npu,npv->nuv", gradients, gradients) + dummy_weight * STEPS**2 * DUMMY_MOMENTS
    sums = gradients.sum(axis=1)
    spread = moments - sums[:, :, np.newaxis] * sums[:, np.newaxis, :] / count
    a, b, c = spread[:, 0, 0], spread[:, 1, 1], spread[:, 2, 2]
    d, e, f = spread[:, 0, 1], spread[:, 0, 2], spread[:, 1, 2]
    minors = (
        b * c - f * f,
        a * c - e * e,
        a * b - d * d,
        2 * (e * f - d * c),
        2 * (d * f - b * e),
        2 * (d * e - a * f),
    )
    determinant = a * minors[0] + 0.5 * (d * minors[3] + e * minors[4])
    return (count - 1) * np.stack(minors, axis=1) / determinant[:, np.newaxis]


def _gather(
    puzzle: Puzzle,
    sides: Sequence[
        tuple[NDArray[np.int64], NDArray[np.float64] | None, NDArray[np.float64], NDArray[np.float64] | None]
    ],
    power: int,
    fair_a_pixel: float = np.inf,
) -> Seams:
    """Lay the (line, mean, across, along) of the four directions side by side, in steps that 16 bits can hold.

    Differences along a line can be twice as large as lines differ, which is at most by the range of all colours. Of
    pictures that use all of it a level keeps 9 steps or more, mostly 15: finer than the rounding to eight bits that
    most pictures have gone through. A dim picture of 16 bits keeps all of its steps, a bright one not.
    """
    lengths = [line.shape[1] for line, *_ in sides]
    low = min(int(line.min()) for line, *_ in sides)
    spread = max(int(line.max()) for line, *_ in sides) - low
    steps = min(STEPS, LIMIT // 2 * STEPS // max(spread, 1))

    def joined(part: int, width: int) -> NDArray[np.float64]:
        parts = [side[part] for side in sides]
        if any(one is None for one in parts):
            return np.empty((4 * len(puzzle), 0))
        return np.stack(parts, axis=1, dtype=np.float64).reshape(-1, width)  # type: ignore[arg-type]

    weights = np.concatenate([joined(2, 6), joined(3, 6)], axis=1) * (STEPS / steps) ** 2
    means = joined(1, 3) * (steps / STEPS)
    seams = Seams(
        # A vector more: the last line of all is compared with what is behind it, too.
        lines=np.zeros(4 * len(puzzle) * 3 * line_stride(max(lengths)) + LANES, dtype=np.int16),
        lengths=np.array(lengths[:2], dtype=np.int64),
        means=means if means.size else np.empty((0, 3)),
        weights=weights.astype(np.float32),
        power=np.array([power], dtype=np.int64),
        fair=np.array([root_of(power, fair_a_pixel * np.mean(lengths))], dtype=np.float32),
        traces=no_traces(),
        ramps=no_ramps(),
        likeness=no_likeness(),
    )
    for direction, (line, *_) in enumerate(sides):
        levels = np.rint((line - low) * steps / STEPS).astype(np.int16)
        line_array(seams)[direction::4, :, : lengths[direction]] = levels.swapaxes(1, 2)
    return seams
