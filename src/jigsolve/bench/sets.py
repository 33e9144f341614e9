"""The literature's image sets, and folders of photographs that are sets of their own."""

from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import ImageError, InputError
from ..images import READABLE_SUFFIXES, Picture, read_picture

PIECE_SIZE = 28
BGU_PAGE = 'Ben-Gurion University, iCVL, page "Square Jigsaw Puzzle Solving"'
BAR_ILAN_PAGE = "Bar-Ilan University, page of N. Netanyahu, folder Jigsaw"


@dataclass(frozen=True)
class ImageSet:
    """A set of the literature: photographs of one size, cut at 28 pixels."""

    name: str
    folder: str
    images: int
    rows: int
    columns: int
    depth: int
    """Bits a channel."""
    first_used_by: str
    source: str

    @property
    def pieces(self) -> int:
        """Pieces of one image."""
        return self.rows * self.columns


KNOWN_SETS = {
    known.name: known
    for known in (
        ImageSet("432", "cho_432", 20, 18, 24, 16, "Cho, Avidan, Freeman, CVPR 2010", BGU_PAGE),
        ImageSet("540", "mcgill_540", 20, 20, 27, 8, "Pomeranz, Shemesh, Ben-Shahar, CVPR 2011", BGU_PAGE),
        ImageSet("805", "bgu_805", 20, 23, 35, 8, "Pomeranz, Shemesh, Ben-Shahar, CVPR 2011", BGU_PAGE),
        ImageSet("2360", "bgu_2360", 3, 40, 59, 8, "Pomeranz, Shemesh, Ben-Shahar, CVPR 2011", BGU_PAGE),
        ImageSet("3300", "bgu_3300", 3, 50, 66, 8, "Pomeranz, Shemesh, Ben-Shahar, CVPR 2011", BGU_PAGE),
        ImageSet("5015", "sholomon_5015", 20, 59, 85, 8, "Sholomon, David, Netanyahu, CVPR 2013", BAR_ILAN_PAGE),
        ImageSet("10375", "sholomon_10375", 20, 83, 125, 8, "Sholomon, David, Netanyahu, CVPR 2013", BAR_ILAN_PAGE),
        ImageSet("22755", "sholomon_22755", 20, 123, 185, 8, "Sholomon, David, Netanyahu, CVPR 2013", BAR_ILAN_PAGE),
    )
}


@dataclass(frozen=True)
class ImageFolder:
    """A folder of photographs to run on: a known set, or any other."""

    name: str
    path: Path
    images: tuple[Path, ...]

    def first(self, count: int | None) -> "ImageFolder":
        """Return the folder with only its first so many images."""
        return replace(self, images=self.images[:count])


def find_folders(root: Path, names: list[str] | None = None) -> list[ImageFolder]:
    """Return the sets in a folder that holds one folder a set, smallest first; `names` picks some of them.

    A folder of the literature goes by its number of pieces ("432"), any other by its own name.

    Raises
    ------
    InputError
        If the folder is missing or empty, or a name is not there.
    """
    if not root.is_dir():
        raise InputError(f"there is no folder {root}")
    known = {item.folder: item.name for item in KNOWN_SETS.values()}
    found: dict[str, ImageFolder] = {}
    for folder in sorted(path for path in root.iterdir() if path.is_dir()):
        name = known.get(folder.name, folder.name)
        if images := list_images(folder):
            found[name] = ImageFolder(name, folder, images)
    if not found:
        raise InputError(f"{root} holds no folder of pictures; give the folder that holds one folder a set")
    for name in names or []:
        if name not in found:
            raise InputError(f"there is no set {name!r} in {root}; there are {', '.join(_by_size(found))}")
    return [found[name] for name in (names or _by_size(found))]


def list_images(folder: Path) -> tuple[Path, ...]:
    """Return the pictures of a folder in order of name."""
    return tuple(
        path for path in sorted(folder.iterdir()) if path.suffix.lower() in READABLE_SUFFIXES and path.name[0] != "."
    )


def _by_size(names: dict[str, ImageFolder]) -> list[str]:
    return sorted(names, key=lambda name: (name not in KNOWN_SETS, int(name) if name in KNOWN_SETS else 0, name))


def check_set(folder: ImageFolder) -> list[str]:
    """Return what is wrong with a folder of a known set: missing images, wrong sizes, lost depth, damaged files."""
    known = KNOWN_SETS.get(folder.name)
    if known is None:
        return []
    problems = []
    if len(folder.images) != known.images:
        problems.append(f"{len(folder.images)} images instead of {known.images}")
    for path in folder.images:
        try:
            problems += _check_picture(path.name, read_picture(path), known)
        except ImageError as error:
            problems.append(str(error))
    return problems


def _check_picture(name: str, picture: Picture, known: ImageSet) -> list[str]:
    problems = []
    size, wanted = (picture.width, picture.height), (known.columns * PIECE_SIZE, known.rows * PIECE_SIZE)
    if size not in (wanted, wanted[::-1]):
        problems.append(f"{name} is {size[0]}x{size[1]} pixels instead of {wanted[0]}x{wanted[1]} or upright")
    depth = 8 * picture.pixels.itemsize
    if depth != known.depth:
        problems.append(f"{name} has {depth} bits a channel instead of {known.depth}")
    return problems
