"""Figures that others published, in percent; each names its source.

Known orientation and frame, pieces of 28 pixels. "Average" is the mean over runs, as a user would get it; "best" was
picked among runs with the truth in hand.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class PaperRow:
    """A row of the paper's accuracy tables: set averages of the best, worst and average of an image's runs."""

    best: float | None
    worst: float | None
    average: float
    deviation: float | None


# Sholomon, David, Netanyahu, CVPR 2013, tables 1 and 4: neighbour comparison.
PAPER_NEIGHBOUR = {
    "432": PaperRow(96.16, 95.21, 95.70, 0.34),
    "540": PaperRow(95.96, 94.65, 95.38, 0.40),
    "805": PaperRow(96.26, 95.35, 95.85, 0.31),
    "2360": PaperRow(88.86, 87.52, 88.00, 0.38),
    "3300": PaperRow(92.76, 91.91, 92.37, 0.27),
    "5015": PaperRow(95.25, 94.87, 95.06, 0.11),
    "10375": PaperRow(98.47, 98.20, 98.36, 0.08),
    "22755": PaperRow(96.28, 96.17, 96.22, 0.05),
}

# The same, table 5: direct comparison.
PAPER_DIRECT = {
    "432": PaperRow(86.19, 80.56, 82.94, 2.62),
    "540": PaperRow(92.75, 90.57, 91.65, 0.65),
    "805": PaperRow(94.67, 92.79, 93.63, 0.62),
    "2360": PaperRow(85.73, 82.73, 84.62, 0.86),
    "3300": PaperRow(89.92, 65.42, 86.62, 7.19),
    "5015": PaperRow(94.78, 90.76, 92.04, 1.74),
    "10375": PaperRow(97.69, 96.08, 97.12, 0.45),
    "22755": PaperRow(92.02, 91.46, 91.74, 0.28),
}

# The same, table 3: mean of the best runs on the three least accurately solved images of each set.
PAPER_LEAST_ACCURATE = {"432": 81.06, "540": 79.32, "805": 86.30, "2360": 88.86, "3300": 92.76}

# The same, table 6: average run time in seconds, "a modern PC" of 2013.
PAPER_SECONDS = {
    "432": 48.73,
    "540": 64.06,
    "805": 116.18,
    "2360": 17.60 * 60,
    "3300": 30.24 * 60,
    "5015": 61.06 * 60,
    "10375": 3.21 * 3600,
    "22755": 13.19 * 3600,
}

# The best neighbour accuracy that anybody published for one run without the truth in hand, and who did.
BEST_PUBLISHED = {
    "432": (95.70, "the paper"),
    "540": (97.30, "Yu et al. 2015"),
    "805": (96.58, "Yu et al. 2015"),
    "2360": (97.64, "Yu et al. 2015"),
    "3300": (97.50, "Yu et al. 2015"),
    "5015": (95.06, "the paper"),
    "10375": (98.36, "the paper"),
    "22755": (96.22, "the paper"),
}
