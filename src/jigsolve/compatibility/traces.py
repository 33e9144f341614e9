"""Traces of JPEG: which pieces were cut from one block of a compressed picture.

JPEG cuts a picture into blocks of 8 x 8 pixels and keeps of each the coefficients of its cosine transform, rounded to
multiples of a step for each frequency. Where a seam runs through a block, the two parts must add up to such multiples
again. In a sky, where every piece fits every other, this tells the true neighbour from nearly all others. Everything is
found from the pixels: the steps, and how blocks lie in each piece.

Colour is mostly kept at half the width and height: its blocks are 16 x 16 pixels, so that half of the seams that run
between blocks of brightness cut blocks of colour. Decoders blend its samples to make pixels of them; that is undone.

Nothing is found, and nothing changes, in pictures that were never compressed or that were resized since, and where
pieces end with blocks; nor if a puzzle was compressed after it was shuffled, as its seams cut no blocks of it.
"""

from math import gcd
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._access import uncounted
from .._jit import inlined, kernel
from ..images import Pixels
from ..puzzle import Puzzle
from .patterns import unlikely_patterns
from .phases import A_BLOCK, CLEAR, between_blocks, codes_of, keep_likely, not_refuted, side_masks
from .planes import BLUE, FINE, Undoing, clipped_within, is_clipped, planes_of, undoing_of
from .seam_costs import Seams, seam_square
from .trace_costs import (
    BLOCK,
    BROKEN,
    BROKEN_BLOCK,
    BROKEN_COLOUR,
    COEFFICIENTS,
    COLOUR_COEFFICIENTS,
    EDGE,
    FIRST,
    HALF,
    LEGIBLE,
    LEGIBLE_EDGE,
    LONGEST,
    MASK,
    MISFIT,
    MOST_PLAUSIBLE,
    NOTHING,
    NUMBERS,
    PARTS,
    UNKNOWN,
    WHOLE,
    WHOLE_COLOUR,
    Plane,
    Traces,
    broken_between,
    no_plane,
    no_traces,
    traces_of,
)

# Of colour the frequencies up to this sum count: the others are mostly zero, and add what rounding did to them.
HIGHEST_COLOUR = 3
# A coefficient is rarely further from a multiple of its step than this, as pixels are rounded.
NEAR = 0.9
# Steps that are looked for, as smaller ones say nothing; and what is taken for a frequency that is zero everywhere: not
# the largest, as shares are kept in 256 parts of it.
LEAST_STEP, LARGEST_STEP, UNUSED_STEP = 3, 255, 64
# Lines of pixels of which the samples of colour along a side are blended.
AROUND = 4
# Blocks along a side that are looked at.
MOST_BLOCKS = 8
# Below this share a piece is taken to be whole in spite of clipped colours.
SOUND = 0.1
# Pieces that the steps are told from, and by how much more zeros it must be clear how blocks lie in them.
SAMPLE = 512
LEAD = 0.1
# Sides that are to find others that complete their blocks, which share of them must, and which share of all others may
# fit them better than what they find.
PROBES = 64
COMPLETED = 0.5
FITTING = 0.1


def _cosines() -> NDArray[np.float64]:
    frequency, place = np.mgrid[:BLOCK, :BLOCK]
    scale = np.where(frequency == 0, np.sqrt(1 / BLOCK), np.sqrt(2 / BLOCK))
    return np.rint(FINE * scale * np.cos(np.pi * (2 * place + 1) * frequency / (2 * BLOCK)))


COSINES = _cosines()
CORNERS = np.array([(y, x) for y in range(BLOCK) for x in range(BLOCK)])
LOWEST = np.argsort(CORNERS.sum(axis=1), kind="stable")[:COLOUR_COEFFICIENTS]


def find_traces(puzzle: Puzzle, seams: Seams) -> Traces:
    """Return how blocks lie in the pieces of a puzzle, and what each side has of those that it cuts.

    `seams` are the features by which sides are compared otherwise.
    """
    pieces = puzzle.pieces
    height, width, channels = pieces.shape[1:]
    if pieces.dtype != np.uint8 or channels not in (1, 3):
        return no_traces()
    nothing = np.empty((0, 0))
    brightness = _find_plane(pieces, Undoing(nothing, nothing), seams, no_phases())
    if channels == 1 or height % 2 or width % 2:
        return traces_of(brightness.plane, no_plane())
    undoing = Undoing(undoing_of(height), np.ascontiguousarray(undoing_of(width).T))
    colour = _find_plane(pieces, undoing, seams, brightness)
    return traces_of(brightness.plane, colour.plane)


class Found(NamedTuple):
    """A plane of traces, and the phases of pieces that it was made for."""

    plane: Plane
    plausible: NDArray[np.uint64]
    """(pieces,): a bit for each phase."""


def no_phases() -> Found:
    """Return what is found where there is nothing to find."""
    return Found(no_plane(), np.empty(0, dtype=np.uint64))


def _find_plane(pieces: Pixels, undoing: Undoing, seams: Seams, known: Found) -> Found:
    """Return the traces of brightness or colour, if they hold; phases are among those `known` of smaller blocks."""
    height, width = (length // (2 if undoing.halves else 1) for length in pieces.shape[1:3])
    if _too_small(height) or _too_small(width):
        return no_phases()
    steps, corner = _steps(pieces, undoing)
    if np.count_nonzero(steps) < COEFFICIENTS // 2:
        return no_phases()
    if undoing.halves:
        steps[(CORNERS.sum(axis=1) == 0) | (CORNERS.sum(axis=1) > HIGHEST_COLOUR)] = 0
    phases = _possible_phases(height, width, corner)
    plausible = _refined(known, phases, len(pieces))
    sound = np.empty(len(pieces), dtype=np.bool_)
    evidence = _known_evidence(known, phases, len(pieces))
    limits = np.array([WHOLE_COLOUR, BROKEN_COLOUR] if undoing.halves else [WHOLE, BROKEN], dtype=np.int64)
    find_phases(pieces, undoing, steps, limits, COSINES, phases, plausible, sound, evidence)
    unlikely = unlikely_patterns(pieces, undoing, phases, plausible)
    if unlikely.any():
        evidence[0] += unlikely / A_BLOCK
        keep_likely(evidence[0], plausible)
    plane = _gather(pieces, undoing, steps, limits, phases, plausible, sound, evidence)
    return Found(plane, plausible) if _hold(plane, seams) else no_phases()


def _refined(known: Found, phases: NDArray[np.int64], pieces: int) -> NDArray[np.uint64]:
    """Return which phases of blocks twice as large are plausible for each piece by what is known of the smaller."""
    every = np.uint64((1 << len(phases)) - 1)
    refined = np.zeros(pieces, dtype=np.uint64)
    for index, number in _smaller(known, phases):
        refined |= (known.plausible >> np.uint64(number) & np.uint64(1)) << np.uint64(index)
    return np.where(refined > 0, refined, every)


def _known_evidence(known: Found, phases: NDArray[np.int64], pieces: int) -> NDArray[np.float32]:
    """Return what is known of the smaller blocks, by the phases of those twice as large."""
    evidence = np.zeros((2, pieces, len(phases)), dtype=np.float32)
    for index, number in _smaller(known, phases):
        evidence[:, :, index] = known.plane.evidence[:, :, number]
    return evidence


def _smaller(known: Found, phases: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return the numbers of phases of blocks twice as large, each with that of the phase of the smaller blocks."""
    of = {tuple(phase): number for number, phase in enumerate(known.plane.phases.tolist())}
    pairs = [(index, of.get(tuple(phase), -1)) for index, phase in enumerate((2 * phases % BLOCK).tolist())]
    return [(index, number) for index, number in pairs if number >= 0]


def _too_small(size: int) -> bool:
    """Whether pieces of this size can be without a whole block."""
    return size < 2 * BLOCK - gcd(size, BLOCK)


def _possible_phases(height: int, width: int, corner: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (n, 2): all phases that lie like `corner`, modulo what a piece's size has in common with a block."""
    common = _common(height, width)
    return CORNERS[(CORNERS % common == corner % common).all(axis=1)]


def _common(height: int, width: int) -> NDArray[np.int64]:
    return np.array([gcd(height, BLOCK), gcd(width, BLOCK)])


def _steps(pieces: Pixels, undoing: Undoing) -> tuple[NDArray[np.int16], NDArray[np.int64]]:
    """Return the steps, as a sample of the pieces tells, those with most contrast, and how corners lie in blocks.

    Where blocks are whole, most coefficients of high frequency are zero. Corners of pieces are multiples of their size
    apart, so all lie alike modulo what the size has in common with a block.
    """
    nothing = np.zeros(COEFFICIENTS, dtype=np.int16)
    sample = pieces[:: -(-len(pieces) // (8 * SAMPLE))]
    planes = np.stack([planes_of(piece, undoing) for piece in sample])
    levels = planes.reshape(-1, *planes.shape[2:])
    contrast = levels.std(axis=(1, 2))
    chosen = np.argsort(-contrast, kind="stable")[: min(SAMPLE, np.count_nonzero(contrast > 1))]
    if len(chosen) == 0:
        return nothing, CORNERS[0]
    levels, clipped = levels[chosen], _clipped(sample[chosen // planes.shape[1]], undoing)
    lowest = HIGHEST_COLOUR if undoing.halves else BLOCK - 1
    common = _common(*levels.shape[1:])
    zeros = np.stack([_zeros(levels, corner, lowest) for corner in CORNERS])
    alike, votes = np.unique(CORNERS[zeros.argmax(axis=0)] % common, axis=0, return_counts=True)
    winner = alike[votes.argmax()]
    possible = (CORNERS % common == winner).all(axis=1)
    best, ranked = CORNERS[possible][zeros[possible].argmax(axis=0)], np.sort(zeros[possible], axis=0)
    clear = np.flatnonzero(ranked[-1] > ranked[-2] + LEAD) if len(ranked) > 1 else np.arange(len(best))
    if votes.max() < len(chosen) / 2 or len(clear) == 0:
        return nothing, winner
    whole = []
    for piece in clear:
        blocks, spoilt = (_blocks(array[piece : piece + 1], *best[piece])[0] for array in (levels, clipped))
        whole.append(_coefficients(blocks[~spoilt.any(axis=(1, 2))]))
    return np.array([_step(np.abs(values)) for values in np.concatenate(whole).T], dtype=np.int16), winner


def _clipped(pieces: Pixels, undoing: Undoing) -> NDArray[np.bool_]:
    """Return which samples of pieces lie where a colour is as dark or as bright as can be."""
    clipped = ((pieces == 0) | (pieces == 255)).any(axis=3)
    if not undoing.halves:
        return clipped
    count, height, width = clipped.shape
    return clipped.reshape(count, height // 2, 2, width // 2, 2).any(axis=(2, 4))


def _zeros(levels: NDArray[np.float64], corner: NDArray[np.int64], lowest: int) -> NDArray[np.float64]:
    """Return the share of zeros among the frequencies from `lowest` on of each piece, if its corner lies there."""
    high = CORNERS.sum(axis=1) >= lowest
    coefficients = _coefficients(_blocks(levels, *corner))[:, :, high]
    return (np.abs(coefficients) < NEAR).sum(axis=(1, 2)) / max(1, coefficients.shape[1]) / np.count_nonzero(high)


def _blocks(levels: NDArray[Any], y: int, x: int) -> NDArray[Any]:
    """Return the whole blocks of pieces whose corners lie at (y, x) of a block: (pieces, n, 8, 8)."""
    top, left = -y % BLOCK, -x % BLOCK
    down, across = max(0, levels.shape[1] - top) // BLOCK, max(0, levels.shape[2] - left) // BLOCK
    inner = levels[:, top : top + down * BLOCK, left : left + across * BLOCK]
    blocks = inner.reshape(len(levels), down, BLOCK, across, BLOCK).swapaxes(2, 3)
    return blocks.reshape(len(levels), down * across, BLOCK, BLOCK)


def _coefficients(blocks: NDArray[np.float64]) -> NDArray[np.float64]:
    return (COSINES @ blocks @ COSINES.T / FINE**2).reshape(*blocks.shape[:-2], COEFFICIENTS)


def _step(sizes: NDArray[np.float64]) -> int:
    """Return the largest step of which nearly all coefficients are multiples; 0 if there is none that says anything."""
    candidates = np.arange(LEAST_STEP, LARGEST_STEP + 1)
    sizes = sizes[sizes > LEAST_STEP - NEAR]
    if len(sizes) == 0:
        return UNUSED_STEP
    off = np.abs(sizes - candidates[:, np.newaxis] * np.rint(sizes / candidates[:, np.newaxis]))
    shares = (off < NEAR).mean(axis=1)
    by_chance = 2 * NEAR / candidates
    fitting = np.flatnonzero((shares >= max(0.6, 0.85 * shares.max())) & (shares >= by_chance + 0.25))
    if len(fitting) == 0:
        return 0
    near = fitting[fitting >= fitting[-1] - 1]  # Of two steps that differ by one, that which fits more closely.
    return int(candidates[near[off[near].mean(axis=1).argmin()]])


def _gather(
    pieces: Pixels,
    undoing: Undoing,
    steps: NDArray[np.int16],
    limits: NDArray[np.int64],
    phases: NDArray[np.int64],
    plausible: NDArray[np.uint64],
    sound: NDArray[np.bool_],
    evidence: NDArray[np.float32],
) -> Plane:
    """Return the traces of all sides, from the plausible phases of their pieces."""
    scale, channels = (2, 2) if undoing.halves else (1, 1)
    height, width = pieces.shape[1] // scale, pieces.shape[2] // scale
    codes = codes_of(phases, (height, width))
    counts = np.bitwise_count(plausible).astype(np.int64)
    rows = np.where(counts <= MOST_PLAUSIBLE, counts, 0).repeat(4)
    keys = np.zeros((4 * len(pieces), 4), dtype=np.uint64)
    masks = side_masks(plausible, codes)
    keys[:, MASK], keys[:, NUMBERS], keys[:, FIRST] = masks.ravel(), 2**64 - 1, np.cumsum(rows) - rows
    kept = LOWEST if undoing.halves else np.arange(COEFFICIENTS)
    along = min(MOST_BLOCKS // channels, max(height, width) // BLOCK)
    shares = np.zeros((rows.sum(), len(kept) * channels * along), dtype=np.int8)
    edges = np.zeros((4 * len(pieces) if undoing.halves else 0, EDGE), dtype=np.int8)
    size = np.array([height, width])
    plane = Plane(keys, shares, steps[kept], limits, size, phases, between_blocks(phases), edges, evidence)
    fill_shares(pieces, undoing, phases, codes, plausible, sound, COSINES, kept, plane)
    return plane


def _hold(plane: Plane, seams: Seams) -> bool:
    """Whether sides find others that complete the blocks that they cut, few of them, and such as fit otherwise too.

    In a puzzle that was compressed after it was shuffled, blocks are completed by what lay beside a piece then.
    """
    sides, masks = np.arange(len(plane.keys)), plane.keys[:, MASK]
    clean = np.bitwise_or.reduce(plane.keys[:, LEGIBLE].copy().view(np.uint8).reshape(-1, 8), axis=1)
    probes = np.flatnonzero((clean > 0) & (masks & (masks - np.uint64(1)) == 0) & (sides % 4 < 2))
    completed = asked = 0
    for side in probes[:: max(1, len(probes) // PROBES)]:
        meets = (masks & masks[side] != 0) & (sides % 4 == side % 4 + 2) & (sides // 4 != side // 4)
        others = np.flatnonzero(meets & (clean & clean[side] != 0))
        broken, squares = judged(plane, seams, side, others)
        whole = BROKEN_BLOCK * broken < 0.1 * MISFIT
        if np.count_nonzero(whole) <= max(1, len(others) // 10):  # Where more do, all are flat, and say nothing.
            asked += 1
            completed += whole.any() and (squares < squares[whole].min()).mean() < FITTING
    return asked > 0 and completed >= COMPLETED * asked


@kernel
def judged(plane, seams, side, others):
    """How many blocks are broken between a side and several others, and the sums of squares that they cost."""
    plane, seams = uncounted(plane), uncounted(seams)
    broken, squares = np.empty(len(others)), np.empty(len(others))
    for index in range(len(others)):
        broken[index] = broken_between(plane, side, others[index], UNKNOWN)
        squares[index] = seam_square(seams, side, others[index], UNKNOWN)
    return broken, squares


@kernel
def transform(levels, top, left, cosines, coefficients):
    """The coefficients of the block at (top, left), of what lies within the piece; exact, in units of 1 / FINE^2.

    `coefficients` has room for 8 x 8; `cosines` is by frequency and place.
    """
    rows = np.zeros((BLOCK, BLOCK))
    for y in range(max(0, -top), min(BLOCK, levels.shape[0] - top)):
        for x in range(max(0, -left), min(BLOCK, levels.shape[1] - left)):
            level = levels[top + y, left + x]
            for u in range(BLOCK):
                rows[y, u] += level * cosines[u, x]
    coefficients[:] = 0
    for v in range(BLOCK):
        for y in range(BLOCK):
            for u in range(BLOCK):
                coefficients[v, u] += rows[y, u] * cosines[v, y]


@inlined
def broken_part(coefficients, steps, limits):
    """How far a block's coefficients are from multiples of the steps: 0 if it is whole, up to 1."""
    rest = 0.0
    for k in range(COEFFICIENTS):
        if steps[k] > 0:
            value = coefficients[k // BLOCK, k % BLOCK] / (FINE * FINE)
            off = value - steps[k] * np.rint(value / steps[k])
            rest += off * off
    whole, broken = limits
    return min(max(rest - whole, 0.0), broken - whole) / (broken - whole)


@kernel
def find_phases(pieces, undoing, steps, limits, cosines, phases, plausible, sound, evidence):
    """Tell which phases that are plausible so far still are, and which pieces are whole in spite of clipped colours.

    Blocks without clipped colours count; others only in a piece that is sound, which the few blocks of colour cannot
    tell. If nothing is left, everything is. What is found of the former is added to `evidence`.
    """
    coefficients = np.empty((BLOCK, BLOCK))
    broken, blocks = np.empty((2, len(phases))), np.empty((2, len(phases)))
    for piece in range(len(pieces)):
        planes = planes_of(pieces[piece], undoing)
        channels, height, width = planes.shape
        scale = pieces.shape[1] // height
        broken[:], blocks[:] = 0, 0
        for index in range(len(phases)):
            if plausible[piece] >> np.uint64(index) & np.uint64(1) == 0:
                continue
            for top in range(-phases[index, 0] % BLOCK, height - BLOCK + 1, BLOCK):
                for left in range(-phases[index, 1] % BLOCK, width - BLOCK + 1, BLOCK):
                    for channel in range(channels):
                        transform(planes[channel], top, left, cosines, coefficients)
                        part = broken_part(coefficients, steps, limits)
                        kinds = 1 if is_clipped(pieces[piece], top, left, scale, channel) else 2
                        broken[:kinds, index] += part
                        blocks[:kinds, index] += 1
        evidence[0, piece] += broken[1]
        evidence[1, piece] += blocks[1]
        of_all, share = not_refuted(broken[0], blocks[0], CLEAR)
        of_clean, _ = not_refuted(broken[1], blocks[1], CLEAR)
        sound[piece] = share < SOUND and scale == 1
        mask = plausible[piece]
        if mask & of_clean != 0:
            mask &= of_clean
        if sound[piece] and mask & of_all != 0:
            mask &= of_all
        plausible[piece] = mask


@kernel
def fill_edges(piece, planes, edges):
    """Fill in the colours along the sides of a piece, in whole levels, and which of them are known, if it has room."""
    if len(edges) == 0:
        return
    height, width = planes.shape[1:]
    bottom, right = piece.shape[:2]
    lines = (planes[:, :, width - 1], planes[:, height - 1], planes[:, :, 0], planes[:, 0])
    for direction in range(4):
        line = lines[direction]
        for channel in range(2):
            for index in range(min(line.shape[1], LONGEST)):
                level = min(max(np.rint(line[channel, index]), -128.0), 127.0)
                edges[direction, channel * LONGEST + index] = np.int8(level)
        top, left = bottom - AROUND if direction == 1 else 0, right - AROUND if direction == 0 else 0
        end_y, end_x = AROUND if direction == 3 else bottom, AROUND if direction == 2 else right
        clipped = clipped_within(piece, top, end_y, left, end_x)
        legible = (1 if clipped == 0 else 0) | (2 if clipped & ~BLUE == 0 else 0)
        edges[direction, LEGIBLE_EDGE] = np.int8(legible)


@kernel
def fill_shares(pieces, undoing, phases, codes, plausible, sound, cosines, kept, plane):
    """Fill in what the sides of each piece have of the blocks that they cut, in each plausible phase."""
    keys, shares, steps = plane.keys, plane.shares, plane.steps
    coefficients = np.empty((BLOCK, BLOCK))
    for piece in range(len(pieces)):
        planes = planes_of(pieces[piece], undoing)
        fill_edges(pieces[piece], planes, plane.edges[4 * piece : 4 * piece + 4])
        if keys[4 * piece, FIRST] == keys[4 * piece + 1, FIRST]:  # There are too many.
            continue
        channels, height, width = planes.shape
        scale = pieces.shape[1] // height
        most = shares.shape[1] // len(kept) // channels
        nth = 0
        for index in range(len(phases)):
            if plausible[piece] >> np.uint64(index) & np.uint64(1) == 0:
                continue
            y, x = phases[index, 0], phases[index, 1]
            cuts = ((x + width) % BLOCK, (y + height) % BLOCK, x, y)
            # Where, across the sides, the blocks begin that they cut.
            edges = (width - cuts[0], height - cuts[1], -cuts[2], -cuts[3])
            for direction in range(4):
                side = 4 * piece + direction
                row = np.int64(keys[side, FIRST]) + nth
                keys[side, NUMBERS] ^= np.uint64(NOTHING ^ codes[index, direction]) << np.uint64(8 * nth)
                along, length = (y, height) if direction % 2 == 0 else (x, width)
                count = min(most, (length - -along % BLOCK) // BLOCK) if cuts[direction] > 0 else 0
                for number in range(channels * count):
                    channel, block = number // count, number % count
                    at = -along % BLOCK + BLOCK * block
                    top, left = (at, edges[direction]) if direction % 2 == 0 else (edges[direction], at)
                    transform(planes[channel], top, left, cosines, coefficients)
                    place = channel * most + block
                    if sound[piece] or not is_clipped(pieces[piece], top, left, scale, channel):
                        keys[side, LEGIBLE] |= np.uint64(1) << np.uint64(8 * nth + place)
                    for k in range(len(kept)):
                        if steps[k] > 0:
                            value = coefficients[kept[k] // BLOCK, kept[k] % BLOCK] / (FINE * FINE)
                            parts = np.int64(np.rint(value / steps[k] * PARTS))
                            shares[row, place * len(kept) + k] = (parts + HALF) % PARTS - HALF
            nth += 1
