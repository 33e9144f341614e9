"""Many clients follow one job: does memory grow, is anything lost?

`python -m tests.web.crowd --clients 50 --seconds 60` starts a server in a process of its own, with a staged job of
5,000 pieces and five arrangements a second, lets the clients follow it, and says what each saw and what memory the
server took. Half of the clients vanish and come back in the middle.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import httpx

SERVER = """
import json, sys
from tests.web.conftest import Site, staged
script = json.loads(sys.argv[1])
with Site(worker=staged(**script)) as site:
    print(site.url, flush=True)
    sys.stdin.read()
"""
PACE = 5


async def follow(client, name, vanishes, seen):
    last = None
    while True:
        headers = {} if last is None else {"Last-Event-ID": str(last)}
        async with client.stream("GET", f"/api/jobs/{name}/events", headers=headers) as response:
            async for line in response.aiter_lines():
                if line.startswith("id: "):
                    last = int(line[4:])
                    seen.append(last)
                elif line == "event: end":
                    return
                if vanishes and len(seen) >= vanishes:
                    vanishes = 0
                    break


async def crowd(url, process, clients, seconds):
    limits = httpx.Limits(max_connections=clients + 5)
    async with httpx.AsyncClient(base_url=url, timeout=60, limits=limits) as client:
        made = await client.post("/api/jobs", files={"sample": (None, "hopper"), "piece_size": (None, "30")})
        name = made.json()["id"]
        seen = [[] for _ in range(clients)]
        halfway = PACE * seconds // 2
        tasks = [
            asyncio.create_task(follow(client, name, halfway if number % 2 else 0, seen[number]))
            for number in range(clients)
        ]
        memory = []
        begin = time.monotonic()
        while not all(task.done() for task in tasks):
            memory.append((time.monotonic() - begin, resident_megabytes(process.pid)))
            await asyncio.sleep(1)
        for task in tasks:
            task.result()
    return seen, memory


def resident_megabytes(pid):
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args()
    frames = PACE * options.seconds
    script = {"rows": 50, "columns": 100, "frames": frames, "seconds": 1 / PACE}
    command = [sys.executable, "-c", SERVER, json.dumps(script)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        url = process.stdout.readline().strip()
        seen, memory = asyncio.run(crowd(url, process, options.clients, options.seconds))
    finally:
        process.stdin.close()
        process.wait(30)
    whole = [numbers == list(range(frames)) for numbers in seen]
    early = [value for at, value in memory if at <= options.seconds / 3]
    late = [value for at, value in memory if at >= options.seconds * 2 / 3]
    # What the story itself keeps, 10 kB an arrangement, grows by right.
    kept = 2 * 5000 * frames / 2**20
    growth = max(late) - max(early)
    print(f"{sum(whole)} of {len(whole)} clients saw all {frames} generations in order")
    print(f"server: {early[0]:.0f} MB at first, {max(early):.0f} MB in the first third, {max(late):.0f} MB in the last")
    print(f"growth {growth:.1f} MB, of which the arrangements kept may be {kept:.1f} MB")
    sys.exit(0 if all(whole) and growth < kept + 8 else 1)


if __name__ == "__main__":
    main()
