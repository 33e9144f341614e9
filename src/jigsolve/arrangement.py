"""Arrangement: which piece lies in which cell of the frame."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from .errors import InputError

if TYPE_CHECKING:
    from .images import Picture
    from .puzzle import Puzzle


@dataclass(frozen=True, eq=False)
class Arrangement:
    """Which piece lies in which cell of the frame: every piece exactly once; it never changes.

    Parameters
    ----------
    grid
        Piece numbers of shape (rows, columns).
    """

    grid: NDArray[np.integer[Any]]

    def __post_init__(self) -> None:
        grid = np.array(self.grid)
        if grid.ndim != 2 or grid.size == 0 or grid.dtype.kind not in "iu":
            raise InputError(f"an arrangement is a rows x columns grid of whole numbers, not {grid.dtype} {grid.shape}")
        if not np.array_equal(np.sort(grid, axis=None), np.arange(grid.size)):
            raise InputError(
                f"an arrangement of {grid.size} cells must hold each of the pieces 0 to {grid.size - 1} once"
            )
        grid = grid.astype(np.int32)
        grid.flags.writeable = False
        object.__setattr__(self, "grid", grid)

    def __repr__(self) -> str:
        return f"Arrangement({self.rows} x {self.columns})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Arrangement) and np.array_equal(self.grid, other.grid)

    def __hash__(self) -> int:
        return hash((self.grid.shape, self.grid.tobytes()))

    @property
    def rows(self) -> int:
        """Rows of the frame."""
        return int(self.grid.shape[0])

    @property
    def columns(self) -> int:
        """Columns of the frame."""
        return int(self.grid.shape[1])

    def to_image(self, puzzle: "Puzzle") -> "Picture":
        """Return the picture that the puzzle's pieces make, arranged like this."""
        return puzzle.assemble(self)

    def to_dict(self) -> dict[str, Any]:
        """Return rows, columns and the grid as plain lists, ready for JSON."""
        return {"rows": self.rows, "columns": self.columns, "pieces": self.grid.tolist()}

    def to_json(self) -> str:
        """Return the arrangement as JSON text."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Build an arrangement from what `to_dict` gave, checking it."""
        try:
            grid, shape = np.array(data["pieces"]), (data["rows"], data["columns"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"not an arrangement: {type(error).__name__}: {error}") from error
        if grid.shape != shape:
            raise InputError(f"a grid of shape {grid.shape} is not {shape[0]} rows x {shape[1]} columns")
        return cls(grid)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Build an arrangement from what `to_json` gave, checking it."""
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"not JSON: {error}") from error
        return cls.from_dict(data)
