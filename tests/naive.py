"""Slow, obvious versions of the kernels, to compare them with. Nothing here is fast and nothing here is clever."""

import random
from itertools import product

import numpy as np

RIGHT, DOWN, LEFT, UP = range(4)
# Levels of doubt: first those of partners in two loops and in one; at the end those without a partner, and those of
# them of which two candidates fit about equally well.
LOOPS = 2
NO_PARTNER = 5
VAGUE = 6
# The seams of a loop (top left, top right, bottom left, bottom right): one place, the direction, and the other place.
SEAMS = ((0, RIGHT, 1), (2, RIGHT, 3), (0, DOWN, 2), (1, DOWN, 3))
STEPS = {RIGHT: (0, 1), DOWN: (1, 0), LEFT: (0, -1), UP: (-1, 0)}


def srgb_to_lab(rgb):
    """The textbook formulas: sRGB to linear light to XYZ (D65) to L*a*b*."""
    rgb = np.asarray(rgb, dtype=np.float64)
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]])
    xyz = linear @ to_xyz.T / np.array([0.950456, 1.0, 1.088754])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    x, y, z = f[..., 0], f[..., 1], f[..., 2]
    lightness = np.where(xyz[..., 1] > 0.008856, 116 * y - 16, 903.3 * xyz[..., 1])
    return np.stack([lightness, 500 * (x - y), 200 * (y - z)], axis=-1)


def lab_dissimilarities(pieces):
    """Equation (1) for every piece, direction and other piece: costs[piece, direction, other].

    Channels are normalised over the outermost lines of all pieces: mean 0, deviation 1 (but not below 1 unit).
    """
    lab = srgb_to_lab(pieces / 255.0)
    outer = [lab[:, :, -1], lab[:, -1], lab[:, :, 0], lab[:, 0]]
    pixels = np.concatenate([line.reshape(-1, 3) for line in outer])
    outer = [(line - pixels.mean(axis=0)) / np.maximum(pixels.std(axis=0), 1.0) for line in outer]
    n = len(pieces)
    costs = np.zeros((n, 4, n))
    for piece in range(n):
        for direction in range(4):
            for other in range(n):
                difference = outer[direction][piece] - outer[(direction + 2) % 4][other]
                costs[piece, direction, other] = np.sqrt(np.sum(difference**2))
    return costs


# Gallagher's dummy gradients, in levels: none, all channels up, all down, and each channel up and down.
DUMMIES = np.array([[0, 0, 0], [1, 1, 1], [-1, -1, -1], *np.eye(3), *-np.eye(3)])


def _line(piece, direction, depth):
    """The line of a piece `depth` pixels in from a side, or as far in as there is one: (length, 3)."""
    turned = {RIGHT: piece.swapaxes(0, 1)[::-1], DOWN: piece[::-1], LEFT: piece.swapaxes(0, 1), UP: piece}[direction]
    return turned[min(depth, len(turned) - 1)].astype(np.float64)


def _form(differences, gradients, dummy_weight=1):
    """The sum of squared Mahalanobis lengths, by the covariance of gradients with the dummies among them."""
    inverse = np.linalg.inv(np.cov(np.concatenate([gradients, np.sqrt(dummy_weight) * DUMMIES]).T))
    return sum(difference @ inverse @ difference for difference in differences)


def mgc_cost(piece, other, direction):
    """Gallagher's (2012) for two colour pieces of 0 to 255: the root of both directions' Mahalanobis distances."""
    total = 0.0
    for one, two, towards in ((piece, other, direction), (other, piece, (direction + 2) % 4)):
        gradients = _line(one, towards, 0) - _line(one, towards, 1)
        across = _line(two, (towards + 2) % 4, 0) - _line(one, towards, 0)
        total += _form(across - gradients.mean(axis=0), gradients)
    return np.sqrt(total)


def midline_cost(piece, other, direction, reach, dummy_weight, fair_a_pixel):
    """Both lines continued by their gradients should meet, and not change against each other along the seam.

    Beyond a limit for each pixel, of pieces that are not square for the mean of both sides, the cost counts half.
    """
    ends = []
    for one, towards in ((piece, direction), (other, (direction + 2) % 4)):
        last = _line(one, towards, 0)
        gradients = last - _line(one, towards, 1)
        ends.append((last + reach * gradients, gradients, np.diff(last, axis=0)))
    (line, *_), (other_line, *_) = ends
    across = other_line - line
    total = sum(
        _form(across, gradients, dummy_weight) + _form(np.diff(across, axis=0), along) for _, gradients, along in ends
    )
    cost, fair = total ** (3 / 8), (fair_a_pixel * np.mean(piece.shape[:2])) ** (3 / 8)
    return cost if cost <= fair else fair + (cost - fair) / 2


def ramp(piece):
    """A piece of colours from 0 to 255 in five numbers, by least squares, and the variance of what these leave out.

    Then that of its tints alone, the shares of pixels whose brightness differs from the next across, and down, and the
    brightness of the four lines of pixels beside each side, continued by the slope up to the side.
    """
    height, width = piece.shape[:2]
    y, x = np.mgrid[:height, :width]
    plane = np.stack([np.ones(height * width), x.ravel() / width, y.ravel() / height], axis=1)
    plane[:, 1:] -= plane[:, 1:].mean(axis=0)
    bright = piece @ [0.299, 0.587, 0.114]
    found, left = [], []
    for values in (bright, 0.564 * (piece[..., 2] - bright), 0.713 * (piece[..., 0] - bright)):
        numbers = np.linalg.lstsq(plane, values.ravel(), rcond=None)[0]
        found.append(numbers)
        left.append(np.var(values.ravel() - plane @ numbers))
    busy = [np.abs(np.diff(bright, axis=axis)) > 0.5 for axis in (1, 0)]
    shares = [differ.mean() if differ.size else 0.0 for differ in busy]
    beside = [part.mean() for part in (bright[:, -4:], bright[-4:], bright[:, :4], bright[:4])]
    slopes = found[0][1] * min(4, width) / width / 2, found[0][2] * min(4, height) / height / 2
    ends = beside + np.array([*slopes, -slopes[0], -slopes[1]])
    return [*found[0], found[1][0], found[2][0], sum(left), left[1] + left[2], *shares, *ends]


def block_rests(piece, other, direction, phase, steps):
    """What each whole block along a seam is off multiples of the steps, squared: its pixels joined and transformed.

    `phase` is where the other piece's corner, right of or below the first piece's, lies in a block.
    """
    both = np.concatenate([piece, other], axis=1 - direction).astype(np.float64)
    luma = np.floor(both @ [0.299, 0.587, 0.114] + 0.5) - 128
    if direction == 1:
        luma, steps, phase = luma.T, steps.T, phase[::-1]
    size, along = luma.shape[1] // 2, luma.shape[0]
    frequency, place = np.mgrid[:8, :8]
    cosines = np.where(frequency == 0, 1, np.sqrt(2)) / np.sqrt(8) * np.cos(np.pi * (2 * place + 1) * frequency / 16)
    rests = []
    if phase[1] == 0:  # The seam is the border of two blocks.
        return np.array(rests)
    left = size - phase[1]
    for top in range(-phase[0] % 8, along - 7, 8):
        coefficients = cosines @ luma[top : top + 8, left : left + 8] @ cosines.T
        off = np.where(steps > 0, coefficients - steps * np.rint(coefficients / np.maximum(steps, 1)), 0)
        rests.append((off**2).sum())
    return np.array(rests)


def all_costs(features):
    """Costs of every pair from fixed-point features: costs[piece, direction, other], exactly as integers squared."""
    n = len(features) // 4
    squares = np.zeros((n, 4, n), dtype=object)
    for piece in range(n):
        for direction in range(4):
            for other in range(n):
                a = [int(value) for value in features[4 * piece + direction]]
                b = [int(value) for value in features[4 * other + (direction + 2) % 4]]
                squares[piece, direction, other] = sum((x - y) ** 2 for x, y in zip(a, b, strict=True))
    return squares


def candidates(squares, keep):
    """The best `keep` other sides of every side, ties by number."""
    n = len(squares)
    lists = []
    for piece in range(n):
        for direction in range(4):
            others = [other for other in range(n) if other != piece]
            others.sort(key=lambda other: (squares[piece, direction, other], other))
            lists.append([4 * other + (direction + 2) % 4 for other in others[:keep]])
    return lists


def best_buddies(squares):
    """The piece that is each side's best buddy, or -1; ties by number."""
    n, lists = len(squares), candidates(squares, 1)
    best = [[entry[0] >> 2 if entry else -1 for entry in lists[4 * p : 4 * p + 4]] for p in range(n)]
    return [
        [best[p][d] if best[p][d] >= 0 and best[best[p][d]][(d + 2) % 4] == p else -1 for d in range(4)]
        for p in range(n)
    ]


def is_open(settled, piece, direction, other):
    """Whether two pieces may lie side by side, as far as is settled, by (piece, direction)."""
    return settled.get((piece, direction), other) == other and settled.get((other, direction ^ 2), piece) == piece


def loops(costs, lists, sought, settled):
    """All loops of four different pieces, and what each costs, in float32 and in this order.

    Each seam is between a piece and one of the first candidates of its right or lower side, and contradicts nothing
    that is settled.
    """
    first = [[other // 4 for other in others[:sought]] for others in lists]
    found = {}
    for a in range(len(lists) // 4):
        for b, c in product(first[4 * a + RIGHT], first[4 * a + DOWN]):
            for d in set(first[4 * c + RIGHT]) & set(first[4 * b + DOWN]):
                seams = ((a, RIGHT, b), (a, DOWN, c), (c, RIGHT, d), (b, DOWN, d))
                if len({a, b, c, d}) == 4 and all(is_open(settled, *seam) for seam in seams):
                    top, left = costs[a, RIGHT, b], costs[a, DOWN, c]
                    bottom, right = costs[c, RIGHT, d], costs[b, DOWN, d]
                    found[a, b, c, d] = np.float32(np.float32(np.float32(top + left) + bottom) + right)
    return found


def partners(costs, lists, sought, sure_ratio, settled=()):
    """Who lies at each side of each piece by the sure loops, or -1, and how many of them say so.

    A loop is sure if no loop with the same piece in the same corner costs less than 1 / sure_ratio of it.
    """
    found, ratios, in_corner = loops(costs, lists, sought, dict(settled)), {}, {}
    for loop, cost in found.items():
        for place in enumerate(loop):
            in_corner.setdefault(place, []).append(cost)
    # The two cheapest with a piece in a corner: one of them is a loop itself, or it is not sure.
    cheapest_two = {place: sorted([*those, np.inf])[:2] for place, those in in_corner.items()}
    for loop, cost in found.items():
        rivals = [cheapest_two[place] for place in enumerate(loop)]
        if all(cheapest == cost for cheapest, _ in rivals):
            ratio = max(np.float32(cost / rival) if rival > 0 else 1 for _, rival in rivals)
            if ratio < np.float32(sure_ratio):
                ratios[loop] = ratio
    sides, counts = [[-1] * 4 for _ in costs], [[0] * 4 for _ in costs]
    for loop in sorted(ratios, key=lambda one: (ratios[one], one[0])):
        pairs = [(loop[one], direction, loop[two]) for one, direction, two in SEAMS]
        for one, direction, two in pairs:
            if (sides[one][direction], sides[two][direction + 2]) in ((-1, -1), (two, one)):
                sides[one][direction], sides[two][direction + 2] = two, one
                counts[one][direction] += 1
                counts[two][direction + 2] += 1
    return sides, counts


def judged_in_context(costs, lists, sure, settled, keep, reach):
    """For every side the best `keep` of its candidates and of those that the partners along its seam imply.

    `sure` and `settled` are partners by (piece, direction). A candidate costs what it and the sure partners of both
    cost on average, up to `reach` each way. What is settled is not judged: neither those sides nor what lies there.
    """
    result = []
    for side, others in enumerate(lists):
        piece, direction = divmod(side, 4)
        if (piece, direction) in settled:
            result.append(None)
            continue
        ways = [direction ^ 1, direction ^ 3]
        those = {other // 4 for other in others}
        for along in ways:
            for other in lists[4 * sure[piece, along] + direction] if (piece, along) in sure else ():
                those.add(sure.get((other // 4, along ^ 2), piece))
        means = {}
        for other in those - {piece}:
            if (other, direction ^ 2) in settled:
                continue
            seams = [costs[piece, direction, other]]
            for along in ways:
                one, two = piece, other
                for _ in range(reach):
                    one, two = sure.get((one, along)), sure.get((two, along))
                    if one is None or two is None or one == two:
                        break
                    seams.append(costs[one, direction, two])
            means[4 * other + (direction ^ 2)] = np.float32(sum(map(float, seams)) / len(seams))
        result.append(sorted(((mean, other) for other, mean in means.items()))[:keep])
    return result


def doubts(costs, lists, ratios, vague_ratio, sought, sure_ratio):
    """The partner of each side, or -1, and how doubtful it is, of lists of candidates: costs are the float32 of all.

    First come those in sure loops, the more the surer. Then best buddies neither of which is in a loop, by the share of
    the next best candidate's cost that they cost. Then comes what has no partner, and last what has two candidates
    about equally good, such as buddies that fit exactly, as others do.
    """
    looped, counts = partners(costs, lists, sought, sure_ratio)
    those, levels = [], []
    for side, others in enumerate(lists):
        fits = [[costs[s // 4, s % 4, other // 4] for other in lists[s]] for s in (side, *others[:1])]
        mutual = bool(others) and lists[others[0]][0] == side
        partner, level = -1, NO_PARTNER
        if counts[side // 4][side % 4]:
            partner, level = looped[side // 4][side % 4], LOOPS - counts[side // 4][side % 4]
        elif mutual and not counts[others[0] // 4][others[0] % 4]:
            next_best = min((each[1] for each in fits if len(each) > 1), default=np.float32(np.inf))
            level = VAGUE
            if next_best > 0:
                level = LOOPS + sum(float(fits[0][0] / next_best) >= ratio for ratio in ratios)
            partner = others[0] // 4 if level < NO_PARTNER else -1
        elif not others or (len(others) > 1 and fits[0][1] <= np.float32(vague_ratio) * fits[0][0]):
            level = VAGUE
        those.append(partner)
        levels.append(level)
    return those, levels


def doubted_sides(grid, costs, partners, doubt):
    """The sides that face a piece dearer than the partner in two loops, or than any other where there is none."""
    doubted = set()
    for piece in range(grid.size):
        for direction in range(4):
            faced = neighbour(grid, piece, direction)
            settled = doubt[4 * piece + direction] == 0
            others = [partners[piece][direction]] if settled else [one for one in range(grid.size) if one != piece]
            if faced is not None and costs[piece, direction, faced] > min(costs[piece, direction, others]):
                doubted.add(4 * piece + direction)
    return doubted


def cost_of_pairs(grid, costs):
    """What all pairs side by side cost, where both cells hold a piece."""
    right, down = ((grid[:, :-1], grid[:, 1:]), (grid[:-1], grid[1:]))
    return sum(
        float(costs[one, direction, other])
        for direction, (ones, others) in enumerate((right, down))
        for one, other in zip(ones.ravel(), others.ravel(), strict=True)
        if one >= 0 and other >= 0
    )


def neighbour(grid, piece, direction):
    """The piece beside `piece` in an arrangement, or None."""
    (row,), (column,) = np.nonzero(grid == piece)
    row, column = row + STEPS[direction][0], column + STEPS[direction][1]
    inside = 0 <= row < grid.shape[0] and 0 <= column < grid.shape[1]
    return int(grid[row, column]) if inside else None


def grid_cost(squares, grid, scale):
    """Equation (2): the sum of costs over all pairs to the right and down."""
    total = 0.0
    for piece in grid.ravel():
        for direction in (RIGHT, DOWN):
            other = neighbour(grid, piece, direction)
            if other is not None:
                total += float(squares[piece, direction, other]) ** 0.5 / scale
    return total


def merged(squares, grid, other):
    """Of every region where two arrangements differ the cheaper version; no matter what, the first's where equal.

    A region grows from a cell: by cells beside it that differ too, and by where its pieces lie in the other.
    """
    result = grid.copy()
    left = {tuple(cell) for cell in np.argwhere(grid != other).tolist()}
    while left:
        region, new = set(), {min(left)}
        while new:
            region |= new
            pieces = {int(one[cell]) for cell in new for one in (grid, other)}
            beside = {(row + down, column + right) for row, column in new for down, right in STEPS.values()}
            moved = {cell for cell in left if int(grid[cell]) in pieces or int(other[cell]) in pieces}
            new = ((beside & left) | moved) - region
        changed = result.copy()
        for cell in region:
            changed[cell] = other[cell]
        if grid_cost(squares, changed, 1.0) < grid_cost(squares, result, 1.0) - 1e-6:
            result = changed
        left -= region
    return result


def fittest_for_cell(neighbours, free, costs, lists, looked_at):
    """The free piece that fits a cell's neighbours best, of the first free candidates of each; or None.

    `neighbours` says which piece lies beside the cell in a direction, seen from the cell.
    """
    judged = []
    for direction, neighbour_piece in neighbours.items():
        towards_cell = (direction + 2) % 4
        found = [side // 4 for side in lists[4 * neighbour_piece + towards_cell] if side // 4 in free]
        judged += found[:looked_at]
    return min(
        judged,
        key=lambda piece: sum(costs[piece, towards, other] for towards, other in neighbours.items()),
        default=None,
    )


def cheapest_free(squares, piece, direction, free):
    """The one of some pieces that fits a side best, ties by number."""
    return min(free, key=lambda other: (squares[piece, direction, other], other))


def fittest_of(neighbours, free, costs):
    """The one of some pieces that fits a cell's neighbours best."""
    return min(free, key=lambda piece: sum(costs[piece, towards, other] for towards, other in neighbours.items()))


def crossover(
    first,
    second,
    squares,
    buddies,
    rng: random.Random,
    mutant_from=None,
    mutation_rate=0.0,
    for_cell=None,
    partners=None,
    doubt=None,
):
    """Algorithm 2 as the paper tells it: look at every boundary again before every placement.

    With `for_cell`, a function of a cell's neighbours and the free pieces, that chooses the greedy ones; where it finds
    none, any is taken. But first come free partners, by the level of their side in `doubt` if that is below
    NO_PARTNER, and last the sides in the highest of all levels. Returns the child and the placements in each phase.
    """
    rows, columns = first.shape
    n = rows * columns
    kernel = {(0, 0): rng.randrange(n)}
    phases = [0, 0, 0]
    while len(kernel) < n:
        boundaries = _boundaries(kernel, rows, columns)
        free = [piece for piece in range(n) if piece not in kernel.values()]
        levels = doubt if for_cell else [None] * (4 * n)
        agreed, buddied, hoped, vague = _options(boundaries, free, (first, second), buddies, partners, levels)
        if agreed:
            phase, (cell, chosen) = 0, rng.choice(agreed)
        elif buddied:
            phase, (cell, chosen) = 1, rng.choice(buddied)
        elif hoped:
            least = min(level for level, *_ in hoped)
            phase, (_, cell, chosen) = 2, rng.choice([entry for entry in hoped if entry[0] == least])
        else:
            surer = [entry for entry in boundaries if entry not in vague]
            phase, (cell, piece, direction) = 2, rng.choice(surer or vague)
            chosen = cheapest_free(squares, piece, direction, free)
            chosen = _chosen_for_cell(kernel, cell, free, for_cell, rng) if for_cell else chosen
        if phase != 1:
            once = mutant_from is not None and len(kernel) >= mutant_from
            if once or rng.random() < mutation_rate:
                chosen, mutant_from = rng.choice(free), None
        kernel[cell] = chosen
        phases[phase] += 1
    top, left = min(row for row, _ in kernel), min(column for _, column in kernel)
    child = np.empty((rows, columns), dtype=np.int32)
    for (row, column), piece in kernel.items():
        child[row - top, column - left] = piece
    return child, phases


def _options(boundaries, free, parents, buddies, partners, levels):
    """What is agreed, buddied and hoped for, as (level, cell, piece) or (cell, piece), and which sides are vague.

    A level is None where nothing is to be hoped for.
    """
    agreed, buddied, hoped, vague = [], [], [], []
    for cell, piece, direction in boundaries:
        one, other = (neighbour(parent, piece, direction) for parent in parents)
        buddy, level = buddies[piece][direction], levels[4 * piece + direction]
        if one is not None and one == other:
            agreed.append((cell, one))
        elif buddy in (one, other):
            buddied.append((cell, buddy))
        elif level == VAGUE:
            vague.append((cell, piece, direction))
        elif level is not None and level < NO_PARTNER:
            hoped.append((level, cell, partners[piece][direction]))
    return *([entry for entry in entries if entry[-1] in free] for entries in (agreed, buddied, hoped)), vague


def _chosen_for_cell(kernel, cell, free, for_cell, rng):
    """What `for_cell` chooses for the neighbours that a cell has."""
    row, column = cell
    beside = {d: kernel.get((row + down, column + right)) for d, (down, right) in STEPS.items()}
    return for_cell({d: other for d, other in beside.items() if other is not None}, free, rng)


def _boundaries(kernel, rows, columns):
    """Every (cell, piece, direction) where a piece can be joined without bursting the frame."""
    found = []
    for (row, column), piece in kernel.items():
        for direction, (down, right) in STEPS.items():
            cell = (row + down, column + right)
            cells = [*kernel, cell]
            height = max(r for r, _ in cells) - min(r for r, _ in cells) + 1
            width = max(c for _, c in cells) - min(c for _, c in cells) + 1
            if cell not in kernel and height <= rows and width <= columns:
                found.append((cell, piece, direction))
    return found


def png_rows(lines, step):
    """Rows of bytes of a PNG file, from the filtered lines, by the words of the standard."""
    rows = np.zeros((len(lines), lines.shape[1] - 1), np.uint8)
    for y, line in enumerate(lines):
        for x, rest in enumerate(line[1:]):
            left = int(rows[y, x - step]) if x >= step else 0
            above = int(rows[y - 1, x]) if y else 0
            corner = int(rows[y - 1, x - step]) if y and x >= step else 0
            guess = left + above - corner
            nearest = min((left, above, corner), key=lambda value: abs(guess - value))  # The first of equals.
            rows[y, x] = (int(rest) + [0, left, above, (left + above) // 2, nearest][line[0]]) % 256
    return rows


def told(region, cells, free, weights, bounds):
    """All messages when some cells have told their neighbours what to expect, and how popular each unit is in them."""
    messages = region.messages.astype(np.float64)
    popularity = np.zeros(len(weights))
    for cell in cells:
        belief = weights * region.messages[:, cell].astype(np.float64).prod(axis=0)
        popularity += belief / belief.sum()
        for direction, neighbour in enumerate(region.neighbours[cell]):
            if neighbour < 0 or not free[neighbour]:
                continue
            chances = belief / region.messages[direction, cell]
            chances /= chances.sum()
            chances[chances <= bounds.NOTABLE] = 0
            if (chances > 0).sum() > bounds.MOST_NOTABLE:
                continue
            said = chances @ region.likelihoods[direction] + 1 - chances.sum()
            old = messages[direction ^ 2, neighbour]
            messages[direction ^ 2, neighbour] = bounds.INERTIA * old + bounds.FRESH * np.maximum(said, bounds.LEAST)
    return messages, popularity


def unlikeness(one, two, square, broken, broken_colour, changed):
    """How unlikely two flat pieces are, the second right of or below the first, by their sheets along that axis."""
    brighter = two[0] - one[0]
    differences = [brighter, brighter - (one[1] + two[1]) / 2, *(two - one)[[2, 3, 4]]]
    units = one[8:13] * two[8:13]
    off = np.sqrt(1 + np.minimum(np.square(differences) * units, 100)) - 1
    total = 0.18 * np.sqrt(square) + [0.48, 0.5, 0.47, 0.25, 0.25] @ off
    total += 4 * (broken > 0.15) + 3 * (broken_colour > 0.15) + 4 * min(broken, 3) + 4 * min(broken_colour, 3)
    total += (4 if changed > 0 else 1) * changed
    total += 3 * (two[6] - one[7]) ** 2 / ((two[6] - one[7]) ** 2 + 0.81)
    return 10 + min(total, 30)


def changed_colours(one, two):
    """How many of two colours, (2, length) each, differ anywhere."""
    return sum(any(a != b for a, b in zip(mine, other, strict=True)) for mine, other in zip(one, two, strict=True))


def patterns(levels, phase):
    """Yield which part a piece has of each block, and its pattern: (rows, columns, lines down, lines across, range)."""
    height, width = levels.shape

    def along(lines):
        return 0 if not lines else lines[0] if len(lines) == 1 else 8 if len(lines) == 2 else 9

    def part(begin, length):
        return begin if begin > 0 else 7 + length

    for top in range(-phase[0], height, 8):
        for left in range(-phase[1], width, 8):
            cells = {
                (y, x): levels[top + y, left + x]
                for y in range(8)
                for x in range(8)
                if 0 <= top + y < height and 0 <= left + x < width
            }
            rows, columns = sorted({y for y, _ in cells}), sorted({x for _, x in cells})
            down = [y for y in rows[1:] if any(cells[y, x] != cells[y - 1, x] for x in columns)]
            across = [x for x in columns[1:] if any(cells[y, x] != cells[y, x - 1] for y in rows)]
            apart = max(cells.values()) - min(cells.values())
            yield (
                part(rows[0], len(rows)),
                part(columns[0], len(columns)),
                along(down),
                along(across),
                min(max(apart - 1, 0), 2),
            )
