"""jigsolve puts the shuffled pieces of a picture back together.

>>> import jigsolve
>>> puzzle, truth = jigsolve.sample_puzzle(piece_size=64, seed=7)
>>> result = jigsolve.solve(puzzle, generations=5)
>>> jigsolve.score(result.arrangement, truth).neighbour > 0.5
True
"""

from ._version import __version__
from .arrangement import Arrangement
from .errors import ImageError, InputError, JigsolveError, OutputError
from .history import Generation
from .images import Picture, read_picture, write_picture
from .metrics import Score, direct_accuracy, neighbour_accuracy, score
from .parameters import PRESETS, Parameters
from .puzzle import Puzzle
from .result import Result
from .solve import Progress, solve
from .stop import AllOf, AnyOf, MaxGenerations, MaxSeconds, NoImprovement, StoppingRule

__all__ = [
    "PRESETS",
    "AllOf",
    "AnyOf",
    "Arrangement",
    "Generation",
    "ImageError",
    "InputError",
    "JigsolveError",
    "MaxGenerations",
    "MaxSeconds",
    "NoImprovement",
    "OutputError",
    "Parameters",
    "Picture",
    "Progress",
    "Puzzle",
    "Result",
    "Score",
    "StoppingRule",
    "__version__",
    "direct_accuracy",
    "neighbour_accuracy",
    "read_picture",
    "score",
    "solve",
    "write_picture",
]
