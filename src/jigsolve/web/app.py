"""The HTTP API and the page, over a board of jobs."""

import asyncio
import io
import math
import re
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException as BaseHTTPException

from .._version import __version__
from ..checks import MOST_SEED
from ..parameters import PRESETS
from . import jobs
from .guard import Door, Guard, TooLargeError, TooSlowError, too_large
from .limits import Limits
from .samples import SAMPLES

# The preset that is a joy to watch; `best` is done in a blink.
DEFAULT_PRESET = "paper"
# Fields beside the files, and bytes of each.
MOST_FIELDS, MOST_FIELD_BYTES = 16, 1000
# Uploads that are taken in at the same time.
UPLOADS_AT_ONCE = 8
LARGEST_PIECE = 10_000
LONGEST_NAME = 80
SIGNATURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"BM", b"II*\x00", b"MM\x00*")
STATIC_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}


class Puzzle(BaseModel):
    """The pieces of a job."""

    rows: int
    columns: int
    piece_width: int
    piece_height: int
    truth_known: bool = Field(description="Whether it was cut here, so that accuracies are known.")


class Accuracy(BaseModel):
    """How right a result is, as fractions of one."""

    neighbour: float
    direct: float
    perfect: bool


class Result(BaseModel):
    """What a solve found."""

    cost: float
    certain_share: float = Field(description="Share of adjacent pairs that are best buddies.")
    generations: int
    stopped: str = Field(description="Why the run ended.")
    seconds: dict[str, float]
    accuracy: Accuracy | None


class Asked(BaseModel):
    """What a job was asked to do."""

    source: jobs.Source
    preset: str
    seed: int
    piece_width: int | None
    piece_height: int | None
    columns: int | None
    sample: str | None
    names: list[str] = Field(description="What to call it: the sample, the file, or how many tiles there are.")


class JobStatus(BaseModel):
    """Where a job stands."""

    id: str
    state: jobs.State
    phase: str = Field(description="Of a running job: starting, reading, warming, preparing, solving or finishing.")
    place: int | None = Field(description="In the queue, from 1; null for a job that does not wait.")
    message: str = Field(description="Why a job failed, in one sentence.")
    stopping: bool
    finished: bool = Field(description="Whether nothing more will come, the animation included.")
    request: Asked
    puzzle: Puzzle | None
    result: Result | None
    files: list[str] = Field(description="What can be fetched by now.")
    created: float
    started: float | None
    ended: float | None


class Problem(BaseModel):
    """What is wrong, in one sentence."""

    error: str


class Sample(BaseModel):
    """A picture to try."""

    name: str
    title: str


class About(BaseModel):
    """What this server offers and allows."""

    version: str
    presets: list[str]
    default_preset: str
    samples: list[Sample]
    limits: dict[str, float]
    warming: bool = Field(description="Whether the kernels are being compiled, once per machine.")


class Again(BaseModel):
    """What to change when a job is done again; what is left out stays."""

    model_config = ConfigDict(extra="forbid")

    seed: Annotated[int, Field(ge=0, le=MOST_SEED)] | None = None
    preset: str | None = None


PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "Something asked for makes no sense."},
    403: {"model": Problem, "description": "The request comes from elsewhere."},
    404: {"model": Problem, "description": "There is no such thing, or no longer."},
    413: {"model": Problem, "description": "Too much was sent."},
    415: {"model": Problem, "description": "A file is no picture."},
    503: {"model": Problem, "description": "The queue is full."},
}
FORM = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "picture": {
                            "type": "array",
                            "items": {"type": "string", "format": "binary"},
                            "description": "One picture, or the tiles of a puzzle, one file each.",
                        },
                        "sample": {"type": "string", "enum": list(SAMPLES), "description": "Instead of a picture."},
                        "source": {
                            "type": "string",
                            "enum": ["picture", "puzzle", "tiles"],
                            "description": "A whole picture, to be cut and shuffled (the default for one file); a "
                            "puzzle, shuffled already; or tiles (the default for several files).",
                        },
                        "piece_size": {
                            "type": "string",
                            "description": "Pixels of a piece: 28, or 51x27 for width x height. Needed for a whole "
                            "picture; left out, that of a shuffled puzzle is detected.",
                        },
                        "columns": {"type": "integer", "description": "Pieces side by side; needed for tiles."},
                        "preset": {"type": "string", "enum": list(PRESETS), "default": DEFAULT_PRESET},
                        "seed": {
                            "type": "integer",
                            "default": 1,
                            "description": "Of the shuffle and of the solve: the same seed gives the same result.",
                        },
                    },
                }
            }
        },
    }
}
FIELDS = frozenset(FORM["requestBody"]["content"]["multipart/form-data"]["schema"]["properties"])  # type: ignore[index]


def create_app(door: Door, limits: Limits | None = None, worker: Sequence[str] = jobs.WORKER) -> FastAPI:
    """Return the application. Its jobs live in a folder that goes when it ends."""
    limits = limits or Limits()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with tempfile.TemporaryDirectory(prefix="jigsolve-", ignore_cleanup_errors=True) as folder:
            board = app.state.board = jobs.Board(Path(folder), limits, worker)
            board.start()
            drawing = asyncio.create_task(_draw_samples())  # So that nobody waits for them.
            yield
            drawing.cancel()
            await board.close()

    app = FastAPI(
        title="jigsolve",
        version=__version__,
        summary="Puts the shuffled pieces of a picture back together.",
        lifespan=lifespan,
        docs_url=None,  # These pages would fetch scripts from elsewhere.
        redoc_url=None,
        responses=PROBLEMS,
    )
    app.state.uploads = asyncio.Semaphore(UPLOADS_AT_ONCE)
    app.add_middleware(Guard, door=lambda: door, most_bytes=limits.upload_bytes)
    _add_errors(app, limits)
    _add_jobs(app, limits)
    _add_results(app)
    _add_about(app, limits)
    _add_page(app)
    return app


def _add_errors(app: FastAPI, limits: Limits) -> None:
    @app.exception_handler(BaseHTTPException)  # The framework's own, too: a path that is none, a form that is none.
    async def refused(_: Request, error: BaseHTTPException) -> Response:
        words = {"Not Found": "there is nothing here", "Method Not Allowed": "this cannot be done here"}
        return JSONResponse({"error": words.get(error.detail, error.detail)}, error.status_code)

    @app.exception_handler(RequestValidationError)
    async def senseless(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"][1:]) or "the request"
        return JSONResponse({"error": f"{name}: {first['msg']}"}, 400)

    @app.exception_handler(jobs.BoardFullError)
    async def full(_: Request, error: jobs.BoardFullError) -> Response:
        return JSONResponse({"error": str(error)}, 503, headers={"Retry-After": "10"})

    @app.exception_handler(TooLargeError)
    async def large(_: Request, _error: TooLargeError) -> Response:
        return JSONResponse({"error": too_large(limits.upload_bytes)}, 413, headers={"Connection": "close"})

    @app.exception_handler(TooSlowError)
    async def slow(_: Request, _error: TooSlowError) -> Response:
        return JSONResponse({"error": "nothing was sent for too long"}, 408, headers={"Connection": "close"})


def _add_jobs(app: FastAPI, limits: Limits) -> None:
    @app.post("/api/jobs", status_code=201, response_model=JobStatus, openapi_extra=FORM, tags=["jobs"])
    async def create_job(request: Request, response: Response) -> dict[str, Any]:
        """Create a job from a picture, a shuffled puzzle, tiles or a sample. It starts when it is its turn."""
        board = _board(request)
        board.check_room()
        async with app.state.uploads:
            form = await _form(request, limits)
            try:
                asked, uploads = _asked(form)
                name, folder = board.new_folder()
                for number, upload in enumerate(uploads):
                    await _keep(upload, folder / "upload" / f"{number}.png")
            finally:
                await form.close()
        job = board.add(name, folder, asked)
        response.headers["Location"] = f"/api/jobs/{job.id}"
        return job.to_dict()

    @app.get("/api/jobs/{id}", response_model=JobStatus, tags=["jobs"])
    async def get_job(request: Request, id: str) -> dict[str, Any]:  # noqa: A002
        """Tell where a job stands."""
        return _job(request, id).to_dict()

    @app.delete("/api/jobs/{id}", status_code=204, tags=["jobs"])
    async def delete_job(request: Request, id: str) -> None:  # noqa: A002
        """End a job at once and forget all about it."""
        _board(request).forget(_job(request, id))

    @app.post("/api/jobs/{id}/stop", response_model=JobStatus, tags=["jobs"])
    async def stop_job(request: Request, id: str) -> dict[str, Any]:  # noqa: A002
        """Stop a job early and keep the best so far. It ends with the generation under way."""
        job = _job(request, id)
        _board(request).stop(job)
        return job.to_dict()

    @app.post("/api/jobs/{id}/again", status_code=201, response_model=JobStatus, tags=["jobs"])
    async def solve_again(request: Request, response: Response, id: str, again: Again) -> dict[str, Any]:  # noqa: A002
        """Create a job that does the same again, with another seed or preset."""
        job, board = _job(request, id), _board(request)
        board.check_room()
        seed = job.request.seed if again.seed is None else again.seed
        preset = job.request.preset if again.preset is None else _choice("preset", again.preset, tuple(PRESETS))
        name, folder = board.new_folder()
        for path in (job.folder / "upload").iterdir():
            (folder / "upload" / path.name).hardlink_to(path)
        made = board.add(name, folder, replace(job.request, seed=seed, preset=preset))
        response.headers["Location"] = f"/api/jobs/{made.id}"
        return made.to_dict()

    @app.get(
        "/api/jobs/{id}/events",
        response_class=StreamingResponse,
        responses={200: {"content": {"text/event-stream": {}}, "description": "Server-sent events."}},
        tags=["jobs"],
    )
    async def follow_job(request: Request, id: str) -> StreamingResponse:  # noqa: A002
        """Follow a job as server-sent events.

        `status` tells where it stands, as `GET /api/jobs/{id}` does. `generation` has the record of a generation or a
        part of the refinement and, where its best arrangement is a new one, `grid`: piece numbers row by row, 16 bits
        each, the low byte first, in base64. `end` says that nothing more will come. Send `Last-Event-ID` to go on from
        there.
        """
        last = request.headers.get("last-event-id", "")
        number = int(last) if re.fullmatch(r"[0-9]{1,9}", last) else -1
        return StreamingResponse(
            _job(request, id).follow(number), media_type="text/event-stream", headers={"Cache-Control": "no-store"}
        )


def _add_results(app: FastAPI) -> None:
    @app.get("/api/jobs/{id}/{file}", response_class=FileResponse, tags=["results"])
    async def get_result(request: Request, id: str, file: str, download: bool = False) -> FileResponse:  # noqa: A002
        """Fetch a result: solved.png, result.json or evolution.gif; or what the page draws with.

        pieces.png has the pieces in the order of their numbers, row by row, shrunk where it would be too large to show;
        original.png is the picture they were cut from, where it was cut here.
        """
        job = _job(request, id)
        if file not in jobs.FILES or file not in job.files:
            raise HTTPException(404, "this job has no such result, or not yet")
        return FileResponse(
            job.folder / file,
            media_type=jobs.FILES[file],
            filename=f"jigsolve-{file}" if download else None,
            headers={"Cache-Control": "private, max-age=86400"},
        )


def _add_about(app: FastAPI, limits: Limits) -> None:
    @app.get("/api/about", response_model=About, tags=["about"])
    async def about(request: Request) -> dict[str, Any]:
        """Tell what this server offers and allows."""
        return {
            "version": __version__,
            "presets": list(PRESETS),
            "default_preset": DEFAULT_PRESET,
            "samples": [{"name": name, "title": title} for name, (title, _) in SAMPLES.items()],
            "limits": limits.to_dict(),
            "warming": _board(request).warming,
        }

    @app.get("/api/samples/{name}", tags=["about"])
    async def get_sample(name: str) -> Response:
        """Fetch a picture to try, as PNG."""
        if name not in SAMPLES:
            raise HTTPException(404, f"there is no such sample; there are {', '.join(SAMPLES)}")
        data = await asyncio.to_thread(_sample, name)
        return Response(data, media_type="image/png", headers={"Cache-Control": "private, max-age=86400"})


def _add_page(app: FastAPI) -> None:
    static = _static()

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return static_response("index.html")

    @app.get("/jobs/{id}", include_in_schema=False)
    async def job_page(request: Request, id: str) -> Response:  # noqa: A002
        return static_response("index.html", 200 if _board(request).get(id) else 404)

    @app.get("/static/{name}", include_in_schema=False)
    async def static_file(name: str) -> Response:
        if name not in static:
            raise HTTPException(404, "there is nothing here")
        return static_response(name)

    def static_response(name: str, status: int = 200) -> Response:
        data, media_type = static[name]
        return Response(data, status, media_type=media_type, headers={"Cache-Control": "no-cache"})


def _static() -> dict[str, tuple[bytes, str]]:
    """Return every file of the page and its type: what is not in here does not exist."""
    found = {}
    for item in files(__package__).joinpath("static").iterdir():
        suffix = Path(item.name).suffix
        if suffix in STATIC_TYPES:
            found[item.name] = (item.read_bytes(), STATIC_TYPES[suffix])
    return found


async def _draw_samples() -> None:
    for name in SAMPLES:
        await asyncio.to_thread(_sample, name)


@cache
def _sample(name: str) -> bytes:
    _, make = SAMPLES[name]
    buffer = io.BytesIO()
    make().to_pillow().save(buffer, "PNG")
    return buffer.getvalue()


def _board(request: Request) -> jobs.Board:
    board: jobs.Board = request.app.state.board
    return board


def _job(request: Request, name: str) -> jobs.Job:
    job = _board(request).get(name)
    if job is None:
        raise HTTPException(404, "there is no such job, or it is no longer kept")
    return job


async def _form(request: Request, limits: Limits) -> FormData:
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise HTTPException(415, "send the picture as multipart/form-data, as curl -F does")
    return await request.form(max_files=limits.pieces, max_fields=MOST_FIELDS, max_part_size=MOST_FIELD_BYTES)


def _asked(form: FormData) -> tuple[jobs.Request, list[UploadFile]]:
    """Check a form and return what it asks for, and its files in the order of their names."""
    unknown = sorted(set(form) - FIELDS)
    if unknown:
        raise HTTPException(400, f"there is no field {_short(unknown[0])!r}; there are {', '.join(sorted(FIELDS))}")
    uploads = [item for item in form.getlist("picture") if isinstance(item, UploadFile)]
    uploads.sort(key=lambda upload: _natural(upload.filename or ""))
    sample = _text(form, "sample")
    if sample is not None:
        _choice("sample", sample, tuple(SAMPLES))
    if (sample is None) == (not uploads):
        raise HTTPException(400, "send a picture, or name a sample: one of the two")
    default = "tiles" if len(uploads) > 1 else "picture"
    source = _choice("source", _text(form, "source") or default, ("picture", "puzzle", "tiles"))
    if len(uploads) > 1 and source != "tiles":
        raise HTTPException(400, f"{len(uploads)} files are tiles; send one for a {source}")
    width, height = _piece_size(_text(form, "piece_size"))
    if source == "picture" and width is None:
        raise HTTPException(400, "a whole picture needs a piece_size, such as 28")
    asked = jobs.Request(
        source=source,  # type: ignore[arg-type]
        preset=_choice("preset", _text(form, "preset") or DEFAULT_PRESET, tuple(PRESETS)),
        seed=_number("seed", _text(form, "seed") or "1", 0, MOST_SEED),
        piece_width=width if source != "tiles" else None,
        piece_height=height if source != "tiles" else None,
        columns=_columns(_text(form, "columns"), len(uploads)) if source == "tiles" else None,
        sample=sample,
        names=tuple(_short(upload.filename or "the file") for upload in uploads),
    )
    for upload, name in zip(uploads, asked.names, strict=True):
        _check_signature(upload, name)
    return asked, uploads


def _text(form: FormData, name: str) -> str | None:
    value = form.get(name)
    if isinstance(value, UploadFile):
        raise HTTPException(400, f"{name} must be text, not a file")
    return value.strip() or None if value is not None else None


def _choice(name: str, value: str, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise HTTPException(400, f"{name} must be one of {', '.join(choices)}, not {_short(value)!r}")
    return value


def _number(name: str, text: str, least: int, most: int) -> int:
    if not re.fullmatch(r"[0-9]{1,20}", text) or not least <= int(text) <= most:
        raise HTTPException(400, f"{name} must be a whole number from {least} to {most}, not {_short(text)!r}")
    return int(text)


def _piece_size(text: str | None) -> tuple[int | None, int | None]:
    if text is None:
        return None, None
    match = re.fullmatch(r"([0-9]{1,5})(?:x([0-9]{1,5}))?", text)
    width, height = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not (1 <= width <= LARGEST_PIECE and 1 <= height <= LARGEST_PIECE):
        raise HTTPException(400, f"{_short(text)!r} is not a piece size; write 28, or 51x27 for width x height")
    return width, height


def _columns(text: str | None, tiles: int) -> int:
    choices = ", ".join(str(number) for number in _divisors(tiles))
    if text is None:
        raise HTTPException(400, f"{tiles} tiles do not tell their frame; give columns, one of {choices}")
    columns = _number("columns", text, 1, max(1, tiles))
    if tiles % columns:
        raise HTTPException(400, f"{tiles} tiles do not fill {columns} columns; {choices} would do")
    return columns


def _divisors(number: int) -> list[int]:
    small = [size for size in range(1, math.isqrt(number) + 1) if number % size == 0]
    return sorted({*small, *(number // size for size in small)})


def _check_signature(upload: UploadFile, name: str) -> None:
    """Refuse what does not even begin like a picture. Nothing more is looked at here."""
    head = upload.file.read(16)
    upload.file.seek(0)
    is_webp = head[:4] == b"RIFF" and head[8:12] == b"WEBP"
    if not head:
        raise HTTPException(415, f"{name} is empty")
    if not is_webp and not head.startswith(SIGNATURES):
        raise HTTPException(415, f"{name} is not a picture; PNG, JPEG, TIFF, WebP, BMP and GIF can be read")


async def _keep(upload: UploadFile, path: Path) -> None:
    with path.open("xb") as file:
        while chunk := await upload.read(2**20):
            file.write(chunk)


def _short(name: str) -> str:
    """Return a client's text fit for a message: printable, and not long."""
    printable = "".join(letter for letter in name if letter.isprintable())
    return printable if len(printable) <= LONGEST_NAME else f"{printable[: LONGEST_NAME - 1]}…"


def _natural(name: str) -> tuple[list[int | str], str]:
    """Return what sorts names as people do, 2 before 10."""
    parts = re.split(r"([0-9]{1,9})", name)
    return [int(part) if index % 2 else part for index, part in enumerate(parts)], name
