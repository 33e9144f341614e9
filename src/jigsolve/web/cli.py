"""The command `jigsolve serve`."""

import click

from ..errors import InputError
from .limits import Limits

LIMITS = Limits()


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="Port to listen at; 0: any free one."
)
@click.option("--open", "open_browser", is_flag=True, help="Open the page in the browser.")
@click.option(
    "--allow-host",
    "allowed",
    multiple=True,
    metavar="NAME",
    help="Another name that the page is asked for by, such as that of a proxy; may be repeated.",
)
@click.option(
    "--max-upload-mb", type=float, default=LIMITS.upload_bytes / 2**20, show_default=True, help="Size of an upload."
)
@click.option(
    "--max-megapixels", type=float, default=LIMITS.pixels / 1e6, show_default=True, help="Pixels of a picture."
)
@click.option("--max-pieces", type=int, default=LIMITS.pieces, show_default=True, help="Pieces of a puzzle.")
@click.option("--max-running", type=int, default=LIMITS.running, show_default=True, help="Jobs that solve at once.")
@click.option("--max-waiting", type=int, default=LIMITS.waiting, show_default=True, help="Jobs in the queue.")
@click.option("--max-kept", type=int, default=LIMITS.kept, show_default=True, help="Finished jobs that are kept.")
@click.option(
    "--max-age-hours",
    type=float,
    default=LIMITS.age_seconds / 3600,
    show_default=True,
    help="How long a finished job is kept.",
)
@click.option(
    "--max-minutes", type=float, default=LIMITS.solve_seconds / 60, show_default=True, help="How long a job may solve."
)
def serve(
    host: str,
    port: int,
    open_browser: bool,
    allowed: tuple[str, ...],
    max_upload_mb: float,
    max_megapixels: float,
    max_pieces: int,
    max_running: int,
    max_waiting: int,
    max_kept: int,
    max_age_hours: float,
    max_minutes: float,
) -> None:
    """Open a page on this machine to watch puzzles being solved.

    It works without a network and listens to this machine only, unless --host says otherwise. Uploads and results live
    in a temporary folder that goes when the server ends.

    \b
    Examples:
      jigsolve serve --open
      jigsolve serve --port 8080 --max-pieces 10000
    """
    limits = Limits(
        upload_bytes=int(max_upload_mb * 2**20),
        pixels=int(max_megapixels * 1e6),
        pieces=max_pieces,
        running=max_running,
        waiting=max_waiting,
        kept=max_kept,
        age_seconds=max_age_hours * 3600,
        solve_seconds=max_minutes * 60,
    )
    try:
        from .server import serve as serve_until_interrupted
    except ModuleNotFoundError as error:
        raise InputError(
            f"the page needs the package {error.name}, which is not installed: pip install 'jigsolve[web]'"
        ) from error
    serve_until_interrupted(
        host,
        port,
        limits=limits,
        allowed=allowed,
        open_browser=open_browser,
        say=lambda text: click.echo(text, err=True),
    )
