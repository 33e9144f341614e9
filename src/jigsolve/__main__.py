"""python -m jigsolve."""

from .cli import main

main()
