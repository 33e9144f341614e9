"""Result: what a solve found, how, and how long it took."""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .arrangement import Arrangement
from .checks import count
from .history import EVOLVE, Generation
from .images import Picture
from .parameters import Parameters
from .puzzle import Puzzle

RESULT_FORMAT = "jigsolve-result"
LARGEST_SHOWN = 2000


@dataclass(frozen=True, eq=False)
class Result:
    """What a solve found, how, and how long it took. In a notebook it shows itself as the picture."""

    puzzle: Puzzle
    arrangement: Arrangement
    """The cheapest arrangement found."""
    cost: float
    """Its cost: the paper's "fitness"."""
    certain_share: float
    """The share of its adjacent pairs that are best buddies, in context for preset `best`: below one half, expect
    mistakes."""
    history: tuple[Generation, ...]
    seconds: Mapping[str, float]
    """Wall-clock seconds by stage ("costs", "candidates", "evolve", "refine") and "total"."""
    seed: int
    preset: str
    parameters: Parameters
    stopped: str
    """Why the run ended."""
    version: str
    """The version of jigsolve that made it."""

    def __repr__(self) -> str:
        return f"Result({self.puzzle!r}, cost {self.cost:.2f}, {self.stopped})"

    @property
    def generations(self) -> int:
        """How many generations were made after the random one, the refinement not counted."""
        return max(generation.number for generation in self.history if generation.stage == EVOLVE)

    def to_image(self) -> Picture:
        """Return the solved picture."""
        return self.arrangement.to_image(self.puzzle)

    def summary(self) -> str:
        """Return a few lines for people."""
        stages = ", ".join(f"{name} {value:.2f} s" for name, value in self.seconds.items() if name != "total")
        return (
            f"{count(len(self.puzzle), 'piece')}, {count(self.puzzle.rows, 'row')} x "
            f"{count(self.puzzle.columns, 'column')}, preset {self.preset}, seed {self.seed}\n"
            f"cost {self.cost:.2f} after {count(self.generations, 'generation')} ({self.stopped})\n"
            f"{self.seconds['total']:.2f} s ({stages})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the pixels and the history, ready for JSON."""
        return {
            "format": RESULT_FORMAT,
            "version": self.version,
            "puzzle": self.puzzle.digest,
            "piece_width": self.puzzle.piece_width,
            "piece_height": self.puzzle.piece_height,
            "arrangement": self.arrangement.to_dict(),
            **({"tiles": list(self.puzzle.tiles)} if self.puzzle.tiles else {}),
            "cost": self.cost,
            "generations": self.generations,
            "stopped": self.stopped,
            "seed": self.seed,
            "preset": self.preset,
            "parameters": self.parameters.to_dict(),
            "seconds": {name: round(value, 4) for name, value in self.seconds.items()},
        }

    def to_json(self) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=1)

    def _repr_png_(self) -> bytes:
        """Show the picture in a notebook, shrunk where it is larger than a screen."""
        image = self.to_image().to_pillow()
        image.thumbnail((LARGEST_SHOWN, LARGEST_SHOWN))
        buffer = io.BytesIO()
        image.save(buffer, "PNG")
        return buffer.getvalue()
