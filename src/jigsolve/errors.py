"""What can go wrong, as one small tree.

JigsolveError                 anything this package reports on purpose
├── InputError (ValueError)   an argument or a file's contents make no sense
│   └── ImageError            a picture cannot be read
└── OutputError (OSError)     a file cannot be written

Each message is one sentence that names the offending value and, where there is one, the way out.
"""


class JigsolveError(Exception):
    """Anything this package reports on purpose."""


class InputError(JigsolveError, ValueError):
    """An argument or a file's contents make no sense."""


class ImageError(InputError):
    """A picture cannot be read."""


class OutputError(JigsolveError, OSError):
    """A file cannot be written."""
