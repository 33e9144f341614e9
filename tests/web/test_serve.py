"""The command `jigsolve serve`."""

import re
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager

import httpx
import pytest

from tests.test_cli import problem_with_refusal

PATIENCE = 120


@contextmanager
def serving(*options):
    """A server that was started as people do, with what it has said until it is there."""
    command = [sys.executable, "-m", "jigsolve", "serve", "--port", "0", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        said = []
        while not said or "jigsolve is at" not in said[-1]:
            said.append(process.stderr.readline())
            assert said[-1], said
        yield process, said, re.search(r"http://\S+?:(\d+)/", said[-1])[0].rstrip("/")
        process.kill()


def test_it_serves_until_it_is_interrupted():
    with serving() as (process, said, url):
        assert len(said) == 1
        assert "jigsolve</span>" in httpx.get(url, timeout=PATIENCE).text
        made = httpx.post(
            f"{url}/api/jobs", files={"sample": (None, "hopper"), "piece_size": (None, "10")}, timeout=PATIENCE
        )
        with httpx.stream("GET", f"{url}/api/jobs/{made.json()['id']}/events", timeout=PATIENCE) as events:
            lines = events.iter_lines()
            next(lines)
            process.send_signal(signal.SIGINT)
            rest = list(lines)  # Who follows is told, and not left hanging.
        assert "event: end" in rest
        assert process.wait(PATIENCE) == 0
        assert "Traceback" not in process.stderr.read()


def test_it_warns_when_others_can_reach_it():
    with serving("--host", "0.0.0.0") as (_, said, url):
        assert "warning: anybody who can reach 0.0.0.0 can use this page; it asks for no password" in said[0]
        port = url.rsplit(":", 1)[1]
        assert httpx.get(f"http://127.0.0.1:{port}/", timeout=PATIENCE).status_code == 200
        foreign = httpx.get(f"http://127.0.0.1:{port}/", headers={"Host": f"evil.example:{port}"}, timeout=PATIENCE)
        assert foreign.status_code == 403


def test_what_cannot_be_is_refused(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        cases = [
            (["serve", "--port", port], f"cannot listen at 127.0.0.1 port {port}: Address already in use"),
            (["serve", "--host", "no.such.host.invalid"], "there is no address 'no.such.host.invalid'"),
            (["serve", "--max-pieces", 70_000], "the limit pieces must be at most 65536, not 70000"),
            (["serve", "--max-running", 0], "the limit running must be more than 0, not 0"),
        ]
        problems = [problem_with_refusal(tmp_path, arguments, message) for arguments, message in cases]
    assert [problem for problem in problems if problem] == []


@pytest.mark.parametrize("package", ["fastapi", "uvicorn"])
def test_without_the_extra_it_says_how_to_get_it(package):
    program = f"import sys; sys.modules['{package}'] = None; sys.argv = ['jigsolve', 'serve', '--port', '0']; "
    program += "from jigsolve.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 2
    assert f"the page needs the package {package}, which is not installed: pip install 'jigsolve[web]'" in done.stderr
