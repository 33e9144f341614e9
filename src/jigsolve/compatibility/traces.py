"""Traces of JPEG: which pieces were cut from one block of a compressed picture.

JPEG cuts a picture into blocks of 8 x 8 pixels and keeps of each the coefficients of its cosine transform, rounded to
multiples of a step for each frequency. Where a seam runs through a block, the two parts must add up to such multiples
again. In a sky, where every piece fits every other, this tells the true neighbour from nearly all others. Everything is
found from the pixels: the steps, and how blocks lie in each piece.

Nothing is found, and nothing changes, in pictures that were never compressed or that were resized since, and where
pieces end with blocks; nor if a puzzle was compressed after it was shuffled, as its seams cut no blocks of it.
"""

from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._jit import inlined, kernel
from ..images import Pixels
from ..puzzle import Puzzle
from .seam_costs import Seams, seam_square
from .trace_costs import (
    BLOCK,
    BROKEN,
    COEFFICIENTS,
    FIRST,
    HALF,
    LEGIBLE,
    MASK,
    MISFIT,
    MOST_PLAUSIBLE,
    NOTHING,
    NUMBERS,
    PARTS,
    WHOLE,
    Traces,
    misfit,
    no_traces,
)

# Cosines are whole numbers of this many parts, so that sums of their products with pixels are exact.
FINE = 4096
# A coefficient is rarely further from a multiple of its step than this, as pixels are rounded.
NEAR = 0.9
# Steps that are looked for, as smaller ones say nothing; and what is taken for a frequency that is zero everywhere: not
# the largest, as shares are kept in 256 parts of it.
LEAST_STEP, LARGEST_STEP, UNUSED_STEP = 3, 255, 64
# Blocks along a side that are looked at.
MOST_BLOCKS = 8
# How many blocks more must be broken before a phase is out of the question, and which share may be in the best one.
CLEAR = 0.75
MOSTLY_WHOLE = 0.25
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


def find_traces(puzzle: Puzzle, seams: Seams) -> Traces:
    """Return how blocks lie in the pieces of a puzzle, and what each side has of those that it cuts.

    `seams` are the features by which sides are compared otherwise.
    """
    pieces = puzzle.pieces
    height, width = pieces.shape[1:3]
    if pieces.dtype != np.uint8 or pieces.shape[3] not in (1, 3) or _too_small(height) or _too_small(width):
        return no_traces()
    steps, corner = _steps(pieces)
    if np.count_nonzero(steps) < COEFFICIENTS // 2:
        return no_traces()
    phases = _possible_phases(height, width, corner)
    plausible = np.empty(len(pieces), dtype=np.uint64)
    sound = np.empty(len(pieces), dtype=np.bool_)
    find_phases(pieces, steps, COSINES, phases, plausible, sound)
    traces = _gather(pieces, steps, phases, plausible, sound)
    return traces if _hold(traces, seams) else no_traces()


def _too_small(size: int) -> bool:
    """Whether pieces of this size can be without a whole block."""
    return size < 2 * BLOCK - gcd(size, BLOCK)


def _possible_phases(height: int, width: int, corner: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (n, 2): all phases that lie like `corner`, modulo what a piece's size has in common with a block."""
    common = _common(height, width)
    return CORNERS[(CORNERS % common == corner % common).all(axis=1)]


def _common(height: int, width: int) -> NDArray[np.int64]:
    return np.array([gcd(height, BLOCK), gcd(width, BLOCK)])


def _steps(pieces: Pixels) -> tuple[NDArray[np.int16], NDArray[np.int64]]:
    """Return the steps, as a sample of the pieces tells, those with most contrast, and how corners lie in blocks.

    Where blocks are whole, most coefficients of high frequency are zero. Corners of pieces are multiples of their size
    apart, so all lie alike modulo what the size has in common with a block.
    """
    nothing = np.zeros(COEFFICIENTS, dtype=np.int16)
    sample = pieces[:: -(-len(pieces) // (8 * SAMPLE))]
    levels = np.stack([luma(piece) for piece in sample])
    contrast = levels.std(axis=(1, 2))
    chosen = np.argsort(-contrast, kind="stable")[: min(SAMPLE, np.count_nonzero(contrast > 1))]
    if len(chosen) == 0:
        return nothing, CORNERS[0]
    levels, clipped = levels[chosen], ((sample[chosen] == 0) | (sample[chosen] == 255)).any(axis=3)
    zeros = np.stack([_zeros(levels, corner) for corner in CORNERS])
    best, ranked = CORNERS[zeros.argmax(axis=0)], np.sort(zeros, axis=0)
    common = _common(*levels.shape[1:])
    alike, votes = np.unique(best % common, axis=0, return_counts=True)
    winner = alike[votes.argmax()]
    clear = np.flatnonzero((best % common == winner).all(axis=1) & (ranked[-1] > ranked[-2] + LEAD))
    if votes.max() < len(best) / 2 or len(clear) == 0:
        return nothing, winner
    whole = []
    for piece in clear:
        blocks, spoilt = (_blocks(array[piece : piece + 1], *best[piece])[0] for array in (levels, clipped))
        whole.append(_coefficients(blocks[~spoilt.any(axis=(1, 2))]))
    return np.array([_step(np.abs(values)) for values in np.concatenate(whole).T], dtype=np.int16), winner


def _zeros(levels: NDArray[np.float64], corner: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share of zeros among the high frequencies of each piece's blocks, if its corner lies there."""
    high = CORNERS.sum(axis=1) >= BLOCK - 1
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
    steps: NDArray[np.int16],
    phases: NDArray[np.int64],
    plausible: NDArray[np.uint64],
    sound: NDArray[np.bool_],
) -> Traces:
    """Return the traces of all sides, from the plausible phases of their pieces."""
    height, width = pieces.shape[1:3]
    number = np.full((BLOCK, BLOCK), -1)
    number[phases[:, 0], phases[:, 1]] = np.arange(len(phases))
    # The phase of the right or lower piece at each side of a piece of each phase.
    beside = np.stack([(phases + step) % BLOCK for step in ((0, width), (height, 0), (0, 0), (0, 0))], axis=1)
    codes = number[beside[:, :, 0], beside[:, :, 1]]
    masks = np.zeros((len(pieces), 4), dtype=np.uint64)
    counts = np.zeros(len(pieces), dtype=np.int64)
    for index, code in enumerate(codes):
        has = plausible >> np.uint64(index) & np.uint64(1)
        counts += has.astype(np.int64)
        masks |= has[:, np.newaxis] << code.astype(np.uint64)
    rows = np.where(counts <= MOST_PLAUSIBLE, counts, 0).repeat(4)
    keys = np.zeros((4 * len(pieces), 4), dtype=np.uint64)
    keys[:, MASK], keys[:, NUMBERS], keys[:, FIRST] = masks.ravel(), 2**64 - 1, np.cumsum(rows) - rows
    along = min(MOST_BLOCKS, max(height, width) // BLOCK)
    traces = Traces(keys, np.zeros((rows.sum(), COEFFICIENTS * along), dtype=np.int8), steps)
    fill_shares(pieces, phases, codes, plausible, sound, COSINES, traces)
    return traces


def _hold(traces: Traces, seams: Seams) -> bool:
    """Whether sides find others that complete the blocks that they cut, few of them, and such as fit otherwise too.

    In a puzzle that was compressed after it was shuffled, blocks are completed by what lay beside a piece then.
    """
    sides, masks = np.arange(len(traces.keys)), traces.keys[:, MASK]
    clean = np.bitwise_or.reduce(traces.keys[:, LEGIBLE].copy().view(np.uint8).reshape(-1, 8), axis=1)
    probes = np.flatnonzero((clean > 0) & (masks & (masks - np.uint64(1)) == 0) & (sides % 4 < 2))
    completed = asked = 0
    for side in probes[:: max(1, len(probes) // PROBES)]:
        meets = (masks & masks[side] != 0) & (sides % 4 == side % 4 + 2) & (sides // 4 != side // 4)
        others = np.flatnonzero(meets & (clean & clean[side] != 0))
        misfits, squares = judged(traces, seams, side, others)
        whole = misfits < 0.1 * MISFIT
        if np.count_nonzero(whole) <= max(1, len(others) // 10):  # Where more do, all are flat, and say nothing.
            asked += 1
            completed += whole.any() and (squares < squares[whole].min()).mean() < FITTING
    return asked > 0 and completed >= COMPLETED * asked


@kernel
def judged(traces, seams, side, others):
    """What traces add to the sums of squares of a side and several others, and these sums without them."""
    misfits, squares = np.empty(len(others)), np.empty(len(others))
    for index in range(len(others)):
        misfits[index] = misfit(traces, side, others[index])
        squares[index] = seam_square(seams, side, others[index])
    return misfits, squares


@kernel
def luma(piece):
    """The brightness that JPEG keeps, less 128: whole levels, as its decoder had them, unless a colour was clipped."""
    height, width, channels = piece.shape
    levels = np.empty((height, width))
    for y in range(height):
        for x in range(width):
            level = np.int64(piece[y, x, 0])
            if channels == 3:
                level = (299 * level + 587 * np.int64(piece[y, x, 1]) + 114 * np.int64(piece[y, x, 2]) + 500) // 1000
            levels[y, x] = level - 128
    return levels


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
def broken_part(coefficients, steps):
    """How far a block's coefficients are from multiples of the steps: 0 if it is whole, up to 1."""
    rest = 0.0
    for k in range(COEFFICIENTS):
        if steps[k] > 0:
            value = coefficients[k // BLOCK, k % BLOCK] / (FINE * FINE)
            off = value - steps[k] * np.rint(value / steps[k])
            rest += off * off
    return min(max(rest - WHOLE, 0.0), BROKEN - WHOLE) / (BROKEN - WHOLE)


@inlined
def is_clipped(piece, top, left):
    """Whether a colour is as dark or as bright as can be in what a piece has of the block at (top, left)."""
    for y in range(max(0, top), min(top + BLOCK, piece.shape[0])):
        for x in range(max(0, left), min(left + BLOCK, piece.shape[1])):
            for channel in range(piece.shape[2]):
                if piece[y, x, channel] == 0 or piece[y, x, channel] == 255:
                    return True
    return False


@inlined
def not_refuted(broken, blocks):
    """The phases in which few blocks more are broken than in the best, none if that is not mostly whole; its share."""
    least, share = np.inf, 1.0
    for index in range(len(broken)):
        if blocks[index] > 0 and broken[index] < least:
            least, share = broken[index], broken[index] / blocks[index]
    mask = np.uint64(0)
    if share <= MOSTLY_WHOLE:
        for index in range(len(broken)):
            if broken[index] < least + CLEAR:
                mask |= np.uint64(1) << np.uint64(index)
    return mask, share


@kernel
def find_phases(pieces, steps, cosines, phases, plausible, sound):
    """Tell which phases of each piece are plausible, and whether it is whole in spite of clipped colours.

    Blocks without clipped colours count; others only in a piece that is sound. If nothing is left, everything is.
    """
    coefficients = np.empty((BLOCK, BLOCK))
    broken, blocks = np.empty((2, len(phases))), np.empty((2, len(phases)))
    every = np.uint64(0)
    for index in range(len(phases)):
        every |= np.uint64(1) << np.uint64(index)
    for piece in range(len(pieces)):
        levels = luma(pieces[piece])
        broken[:], blocks[:] = 0, 0
        for index in range(len(phases)):
            for top in range(-phases[index, 0] % BLOCK, levels.shape[0] - BLOCK + 1, BLOCK):
                for left in range(-phases[index, 1] % BLOCK, levels.shape[1] - BLOCK + 1, BLOCK):
                    transform(levels, top, left, cosines, coefficients)
                    part = broken_part(coefficients, steps)
                    for kind in range(1 if is_clipped(pieces[piece], top, left) else 2):
                        broken[kind, index] += part
                        blocks[kind, index] += 1
        of_all, share = not_refuted(broken[0], blocks[0])
        of_clean, _ = not_refuted(broken[1], blocks[1])
        sound[piece] = share < SOUND
        mask = every & of_clean if of_clean != 0 else every
        if sound[piece] and mask & of_all != 0:
            mask &= of_all
        plausible[piece] = mask


@kernel
def fill_shares(pieces, phases, codes, plausible, sound, cosines, traces):
    """Fill in what the sides of each piece have of the blocks that they cut, in each plausible phase."""
    keys, shares, steps = traces
    coefficients = np.empty((BLOCK, BLOCK))
    height, width = pieces.shape[1], pieces.shape[2]
    most = shares.shape[1] // COEFFICIENTS
    for piece in range(len(pieces)):
        if keys[4 * piece, FIRST] == keys[4 * piece + 1, FIRST]:  # There are too many.
            continue
        levels = luma(pieces[piece])
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
                for block in range(count):
                    at = -along % BLOCK + BLOCK * block
                    top, left = (at, edges[direction]) if direction % 2 == 0 else (edges[direction], at)
                    transform(levels, top, left, cosines, coefficients)
                    if sound[piece] or not is_clipped(pieces[piece], top, left):
                        keys[side, LEGIBLE] |= np.uint64(1) << np.uint64(8 * nth + block)
                    for k in range(COEFFICIENTS):
                        if steps[k] > 0:
                            parts = np.rint(coefficients[k // BLOCK, k % BLOCK] / (FINE * FINE) / steps[k] * PARTS)
                            shares[row, block * COEFFICIENTS + k] = (np.int64(parts) + HALF) % PARTS - HALF
            nth += 1
