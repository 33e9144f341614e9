"""Writing files whole or not at all, and never over an existing one unasked."""

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from .errors import InputError, OutputError


def check_writable(path: Path, *, overwrite: bool) -> None:
    """Refuse early, before any work is done, what `write_whole` would refuse at the end."""
    if _exists(path):
        if path.is_dir():
            raise OutputError(f"{path} is a folder; give the name of a file to write")
        if not path.is_file():  # Such as /dev/null, which taking its name would destroy.
            raise OutputError(f"{path} is not an ordinary file; choose another name")
        if not overwrite:
            raise OutputError(f"{path} exists already; choose another name or pass --force (overwrite=True)")
    if not path.parent.is_dir():
        raise OutputError(f"the folder {path.parent} does not exist; create it first")
    if not os.access(path.parent, os.W_OK):
        raise OutputError(f"the folder {path.parent} is not writable")


def is_folder(path: Path) -> bool:
    """Whether there is a folder of that name; a name that no file can have is none."""
    try:
        return path.is_dir()
    except OSError:
        return False


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, where they are not there yet."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot make the folder {path}: {error.strerror or error}") from error


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Make a folder whole or not at all: what is written to the folder given takes the name when all went well."""
    if path.exists():
        raise OutputError(f"{path} exists already; choose another name")
    temporary = path.with_name(f".{uuid4().hex}.part")
    try:
        temporary.mkdir()
        yield temporary
        temporary.rename(path)
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(f"cannot make the folder {path}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def check_distinct(inputs: Iterable[Path], outputs: Iterable[Path]) -> None:
    """Refuse an output that would land in the file of an input or of another output."""
    taken = {_resolved(path): "an input and an output" for path in inputs}
    for path in outputs:
        if use := taken.get(_resolved(path)):
            raise InputError(f"{path} is named for {use}; give each its own name")
        taken[_resolved(path)] = "two outputs"


def write_whole(path: Path, data: bytes, *, overwrite: bool = False) -> None:
    """Write `data` to `path` so that the file is either complete or not there; see `write_parts`."""
    write_parts(path, [data], overwrite=overwrite)


def write_parts(
    path: Path, parts: Iterable[bytes | memoryview], *, overwrite: bool = False, temporary: Path | None = None
) -> None:
    """Write parts, one after the other, to `path` so that the file is either complete or not there.

    The bytes go to a hidden neighbour first, reach the disk, and only then take the name: a crash, a
    kill or a full disk leaves the old state. Without `overwrite` the name is taken with a hard link,
    which fails when somebody else created the file meanwhile. A kill can leave the neighbour behind; its name can be
    given, so that it is found again.
    """
    check_writable(path, overwrite=overwrite)
    temporary = temporary or path.with_name(f".{uuid4().hex}.part")
    try:
        with temporary.open("xb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        _take_name(temporary, path, overwrite=overwrite)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def _exists(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:  # Such as a name that is too long.
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error
    return True


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except RuntimeError as error:
        raise InputError(f"{path} is a symbolic link that leads back to itself") from error


def _take_name(temporary: Path, path: Path, *, overwrite: bool) -> None:
    if overwrite:
        temporary.replace(path)
        return
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:  # A file system without hard links.
        check_writable(path, overwrite=False)
        temporary.replace(path)
