"""A worker for tests that solves nothing: it tells what it is told to, at the pace it is told to.

`python staged.py SCRIPT`, where SCRIPT is JSON: rows, columns, frames, and seconds between them; or "crash".
"""

import json
import os
import sys
import threading
import time
from pathlib import Path

import numpy as np
from PIL import Image

from jigsolve.web import messages

PIECE = 12


def main():
    if sys.argv[-1] == "--warm-up":
        return
    script = json.loads(sys.argv[1])
    task = json.loads(sys.stdin.buffer.readline())
    stopping = threading.Event()
    threading.Thread(target=listen, args=(stopping,), daemon=True).start()
    out = os.fdopen(os.dup(1), "wb")

    def send(kind, body=b"", **values):
        out.write(messages.pack({"kind": kind, **values}, body))
        out.flush()

    rows, columns = script["rows"], script["columns"]
    folder = Path(task["folder"])
    y, x = np.mgrid[0 : rows * PIECE, 0 : columns * PIECE]
    pixels = np.stack([x * 255 // x.max(), y * 255 // y.max(), (x // PIECE + y // PIECE) % 2 * 80 + 80], axis=-1)
    order = np.random.default_rng(1).permutation(rows * columns)
    cells = pixels.astype(np.uint8).reshape(rows, PIECE, columns, PIECE, 3).swapaxes(1, 2).reshape(-1, PIECE, PIECE, 3)
    shuffled = cells[order].reshape(rows, columns, PIECE, PIECE, 3).swapaxes(1, 2).reshape(pixels.shape)
    for name, array in (("pieces.png", shuffled), ("original.png", pixels), ("solved.png", pixels)):
        Image.fromarray(array.astype(np.uint8)).save(folder / name, compress_level=1)
    (folder / "result.json").write_text("{}")
    send("puzzle", rows=rows, columns=columns, piece_width=PIECE, piece_height=PIECE, truth_known=True)
    if "warming" in script:
        send("phase", phase="warming")
        time.sleep(script["warming"])
    for number in range(script["frames"]):
        if script.get("crash") == number:
            os._exit(3)
        if script.get("babble") == number:
            out.write(b"\xff" * 64)
            out.flush()
        grid = np.random.default_rng(number).permutation(rows * columns).astype("<u2").tobytes()
        cost = 1000.0 / (1 + number)
        record = {"number": number, "stage": "evolve", "best_cost": cost, "mean_cost": 1.1 * cost, "agreed_share": 0.5}
        record |= {"buddy_share": 0.25, "greedy_share": 0.25, "seconds": 0.1 * number, "stale": 0}
        send("generation", grid, record=record | {"neighbour": 0.5, "direct": 0.25})
        if stopping.wait(script.get("seconds", 0)):
            break
    seconds = {"costs": 0.0, "total": 1.0}
    accuracy = {"neighbour": 0.5, "direct": 0.25, "perfect": False}
    send("result", cost=1.0, certain_share=1.0, generations=1, stopped="", seconds=seconds, accuracy=accuracy)
    time.sleep(script.get("linger", 0))
    os._exit(0)


def listen(stopping):
    for line in iter(sys.stdin.buffer.readline, b""):
        if line == b"stop\n":
            stopping.set()
    os._exit(1)


if __name__ == "__main__":
    main()
