"""Jobs: what was asked, how far it is, and the processes that do the work.

A job waits, runs in a process of its own, and ends; the board keeps a limited number of each. Everything here runs in
the server's one thread, so that nothing needs a lock.
"""

import asyncio
import contextlib
import json
import secrets
import shutil
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import time
from typing import Any, Literal

from ..checks import count
from . import messages
from .limits import Limits
from .samples import SAMPLES
from .story import Entry, Story, events

WORKER = (sys.executable, "-m", "jigsolve.web.worker")
# A worker gets this long for reading and writing, beside the time it may solve.
GRACE_SECONDS = 300.0
# Arrangements a client gets at once when it has fallen behind; it misses those before.
MOST_GRIDS = 12
# What is sent at once, so that a client that catches up takes no more memory than one that follows.
BATCH_BYTES = 200_000
# A line now and then shows both ends that the other is still there.
HEARTBEAT_SECONDS = 15.0
# A process that has said everything is given this long to end.
END_SECONDS = 10.0
SWEEP_SECONDS = 20.0

State = Literal["queued", "running", "done", "stopped", "failed"]
Source = Literal["picture", "puzzle", "tiles"]
# Files that a job can have. No other name is ever looked up in a job's folder.
FILES = {
    "pieces.png": "image/png",
    "original.png": "image/png",
    "solved.png": "image/png",
    "result.json": "application/json",
    "evolution.gif": "image/gif",
}


@dataclass(frozen=True)
class Request:
    """What a client asked for, checked."""

    source: Source
    preset: str
    seed: int
    piece_width: int | None = None
    piece_height: int | None = None
    columns: int | None = None
    sample: str | None = None
    names: tuple[str, ...] = ()
    """What the client calls its files: shown, never used as paths."""

    @property
    def title(self) -> str:
        """What to call it: the sample, the file, or how many tiles there are."""
        if self.sample is not None:
            return SAMPLES[self.sample][0]
        return self.names[0] if len(self.names) == 1 else count(len(self.names), "tile")


@dataclass(eq=False)
class Job:
    """One request and all that has come of it."""

    id: str
    folder: Path
    request: Request
    story: Story
    state: State = "queued"
    phase: str = ""
    """Of a running job: "starting", "reading", "warming", "preparing", "solving" or "finishing"."""
    place: int | None = None
    """In the queue, from 1."""
    message: str = ""
    """Of a failed job: why."""
    puzzle: dict[str, Any] | None = None
    result: dict[str, Any] | None = None
    files: list[str] = field(default_factory=list)
    stopping: bool = False
    finished: bool = False
    """Whether nothing more will come: the process has ended."""
    created: float = field(default_factory=time)
    started: float | None = None
    ended: float | None = None
    process: asyncio.subprocess.Process | None = None
    _wake: asyncio.Event = field(default_factory=asyncio.Event)

    def announce(self) -> None:
        """Wake everybody who follows; who comes later waits for the next time."""
        wake, self._wake = self._wake, asyncio.Event()
        wake.set()

    def to_dict(self) -> dict[str, Any]:
        """Return where the job stands, ready for JSON."""
        return {
            "id": self.id,
            "state": self.state,
            "phase": self.phase,
            "place": self.place,
            "message": self.message,
            "stopping": self.stopping,
            "finished": self.finished,
            "request": asdict(self.request) | {"names": [self.request.title]},
            "puzzle": self.puzzle,
            "result": self.result,
            "files": list(self.files),
            "created": self.created,
            "started": self.started,
            "ended": self.ended,
        }

    async def follow(self, last: int = -1) -> AsyncIterator[str]:
        """Yield events until the job has finished: where it stands whenever that changes, and what came after `last`.

        A client is nothing but a place in the story. While it takes its time over what it was sent, the story goes on;
        when it asks again, it is told the rest, with the newest arrangements only.
        """
        told, caught_up = "", False
        while True:
            wake = self._wake  # Taken before looking: what changes from here on is not missed.
            status = json.dumps(self.to_dict(), separators=(",", ":"))
            batch, last, rest = self._batch(last, MOST_GRIDS if caught_up else None)
            if status != told:
                batch = f"event: status\ndata: {status}\n\n{batch}"
                told = status
            if batch:
                yield batch
            caught_up = caught_up or not rest
            if rest:
                continue
            if self.finished and wake is self._wake:
                yield "event: end\ndata: {}\n\n"
                return
            try:
                await asyncio.wait_for(wake.wait(), HEARTBEAT_SECONDS)
            except TimeoutError:
                yield ": still here\n\n"

    def _batch(self, last: int, most_grids: int | None) -> tuple[str, int, bool]:
        """Return events after `last`, up to which number they go, and whether there are more."""
        entries = self.story.after(last)
        if most_grids is None:
            entries, rest = _first(entries)
            most_grids = len(entries)
        else:
            rest = False
        text = "".join(events(entries, most_grids))
        return text, entries[-1].number if entries else last, rest


def _first(entries: list[Entry]) -> tuple[list[Entry], bool]:
    """Return the first entries, as many as make a batch, and whether there are more."""
    size = 0
    for number, entry in enumerate(entries):
        size += len(entry.grid or b"") * 4 // 3 + 300
        if size > BATCH_BYTES:
            return entries[: number + 1], number + 1 < len(entries)
    return entries, False


class BoardFullError(Exception):
    """The queue is full."""


class Board:
    """All jobs: it starts those that wait, listens to those that run, and forgets old ones."""

    def __init__(self, folder: Path, limits: Limits, worker: Sequence[str] = WORKER) -> None:
        self.limits = limits
        self.warming = False
        """Whether the kernels are being compiled in the background."""
        self._folder, self._worker = folder, tuple(worker)
        self._jobs: dict[str, Job] = {}
        self._waiting: list[Job] = []
        self._running: dict[Job, asyncio.Task[None]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._closed = False

    def start(self) -> None:
        """Begin to sweep out old jobs and compile the kernels."""
        self._tasks = [asyncio.create_task(self._sweep_for_ever()), asyncio.create_task(self._warm_up())]

    async def close(self) -> None:
        """End every process and every follower."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        for job in list(self._jobs.values()):
            self.forget(job)
        await asyncio.gather(*self._tasks, *self._running.values(), return_exceptions=True)

    def get(self, name: str) -> Job | None:
        """Return the job of an id, if there is one."""
        return self._jobs.get(name)

    def check_room(self) -> None:
        """Refuse a job that would not find room, before its upload is read."""
        if self._closed or len(self._waiting) >= self.limits.waiting + max(0, self._free()):
            raise BoardFullError(f"{count(len(self._waiting), 'job')} wait already; try again when some are done")

    def new_folder(self) -> tuple[str, Path]:
        """Return a new unguessable id and the folder of the job that will have it."""
        name = secrets.token_urlsafe(16)
        folder = self._folder / secrets.token_hex(16)
        (folder / "upload").mkdir(parents=True)
        return name, folder

    def add(self, name: str, folder: Path, request: Request) -> Job:
        """Put a job into the queue and start it if it is its turn."""
        self.check_room()
        job = Job(name, folder, request, Story(self.limits.story_bytes))
        self._jobs[name] = job
        self._waiting.append(job)
        self._start_next()
        return job

    def stop(self, job: Job) -> None:
        """Stop a job early: one that runs keeps its best, one that waits is not begun."""
        if job in self._waiting:
            self._waiting.remove(job)
            self._end(job, "stopped")
            job.finished = True
            self._start_next()
        elif job.process is not None and job.process.stdin is not None and not job.stopping and job.ended is None:
            job.process.stdin.write(b"stop\n")
            job.stopping = True
        elif job in self._running and job.ended is None:
            job.stopping = True  # The process is only being started; it is told when it is there.
        job.announce()

    def forget(self, job: Job) -> None:
        """End a job at once and forget all about it."""
        self._jobs.pop(job.id, None)
        if job in self._waiting:
            self._waiting.remove(job)
        if job in self._running:
            self._running[job].cancel()
        else:
            shutil.rmtree(job.folder, ignore_errors=True)
        if job.ended is None:
            self._end(job, "failed", "the job was removed")
        job.finished = True
        job.announce()

    def _free(self) -> int:
        return self.limits.running - len(self._running)

    def _start_next(self) -> None:
        while self._waiting and self._free() > 0 and not self._closed:
            job = self._waiting.pop(0)
            job.place, job.state, job.phase, job.started = None, "running", "starting", time()
            task = self._running[job] = asyncio.create_task(self._run(job))
            task.add_done_callback(lambda _, job=job: self._ran(job))  # type: ignore[misc]
            job.announce()
        for place, job in enumerate(self._waiting, start=1):
            if job.place != place:
                job.place = place
                job.announce()

    async def _run(self, job: Job) -> None:
        try:
            async with asyncio.timeout(self.limits.solve_seconds + GRACE_SECONDS):
                await self._work(job)
        except TimeoutError:
            self._end(job, "failed", "the job took too long and was ended")
        except OSError as error:
            self._end(job, "failed", f"the solving process could not be started: {error.strerror or error}")
        finally:
            await asyncio.shield(_ended(job.process))

    def _ran(self, job: Job) -> None:
        """Take note that a job's process has ended, however it did, and let the next begin."""
        del self._running[job]
        if job.ended is None:
            self._end(job, "failed", _cause_of_death(job.process))
        job.finished = True
        if job.id not in self._jobs:
            shutil.rmtree(job.folder, ignore_errors=True)
        self._sweep()
        self._start_next()
        job.announce()

    async def _work(self, job: Job) -> None:
        """Start a process for a job and listen to it until it has said everything."""
        pipe = asyncio.subprocess.PIPE
        job.process = await asyncio.create_subprocess_exec(*self._worker, stdin=pipe, stdout=pipe)
        assert job.process.stdin is not None  # noqa: S101
        assert job.process.stdout is not None  # noqa: S101
        task = asdict(job.request) | {
            "folder": str(job.folder),
            "most_pixels": self.limits.pixels,
            "most_pieces": self.limits.pieces,
            "most_seconds": self.limits.solve_seconds,
        }
        job.process.stdin.write(json.dumps(task).encode() + b"\n" + b"stop\n" * job.stopping)
        try:
            while message := await messages.read(job.process.stdout):
                self._hear(job, *message)
            # It has closed its pipe because it has ended; killing it now would hide how.
            await asyncio.wait_for(job.process.wait(), END_SECONDS)
        except (messages.BrokenMessageError, KeyError, TypeError) as error:
            self._end(job, "failed", f"the solving process said something that makes no sense: {error!r}")

    def _hear(self, job: Job, header: dict[str, Any], body: bytes) -> None:
        """Take in what a worker says."""
        kind = header.pop("kind")
        if kind == "phase":
            job.phase = header["phase"]
        elif kind == "puzzle":
            job.puzzle = header
            job.files += ["pieces.png", "original.png"] if header["truth_known"] else ["pieces.png"]
        elif kind == "generation":
            job.phase = "solving"
            job.story.add(header["record"], body or None)
        elif kind == "result":
            job.result = header
            job.files += ["solved.png", "result.json"]
            job.phase = "finishing"
            self._end(job, "stopped" if job.stopping else "done")
        elif kind == "animation":
            job.files.append("evolution.gif")
        elif kind == "error":
            self._end(job, "failed", header["message"])
        job.announce()

    def _end(self, job: Job, state: State, message: str = "") -> None:
        job.state, job.message, job.ended, job.place = state, message, time(), None

    async def _warm_up(self) -> None:
        """Compile the kernels, or find them compiled, before anybody asks; a job that comes first does it itself."""
        self.warming = True
        process = None
        try:
            process = await asyncio.create_subprocess_exec(
                *self._worker, "--warm-up", stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL
            )
            await process.wait()
        except OSError:
            pass  # The first job says what is wrong.
        finally:
            self.warming = False
            await asyncio.shield(_ended(process))

    async def _sweep_for_ever(self) -> None:
        while True:
            self._sweep()
            await asyncio.sleep(min(SWEEP_SECONDS, self.limits.age_seconds / 4))

    def _sweep(self) -> None:
        """Forget finished jobs that are too many or too old."""
        finished = sorted((job for job in self._jobs.values() if job.finished), key=lambda job: job.ended or 0.0)
        oldest = time() - self.limits.age_seconds
        for number, job in enumerate(reversed(finished)):
            if number >= self.limits.kept or (job.ended or 0.0) < oldest:
                self.forget(job)


async def _ended(process: asyncio.subprocess.Process | None) -> None:
    """Make sure that a process has ended."""
    if process is None or process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    await process.wait()


def _cause_of_death(process: asyncio.subprocess.Process | None) -> str:
    code = process.returncode if process is not None else None
    how = f"was killed by signal {-code}" if code is not None and code < 0 else f"ended with code {code}"
    return f"the solving process {how} before it was done; solve again, with fewer pieces if memory ran out"
