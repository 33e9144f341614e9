"""jigsolve puts the shuffled pieces of a picture back together.

>>> import jigsolve
>>> photo = jigsolve.sample_picture()
>>> puzzle, truth = jigsolve.Puzzle.from_image(photo, piece_size=64, crop=True).shuffled(seed=7)
>>> result = jigsolve.solve(puzzle, generations=10)
>>> jigsolve.score(result.arrangement, truth).perfect
True
"""

from ._version import __version__
from .animate import Film
from .arrangement import Arrangement
from .checkpoint import Checkpoint, Checkpoints, read_checkpoint
from .detect import detect_piece_size
from .errors import ImageError, InputError, JigsolveError, OutputError
from .history import Generation
from .images import Picture, read_picture, write_picture
from .metrics import Score, direct_accuracy, largest_component, neighbour_accuracy, score, score_identical
from .parameters import PRESETS, Parameters
from .plots import cost_plot
from .puzzle import Puzzle
from .records import read_record, truth_to_json
from .result import Result
from .samples import sample_picture
from .solve import Callback, Preparing, Progress, arrangement_cost, resume, solve, warm_up
from .stop import AllOf, AnyOf, MaxGenerations, MaxSeconds, NoImprovement, StoppingRule

__all__ = [
    "PRESETS",
    "AllOf",
    "AnyOf",
    "Arrangement",
    "Callback",
    "Checkpoint",
    "Checkpoints",
    "Film",
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
    "Preparing",
    "Progress",
    "Puzzle",
    "Result",
    "Score",
    "StoppingRule",
    "__version__",
    "arrangement_cost",
    "cost_plot",
    "detect_piece_size",
    "direct_accuracy",
    "largest_component",
    "neighbour_accuracy",
    "read_checkpoint",
    "read_picture",
    "read_record",
    "resume",
    "sample_picture",
    "score",
    "score_identical",
    "solve",
    "truth_to_json",
    "warm_up",
    "write_picture",
]
