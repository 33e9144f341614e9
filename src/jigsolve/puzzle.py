"""Puzzle: the pieces of a picture and the frame they belong in."""

import hashlib
import operator
import re
from dataclasses import InitVar, dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from .arrangement import Arrangement
from .checks import whole_number
from .detect import detect_piece_size
from .errors import InputError
from .files import is_folder, new_folder
from .images import READABLE_SUFFIXES, Picture, Pixels, as_pixels, read_picture, write_picture

PieceSize = int | tuple[int, int]
"""Width and height of a piece in pixels, or one number for a square piece."""


def as_width_and_height(piece_size: PieceSize) -> tuple[int, int]:
    """Return the (width, height) that a piece size means, or say why it means none."""
    both = piece_size if isinstance(piece_size, tuple) else (piece_size, piece_size)
    width, height = map(operator.index, both)
    if width < 1 or height < 1:
        raise InputError(f"a piece of {width}x{height} pixels is too small; each side needs at least 1 pixel")
    return width, height


@dataclass(frozen=True, eq=False)
class Puzzle:
    """The pieces of a picture and the frame they belong in; it never changes.

    Parameters
    ----------
    pieces
        Pixels of shape (pieces, height, width, channels), 8 or 16 bits: piece 0 first.
    rows, columns
        The frame. It holds every piece: rows x columns is the number of pieces.
    icc_profile
        The colour profile of the picture, passed on to what is written.
    tiles
        Where the pieces are files: the name of each.
    """

    pieces: Pixels
    rows: int
    columns: int
    icc_profile: bytes | None = None
    tiles: tuple[str, ...] = ()
    _copy: InitVar[bool] = True

    def __post_init__(self, _copy: bool) -> None:
        # A copy, so that nobody else can change it; only what was made here for this is taken as it is.
        pieces = np.array(self.pieces, order="C") if _copy else self.pieces
        if pieces.ndim != 4 or 0 in pieces.shape:
            raise InputError(f"pieces have shape (pieces, height, width, channels), not {pieces.shape}")
        as_pixels(pieces[0])
        if self.rows < 1 or self.columns < 1 or self.rows * self.columns != len(pieces):
            raise InputError(f"a frame of {self.rows} x {self.columns} does not hold {len(pieces)} pieces")
        pieces.flags.writeable = False
        object.__setattr__(self, "pieces", pieces)

    def __len__(self) -> int:
        return len(self.pieces)

    def __repr__(self) -> str:
        size = f"{self.piece_width}x{self.piece_height}"
        return f"Puzzle({len(self)} pieces of {size} pixels, {self.rows} rows x {self.columns} columns)"

    @property
    def piece_width(self) -> int:
        """Width of every piece in pixels."""
        return int(self.pieces.shape[2])

    @property
    def piece_height(self) -> int:
        """Height of every piece in pixels."""
        return int(self.pieces.shape[1])

    @cached_property
    def digest(self) -> str:
        """A fingerprint of the pieces in their order, by which a truth and a result know that they belong together."""
        header = f"{self.pieces.shape} {self.pieces.dtype.name} {self.rows} {self.columns}"
        digest = hashlib.sha256(header.encode())
        digest.update(self.pieces.data)
        return digest.hexdigest()[:32]

    @property
    def kinds(self) -> NDArray[np.int64]:
        """A number for every piece, the same for pieces with the same pixels."""
        numbers: dict[bytes, int] = {}
        # Digests stand for the pixels, which would be kept a second time as keys.
        digests = (hashlib.sha256(piece.data).digest() for piece in self.pieces)
        return np.array([numbers.setdefault(digest, len(numbers)) for digest in digests])

    @classmethod
    def from_image(
        cls,
        image: str | Path | Picture,
        piece_size: PieceSize | None = None,
        *,
        crop: bool = False,
        max_megapixels: float | None = None,
    ) -> Self:
        """Cut a picture or a picture file; pieces are numbered row by row. See `from_array`.

        Without a piece size, the picture must be a shuffled one, and its size is told from its seams. A file of more
        than `max_megapixels` is refused; see `read_picture`.
        """
        picture = image if isinstance(image, Picture) else read_picture(image, max_megapixels=max_megapixels)
        if piece_size is None:
            piece_size = detect_piece_size(picture)
        return cls.from_array(picture.pixels, piece_size, crop=crop, icc_profile=picture.icc_profile)

    @classmethod
    def from_array(
        cls,
        pixels: NDArray[np.generic],
        piece_size: PieceSize,
        *,
        crop: bool = False,
        icc_profile: bytes | None = None,
    ) -> Self:
        """Cut an array of pixels into pieces, numbered row by row.

        Parameters
        ----------
        pixels
            Shape (height, width) or (height, width, channels), uint8 or uint16.
        piece_size
            Pixels of a piece: one number, or (width, height).
        crop
            What to do when the piece size does not divide the picture: cut off what is left over at the right
            and at the bottom, or (the default) refuse.

        Raises
        ------
        InputError
            If the piece size is impossible, or does not divide the picture and `crop` is false.
        """
        pixels = as_pixels(pixels)
        width, height = as_width_and_height(piece_size)
        rows, columns = pixels.shape[0] // height, pixels.shape[1] // width
        if rows == 0 or columns == 0:
            raise InputError(
                f"a piece of {width}x{height} pixels is larger than the picture of "
                f"{pixels.shape[1]}x{pixels.shape[0]}; choose a smaller piece size"
            )
        if not crop and (rows * height, columns * width) != pixels.shape[:2]:
            raise InputError(_does_not_divide(pixels.shape[1], pixels.shape[0], width, height))
        shape = (columns, height, width, pixels.shape[2])
        pieces = np.empty((rows, *shape), dtype=pixels.dtype)
        for row, its_pieces in enumerate(pieces):  # One by one, so that no crop and no turn needs a copy of the whole.
            strip = pixels[row * height : (row + 1) * height, : columns * width]
            its_pieces[:] = strip.reshape(height, columns, width, -1).swapaxes(0, 1)
        return cls(pieces.reshape(rows * columns, *shape[1:]), rows, columns, icc_profile, _copy=False)

    @classmethod
    def from_tiles(cls, folder: str | Path, *, columns: int | None = None, max_megapixels: float | None = None) -> Self:
        """Read a folder of tile images, one a piece, numbered in the order of their names (2 before 10).

        Parameters
        ----------
        columns
            How many pieces stand side by side in the frame. Tiles alone cannot tell it.
        max_megapixels
            A larger tile is refused; see `read_picture`.

        Raises
        ------
        InputError
            If there are no tiles, they differ in size or kind, or the columns do not divide their number.
        """
        paths = _tile_paths(Path(folder))
        first = read_picture(paths[0], max_megapixels=max_megapixels)
        pieces: Pixels = np.empty((len(paths), *first.pixels.shape), dtype=first.pixels.dtype)
        for path, piece in zip(paths, pieces, strict=True):
            tile = read_picture(path, max_megapixels=max_megapixels).pixels
            if tile.shape != piece.shape or tile.dtype != piece.dtype:
                raise InputError(
                    f"all tiles must be alike: {path.name} is {_describe(tile)}, {paths[0].name} is {_describe(piece)}"
                )
            piece[:] = tile
        columns = _frame_columns(len(paths), columns)
        names = tuple(path.name for path in paths)
        return cls(pieces, len(paths) // columns, columns, first.icc_profile, names, _copy=False)

    def to_tiles(self, folder: str | Path) -> None:
        """Write the pieces into a new folder, one PNG a piece, named by their numbers; `from_tiles` reads them back."""
        digits = len(str(len(self) - 1))
        with new_folder(Path(folder)) as made:
            for number, piece in enumerate(self.pieces):
                write_picture(made / f"{number:0{digits}}.png", Picture(piece, self.icc_profile))

    def shuffled(self, seed: int = 1) -> tuple[Self, Arrangement]:
        """Return this puzzle with its pieces renumbered at random, and the arrangement that puts them back."""
        order = np.random.default_rng(whole_number("seed", seed, 0)).permutation(len(self))
        tiles = tuple(self.tiles[number] for number in order) if self.tiles else ()
        shuffled = type(self)(self.pieces[order], self.rows, self.columns, self.icc_profile, tiles, _copy=False)
        return shuffled, Arrangement(np.argsort(order).reshape(self.rows, self.columns))

    def as_given(self) -> Arrangement:
        """Return the arrangement in which the pieces lie in the order of their numbers."""
        return Arrangement(np.arange(len(self)).reshape(self.rows, self.columns))

    def check_fits(self, arrangement: Arrangement) -> None:
        """Refuse an arrangement of another frame."""
        if (arrangement.rows, arrangement.columns) != (self.rows, self.columns):
            raise InputError(
                f"an arrangement of {arrangement.rows} x {arrangement.columns} does not fit "
                f"a puzzle of {self.rows} x {self.columns}"
            )

    def assemble(self, arrangement: Arrangement) -> Picture:
        """Return the picture that an arrangement of these pieces makes."""
        self.check_fits(arrangement)
        shape = (self.piece_height, self.columns, self.piece_width, self.pieces.shape[3])
        pixels = np.empty((self.rows, *shape), dtype=self.pieces.dtype)
        for strip, numbers in zip(pixels, arrangement.grid, strict=True):
            strip[:] = self.pieces[numbers].swapaxes(0, 1)
        height, width = self.rows * self.piece_height, self.columns * self.piece_width
        return Picture(pixels.reshape(height, width, -1), self.icc_profile)


def _tile_paths(folder: Path) -> list[Path]:
    if not is_folder(folder):
        raise InputError(f"there is no folder {folder}")
    try:
        files = list(folder.iterdir())
    except OSError as error:
        raise InputError(f"cannot read the folder {folder}: {error.strerror or error}") from error
    paths = [path for path in files if path.suffix.lower() in READABLE_SUFFIXES and path.name[0] != "."]
    if not paths:
        raise InputError(f"the folder {folder} holds no pictures")
    return sorted(paths, key=_natural)


def _natural(path: Path) -> tuple[list[int | str], str]:
    """Return what sorts names as people do; 1 and 01 are the same number, so the name itself decides last."""
    parts = re.split(r"(\d+)", path.name)  # Text, number, text, ...
    return [int(part) if part.isdecimal() else part for part in parts], path.name


def _describe(pixels: Pixels) -> str:
    height, width, channels = pixels.shape
    return f"{width}x{height} pixels with {channels} channel{'s' * (channels > 1)} of {8 * pixels.itemsize} bits"


def _frame_columns(tiles: int, columns: int | None) -> int:
    choices = ", ".join(str(count) for count in _divisors(tiles))
    if columns is None:
        if tiles == 1:
            return 1
        raise InputError(f"{tiles} tiles do not tell their frame; pass --columns (columns=), one of {choices}")
    if columns < 1 or tiles % columns:
        extra = tiles % columns if columns > 0 else 0
        hint = f": {columns - extra} missing or {extra} too many" if extra else ""
        raise InputError(f"{tiles} tiles do not fill {columns} columns{hint}; {choices} would do")
    return columns


def _does_not_divide(width: int, height: int, piece_width: int, piece_height: int) -> str:
    parts = [
        f"pieces of {piece} pixels do not divide the {name} of {extent} "
        f"(near sizes that do: {_near_divisors(extent, piece)})"
        for name, extent, piece in (("width", width, piece_width), ("height", height, piece_height))
        if extent % piece
    ]
    square = [size for size in _divisors(int(np.gcd(width, height))) if size > 1]
    hint = f"; square sizes that divide both: {', '.join(map(str, square))}" if square else ""
    return " and ".join(parts) + hint


def _near_divisors(extent: int, wanted: int) -> str:
    nearest = sorted(_divisors(extent), key=lambda size: abs(size - wanted))[:4]
    return ", ".join(map(str, sorted(nearest)))


def _divisors(number: int) -> list[int]:
    return [size for size in range(1, number + 1) if number % size == 0]
