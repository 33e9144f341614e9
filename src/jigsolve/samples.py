"""A photograph to try things on, from a dependency: Grace Hopper, United States Navy, public domain."""

from importlib.resources import as_file, files

from .images import Picture, read_picture


def sample_picture() -> Picture:
    """Return the photograph that ships with Matplotlib: 512x600 pixels, colour."""
    with as_file(files("matplotlib") / "mpl-data" / "sample_data" / "grace_hopper.jpg") as path:
        return read_picture(path)
