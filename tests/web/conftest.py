"""Servers for tests: the application on a port of its own, in a thread, with real or staged workers."""

import contextlib
import io
import json
import shutil
import socket
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest
import uvicorn
from PIL import Image

from jigsolve.web.app import create_app
from jigsolve.web.jobs import WORKER
from jigsolve.web.limits import Limits
from jigsolve.web.server import door_of

PATIENCE = 120.0
BROWSER = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
NO_BROWSER = "NO BROWSER: the tests of the page are skipped; install Chromium (apt-get install chromium) to run them"


def pytest_terminal_summary(terminalreporter):
    if BROWSER is None:
        terminalreporter.write_line(NO_BROWSER, red=True, bold=True)


class Site:
    """A server under test and a client of it."""

    def __init__(self, limits=None, worker=WORKER):
        self.socket = socket.create_server(("127.0.0.1", 0))
        port = self.socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.app = create_app(door_of("127.0.0.1", port), limits or Limits(), worker)
        config = uvicorn.Config(self.app, log_level="warning", access_log=False, ws="none", timeout_graceful_shutdown=1)
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, args=([self.socket],))
        self.client = httpx.Client(base_url=self.url, timeout=PATIENCE)

    def __enter__(self):
        self.thread.start()
        wait_until(lambda: self.server.started)
        return self

    def __exit__(self, *error):
        self.client.close()
        self.server.should_exit = True
        self.thread.join(PATIENCE)
        self.socket.close()

    @property
    def board(self):
        return self.app.state.board

    def create(self, files=None, **fields):
        sent = [("picture", file) for file in files or []]
        sent += [(name, (None, str(value))) for name, value in fields.items()]
        return self.client.post("/api/jobs", files=sent)

    def job(self, name):
        return self.client.get(f"/api/jobs/{name}").json()

    def until(self, name, condition, patience=PATIENCE):
        """The status of a job as soon as it fulfils a condition."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            status = self.job(name)
            if condition(status):
                return status
            time.sleep(0.05)
        raise AssertionError(f"still waiting: {status}")

    def finished(self, name):
        return self.until(name, lambda status: status["finished"])


def wait_until(condition, patience=PATIENCE):
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


def staged(**script):
    return (
        sys.executable,
        str(Path(__file__).with_name("staged.py")),
        json.dumps({"rows": 4, "columns": 5, "frames": 3} | script),
    )


@contextlib.contextmanager
def following(site, name, last=None):
    """The events of a job as (kind, data) pairs."""
    headers = {} if last is None else {"Last-Event-ID": str(last)}
    with site.client.stream("GET", f"/api/jobs/{name}/events", headers=headers) as response:
        assert response.status_code == 200
        yield parsed(response.iter_lines())


def parsed(lines):
    kind = None
    for line in lines:
        if line.startswith("event: "):
            kind = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield kind, json.loads(line.removeprefix("data: "))


def encoded(image, name="PNG"):
    buffer = io.BytesIO()
    image.save(buffer, name)
    return buffer.getvalue()


@pytest.fixture(scope="session")
def photo_bytes(photo):
    """A part of the sample photograph: 200x160 pixels, as PNG."""
    return encoded(Image.fromarray(photo.pixels[100:260, 150:350]))


@pytest.fixture(scope="module")
def site(compiled):
    """A server with real workers."""
    with Site() as made:
        yield made


@pytest.fixture
def stage():
    """Makes servers whose workers follow a script."""
    with contextlib.ExitStack() as stack:
        yield lambda limits=None, **script: stack.enter_context(Site(limits, staged(**script)))
