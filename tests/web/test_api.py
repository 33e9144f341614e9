"""The HTTP API, asked as any client would ask it."""

import base64
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import numpy as np
import pytest
from PIL import Image

from jigsolve import InputError, Picture, Puzzle, read_picture
from jigsolve.web.limits import Limits
from jigsolve.web.worker import read_puzzle
from tests.encoders import noise, png_header_only
from tests.web.conftest import encoded, following, parsed, wait_until

PIECE = 40


def picture(data, name="photo.png"):
    return [(name, data, "application/octet-stream")]


@pytest.fixture(scope="module", autouse=True)
def crowd():
    """Fifty clients and their server, in processes of their own. Their minute passes while the other tests run."""
    command = [sys.executable, "-m", "tests.web.crowd", "--clients", "50", "--seconds", "60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        yield process
        process.kill()


# All goes well


def test_a_picture_is_cut_solved_and_scored(site, photo_bytes, tmp_path):
    made = site.create(picture(photo_bytes), piece_size=PIECE, seed=3)
    assert made.status_code == 201
    name = made.json()["id"]
    assert made.headers["location"] == f"/api/jobs/{name}"
    with following(site, name) as events:
        seen = list(events)
    kinds = [kind for kind, _ in seen]
    assert kinds[0] == "status"
    assert kinds[-1] == "end"
    records = [data for kind, data in seen if kind == "generation"]
    assert [record["number"] for record in records] == list(range(len(records)))
    grids = [np.frombuffer(base64.b64decode(record["grid"]), "<u2") for record in records if record["grid"]]
    assert all(sorted(grid) == list(range(20)) for grid in grids)
    status = site.job(name)
    assert (status["state"], status["finished"]) == ("done", True)
    assert status["puzzle"] == {"rows": 4, "columns": 5, "piece_width": 40, "piece_height": 40, "truth_known": True}
    assert status["result"]["accuracy"] == {"neighbour": 1.0, "direct": 1.0, "perfect": True}
    assert records[-1]["direct"] == 1.0
    assert set(status["files"]) == {"pieces.png", "original.png", "solved.png", "result.json", "evolution.gif"}
    for file in status["files"]:
        got = site.client.get(f"/api/jobs/{name}/{file}", params={"download": True})
        assert f"jigsolve-{file}" in got.headers["content-disposition"]
        (tmp_path / file).write_bytes(got.content)
    assert np.array_equal(
        read_picture(tmp_path / "solved.png").pixels, np.asarray(Image.open(tmp_path / "original.png"))
    )
    with Image.open(tmp_path / "evolution.gif") as animation:
        assert animation.format == "GIF"


def test_a_shuffled_puzzle_is_solved_without_its_piece_size(site, photo_bytes, tmp_path):
    (tmp_path / "photo.png").write_bytes(photo_bytes)
    puzzle, _ = Puzzle.from_image(tmp_path / "photo.png", PIECE).shuffled(5)
    shuffled = encoded(puzzle.assemble(puzzle.as_given()).to_pillow())
    status = site.finished(site.create(picture(shuffled), source="puzzle", preset="best").json()["id"])
    assert (status["state"], status["puzzle"]["truth_known"]) == ("done", False)
    assert (status["puzzle"]["piece_width"], status["result"]["accuracy"]) == (PIECE, None)
    assert "original.png" not in status["files"]
    solved = site.client.get(f"/api/jobs/{status['id']}/solved.png").content
    (tmp_path / "solved.png").write_bytes(solved)
    assert np.array_equal(read_picture(tmp_path / "solved.png").pixels, read_picture(tmp_path / "photo.png").pixels)


def test_tiles_are_numbered_in_the_order_of_their_names(site, photo_bytes, tmp_path):
    (tmp_path / "photo.png").write_bytes(photo_bytes)
    puzzle, _ = Puzzle.from_image(tmp_path / "photo.png", PIECE).shuffled(5)
    tiles = [(f"{number}.png", encoded(Picture(piece).to_pillow())) for number, piece in enumerate(puzzle.pieces)]
    made = site.create([*tiles[10:], *tiles[:10]], columns=5)
    status = site.finished(made.json()["id"])
    assert (status["state"], status["request"]["source"], status["request"]["names"]) == ("done", "tiles", ["20 tiles"])
    result = site.client.get(f"/api/jobs/{status['id']}/result.json").json()
    assert result["tiles"] == [f"{number}.png" for number in range(20)]
    assert result["puzzle"] == puzzle.digest


def test_it_is_solved_again_with_another_seed(site, photo_bytes):
    name = site.create(picture(photo_bytes), piece_size=PIECE, seed=1).json()["id"]
    again = site.client.post(f"/api/jobs/{name}/again", json={"seed": 2, "preset": "best"})
    assert again.status_code == 201
    site.client.delete(f"/api/jobs/{name}")
    status = site.finished(again.json()["id"])
    assert (status["state"], status["request"]["seed"], status["request"]["preset"]) == ("done", 2, "best")


def test_a_sample_needs_no_upload(site):
    status = site.finished(site.create(sample="hopper", piece_size="128x120", preset="best").json()["id"])
    assert (status["state"], status["request"]["names"]) == ("done", ["Grace Hopper"])
    about = site.client.get("/api/about").json()
    assert [sample["name"] for sample in about["samples"]] == ["hopper", "dusk", "relief"]
    for sample in about["samples"]:
        assert site.client.get(f"/api/samples/{sample['name']}").headers["content-type"] == "image/png"


def test_the_api_describes_itself(site):
    description = site.client.get("/openapi.json").json()
    assert set(description["paths"]) == {
        "/api/jobs",
        "/api/jobs/{id}",
        "/api/jobs/{id}/stop",
        "/api/jobs/{id}/again",
        "/api/jobs/{id}/events",
        "/api/jobs/{id}/{file}",
        "/api/about",
        "/api/samples/{name}",
    }
    fields = description["paths"]["/api/jobs"]["post"]["requestBody"]["content"]["multipart/form-data"]["schema"]
    assert set(fields["properties"]) == {"picture", "sample", "source", "piece_size", "columns", "preset", "seed"}
    assert site.client.get("/docs").status_code == 404


# Following


def test_stopping_keeps_the_best(stage):
    site = stage(frames=10_000, seconds=0.05)
    name = site.create(sample="hopper", piece_size=30).json()["id"]
    with following(site, name) as events:
        for kind, _ in events:
            if kind == "generation":
                break
        assert site.client.post(f"/api/jobs/{name}/stop").json()["stopping"]
        rest = [data for kind, data in events if kind == "status"]
    assert (rest[-1]["state"], rest[-1]["finished"]) == ("stopped", True)
    assert rest[-1]["result"] is not None
    assert "solved.png" in rest[-1]["files"]


def test_a_real_solve_stops_early(site):
    name = site.create(sample="hopper", piece_size=16, preset="paper").json()["id"]
    site.client.post(f"/api/jobs/{name}/stop")
    status = site.finished(name)
    assert (status["state"], status["result"]["stopped"]) == ("stopped", "stopped by the callback")
    assert status["result"]["generations"] < 100


def test_who_reconnects_catches_up(stage):
    site = stage(frames=40, seconds=0.01)
    name = site.create(sample="hopper", piece_size=30).json()["id"]
    site.finished(name)
    with following(site, name, last=29) as events:
        numbers = [data["number"] for kind, data in events if kind == "generation"]
    assert numbers == list(range(30, 40))
    with following(site, name, last="nonsense") as events:
        assert len([kind for kind, _ in events if kind == "generation"]) == 40


def test_a_slow_client_misses_arrangements_but_never_holds_the_solver_up(stage):
    site = stage(rows=100, columns=200, frames=400, seconds=0.005)
    name = site.create(sample="hopper", piece_size=30).json()["id"]
    port = int(site.url.rsplit(":", 1)[1])
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", port))
        slow.sendall(f"GET /api/jobs/{name}/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        begin = time.monotonic()
        status = site.until(name, lambda status: status["ended"] is not None)  # Nothing has been read so far.
        assert status["state"] == "done"
        assert time.monotonic() - begin < 60
        slow.settimeout(60)
        received = b""
        while b"event: end" not in received[-2000:]:
            chunk = slow.recv(2**16)
            assert chunk, "the stream broke off"
            received += chunk
    lines = received.decode().replace("\r\n", "\n").split("\n")
    records = [data for kind, data in parsed(lines) if kind == "generation"]
    shown = [record["number"] for record in records if record["grid"]]
    assert [record["number"] for record in records] == list(range(400))
    assert shown[-1] == 399
    assert len(shown) < 350


def test_clients_that_vanish_leave_nothing_behind(stage):
    site = stage(frames=10_000, seconds=0.02)
    name = site.create(sample="hopper", piece_size=30).json()["id"]
    tasks = len(site.server.server_state.tasks)
    for _ in range(30):
        with following(site, name) as events:
            next(events)
    wait_until(lambda: len(site.server.server_state.tasks) <= tasks + 1)
    assert site.job(name)["state"] == "running"


# Many at once, and what breaks


def test_jobs_wait_for_their_turn_and_are_told_their_place(stage):
    site = stage(Limits(running=2, waiting=3), frames=10_000, seconds=0.05)
    names = [site.create(sample="hopper", piece_size=30).json()["id"] for _ in range(5)]
    assert [site.job(name)["place"] for name in names] == [None, None, 1, 2, 3]
    full = site.create(sample="hopper", piece_size=30)
    assert (full.status_code, full.headers["retry-after"]) == (503, "10")
    assert "3 jobs wait already" in full.json()["error"]
    site.client.post(f"/api/jobs/{names[2]}/stop")
    assert site.job(names[2])["state"] == "stopped"
    assert [site.job(name)["place"] for name in names[3:]] == [1, 2]
    site.client.delete(f"/api/jobs/{names[0]}")
    assert site.client.get(f"/api/jobs/{names[0]}").status_code == 404
    site.until(names[3], lambda status: status["state"] == "running")
    assert site.job(names[4])["place"] == 1


def test_many_real_jobs_at_once_are_all_done(site, photo_bytes):
    def create(seed):
        return site.create(picture(photo_bytes), piece_size=PIECE, seed=seed, preset="best").json()["id"]

    with ThreadPoolExecutor(8) as pool:
        names = list(pool.map(create, range(6)))
    states = [site.finished(name) for name in names]
    assert [status["state"] for status in states] == ["done"] * 6
    assert len(set(names)) == 6
    assert all(status["result"]["accuracy"]["perfect"] for status in states)


def test_a_worker_killed_in_the_middle_takes_nothing_with_it(site, photo_bytes):
    victim = site.create(sample="hopper", piece_size=12, preset="paper").json()["id"]
    site.until(victim, lambda status: status["phase"] in ("preparing", "solving"))
    os.kill(site.board.get(victim).process.pid, signal.SIGKILL)
    status = site.finished(victim)
    assert status["state"] == "failed"
    assert "killed by signal 9" in status["message"]
    assert "solve again" in status["message"]
    assert site.finished(site.create(picture(photo_bytes), piece_size=PIECE).json()["id"])["state"] == "done"


@pytest.mark.parametrize(
    ("script", "message"), [({"crash": 1}, "ended with code 3"), ({"babble": 1}, "makes no sense")]
)
def test_a_worker_that_breaks_is_reported(stage, script, message):
    site = stage(frames=1000, seconds=0.01, **script)
    status = site.finished(site.create(sample="hopper", piece_size=30).json()["id"])
    assert status["state"] == "failed"
    assert message in status["message"]


def test_a_worker_that_goes_on_for_ever_is_ended(stage, monkeypatch):
    monkeypatch.setattr("jigsolve.web.jobs.GRACE_SECONDS", 0.5)
    site = stage(Limits(solve_seconds=0.5), frames=10**6, seconds=0.1)
    status = site.finished(site.create(sample="hopper", piece_size=30).json()["id"])
    assert (status["state"], status["message"]) == ("failed", "the job took too long and was ended")


def test_workers_end_with_the_server(stage):
    site = stage(frames=10_000, seconds=0.05)
    name = site.create(sample="hopper", piece_size=30).json()["id"]
    site.until(name, lambda status: status["phase"] == "solving")
    process = site.board.get(name).process
    site.server.should_exit = True
    site.thread.join(60)
    assert process.returncode is not None


def test_finished_jobs_are_forgotten_when_they_are_many_or_old(stage):
    site = stage(Limits(kept=2), frames=1)
    names = []
    for _ in range(4):
        names.append(site.create(sample="hopper", piece_size=30).json()["id"])
        site.finished(names[-1])
    assert [site.client.get(f"/api/jobs/{name}").status_code for name in names] == [404, 404, 200, 200]
    site = stage(Limits(age_seconds=0.5), frames=1)
    name = site.create(sample="hopper", piece_size=30).json()["id"]
    folder = site.board.get(name).folder
    wait_until(lambda: site.client.get(f"/api/jobs/{name}").status_code == 404)
    assert not folder.exists()


# What is refused


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"sample": "hopper"}, "a whole picture needs a piece_size"),
        ({"sample": "mona", "piece_size": 30}, "sample must be one of hopper, dusk, relief, not 'mona'"),
        ({"piece_size": 30}, "send a picture, or name a sample"),
        ({"sample": "hopper", "piece_size": "0"}, "'0' is not a piece size"),
        ({"sample": "hopper", "piece_size": "30x"}, "'30x' is not a piece size"),
        ({"sample": "hopper", "piece_size": "-3"}, "'-3' is not a piece size"),
        ({"sample": "hopper", "piece_size": 30, "seed": -1}, "seed must be a whole number from 0"),
        ({"sample": "hopper", "piece_size": 30, "seed": 2**64}, "seed must be a whole number from 0"),
        ({"sample": "hopper", "piece_size": 30, "preset": "worst"}, "preset must be one of best, paper, not 'worst'"),
        ({"sample": "hopper", "piece_size": 30, "source": "/etc"}, "source must be one of"),
        ({"sample": "hopper", "piece_size": 30, "folder": "/etc"}, "there is no field 'folder'"),
    ],
)
def test_what_makes_no_sense_is_refused(site, fields, message):
    refused = site.create(**fields)
    assert refused.status_code == 400
    assert message in refused.json()["error"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "photo.png is empty"),
        (b"hello", "photo.png is not a picture"),
        (b"%PDF-1.7", "photo.png is not a picture"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "photo.png is not a picture"),
    ],
)
def test_what_is_no_picture_is_refused_at_once(site, data, message):
    refused = site.create(picture(data), piece_size=30)
    assert refused.status_code == 415
    assert message in refused.json()["error"]


def test_damaged_and_hostile_pictures_fail_with_a_sentence(site, photo_bytes):
    cases = [
        (photo_bytes[: len(photo_bytes) // 2], "photo.png is damaged or truncated"),
        (png_header_only(60_000, 60_000), "more pixels than is safe"),
        (png_header_only(9_000, 9_000), "81.0 million pixels are more than the 50.0 million allowed here"),
        (encoded(Image.new("F", (8, 8)), "TIFF"), "pixel type (F)"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "photo.png is "),
    ]
    names = [site.create(picture(data), piece_size=4).json()["id"] for data, _ in cases]
    for name, (_, message) in zip(names, cases, strict=True):
        status = site.finished(name)
        assert (status["state"], message in status["message"]) == ("failed", True), status["message"]
        assert "upload" not in status["message"]  # Where our files lie is nobody's business.


def fuzzed(rng, number):
    """A small picture with some bytes changed, of one format or another."""
    data = bytearray(encoded(Image.fromarray(noise(24, 24)), ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP")[number % 6]))
    for _ in range(rng.integers(1, 12)):
        data[rng.integers(16, len(data))] = rng.integers(256)
    return bytes(data[: rng.integers(len(data) // 2, 2 * len(data))])


def test_fuzzed_pictures_are_read_or_refused_in_a_sentence(tmp_path):
    rng = np.random.default_rng(3)
    task = {"source": "picture", "sample": None, "folder": str(tmp_path), "names": ["photo"], "seed": 1}
    task |= {"piece_width": 6, "piece_height": 6, "most_pixels": 10**6}
    (tmp_path / "upload").mkdir()
    read, refusals = 0, []
    for number in range(300):
        (tmp_path / "upload" / "0.png").write_bytes(fuzzed(rng, number))
        try:
            read_puzzle(task)
            read += 1
        except InputError as error:  # Nothing else comes out of it.
            refusals.append(str(error))
    assert read > 20  # Changed pixels make a picture all the same,
    assert len(refusals) > 20  # and changed headers do not.
    assert all(len(refusal.split()) > 2 for refusal in refusals)


def test_fuzzed_pictures_never_hurt_the_server(site):
    rng = np.random.default_rng(1)
    made = [site.create(picture(fuzzed(rng, number)), piece_size=12, preset="best") for number in range(8)]
    states = [site.finished(one.json()["id"]) for one in made]
    assert {status["state"] for status in states} <= {"done", "failed"}
    assert all(status["message"] or status["state"] == "done" for status in states)
    assert not any("the solving process" in status["message"] for status in states)


# The framework leaves it to Python to close the file of a part that breaks off.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_fuzzed_requests_get_an_answer_and_never_an_error_of_the_server(site):
    rng = np.random.default_rng(2)
    template = (
        b'--x\r\nContent-Disposition: form-data; name="picture"; filename="../../etc/passwd"\r\n\r\nBM hello\r\n'
        b'--x\r\nContent-Disposition: form-data; name="piece_size"\r\n\r\n30\r\n--x--\r\n'
    )
    for _ in range(200):
        body = bytearray(template)
        for _ in range(rng.integers(1, 6)):
            body[rng.integers(len(body))] = rng.integers(256)
        body = body[: rng.integers(len(body) // 2, len(body) + 1)]
        answer = site.client.post(
            "/api/jobs", content=bytes(body), headers={"Content-Type": "multipart/form-data; boundary=x"}
        )
        assert answer.status_code in (201, 400, 415, 503), (answer.status_code, body)
        assert "detail" not in answer.json()
        if answer.status_code == 201:
            site.client.delete(f"/api/jobs/{answer.json()['id']}")


def test_no_name_of_a_client_is_used_as_a_path(site, photo_bytes):
    made = site.create(picture(photo_bytes, "../../../../tmp/evil.png"), piece_size=PIECE)
    job = site.board.get(made.json()["id"])
    assert [path.name for path in (job.folder / "upload").iterdir()] == ["0.png"]
    site.finished(job.id)
    for path in ("upload/0.png", "..%2f..%2fetc%2fpasswd", "0.png", "../result.json", "task.json"):
        assert site.client.get(f"/api/jobs/{job.id}/{path}").status_code in (404, 405)
    for path in ("/static/../app.py", "/static/..%2fapp.py", "/static/app.py", "/static/%2e%2e/app.py"):
        assert site.client.get(path).status_code == 404


def test_uploads_are_limited_even_when_they_hide_their_length(stage):
    site = stage(Limits(upload_bytes=100_000))
    large = site.create(picture(bytes(200_000)), piece_size=30)
    assert (large.status_code, large.json()["error"]) == (413, "the upload is larger than the 0 MB allowed here")

    def chunks():
        yield b'--x\r\nContent-Disposition: form-data; name="picture"; filename="a"\r\n\r\n'
        for _ in range(50):
            yield bytes(10_000)

    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    with contextlib.suppress(httpx.TransportError):  # The server may hang up before everything is sent.
        assert site.client.post("/api/jobs", content=chunks(), headers=headers).status_code == 413
    assert site.board.get("") is None
    assert list(site.board._folder.iterdir()) == []


def test_pieces_are_limited(compiled, photo_bytes):
    from tests.web.conftest import Site

    with Site(Limits(pieces=100)) as site:
        status = site.finished(site.create(picture(photo_bytes), piece_size=10).json()["id"])
        assert status["message"] == "320 pieces are more than the 100 allowed here; choose larger pieces"


def test_tiles_that_do_not_belong_together_are_refused(site):
    tiles = [(f"{size}.png", encoded(Image.fromarray(noise(size, size)))) for size in (8, 8, 8, 9)]
    assert "give columns, one of 1, 2, 4" in site.create(tiles).json()["error"]
    assert "do not fill 3 columns" in site.create(tiles, columns=3).json()["error"]
    status = site.finished(site.create(tiles, columns=2).json()["id"])
    assert status["message"].startswith("all tiles must be alike: 9.png is 9x9 pixels")


def test_other_web_sites_are_refused(site):
    own = site.url.removeprefix("http://")
    foreign = [
        {"Host": "evil.example"},
        {"Host": own, "Origin": "http://evil.example"},
        {"Host": own, "Origin": "null"},
        {"Host": own, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
    ]
    for headers in foreign:
        for method, path in (("GET", "/api/about"), ("POST", "/api/jobs"), ("GET", "/openapi.json")):
            assert site.client.request(method, path, headers=headers).status_code == 403
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert site.client.get("/", headers=link).status_code == 200
    assert site.client.get("/api/about", headers={"Origin": site.url}).status_code == 200


def test_every_answer_is_strict(site):
    for path in ("/", "/jobs/none", "/api/about", "/api/jobs/none", "/static/main.js", "/nowhere"):
        headers = site.client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")
    assert site.client.get("/jobs/none").status_code == 404
    assert site.client.get("/api/jobs/none").json() == {"error": "there is no such job, or it is no longer kept"}


# For long


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_fifty_clients_follow_a_job_for_a_minute(crowd):
    said, _ = crowd.communicate(timeout=300)
    print(said)
    assert crowd.returncode == 0, said
