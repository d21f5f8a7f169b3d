"""A server under load: many clients that search, look at pictures, upload and explain.

    python benchmarks/load.py [--workspace DIR] [--name main] [--clients 64] [--seconds 60]

Starts `scenekin serve` on loopback. Each client sends one request after another, of a kind drawn with the weights
below, and waits `Retry-After` seconds where the server is busy (503). Prints the requests, the latencies of those that
succeeded in seconds, and the server's peak memory. An error is any other response than 200 or 503.
"""

import argparse
import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import numpy as np

from scenekin import Searcher

WEIGHTS = {"search": 40, "picture": 40, "upload": 10, "explain": 10}
WORDS = ("man", "dog", "house", "snow", "boat", "street")
IMAGES = 200  # different images that requests name
TIMEOUT = 120.0


@dataclass
class Tally:
    """The outcomes of one kind of request."""

    seconds: list[float] = field(default_factory=list)
    busy: int = 0
    errors: list[str] = field(default_factory=list)


def request(kind: str, ids: list[str], uploads: list[bytes]) -> dict[str, Any]:
    """The arguments of a random request."""
    a, b = random.choice(ids), random.choice(ids)
    match kind:
        case "search":
            return {"method": "GET", "url": "/api/search", "params": {"id": a, "add": random.choice(WORDS)}}
        case "picture":
            return {"method": "GET", "url": f"/images/{quote(a, safe='')}", "params": {"size": "thumbnail"}}
        case "upload":
            return {"method": "POST", "url": "/api/search", "files": {"image": ("a.jpg", random.choice(uploads))}}
        case _:
            return {"method": "GET", "url": "/api/explain", "params": {"a": a, "b": b}}


async def client(address: str, until: float, tallies: dict[str, Tally], ids: list[str], uploads: list[bytes]) -> None:
    """Send requests until the time is over."""
    # Without TLS: each session would load the certificates and stop all clients meanwhile.
    async with httpx.AsyncClient(base_url=address, timeout=TIMEOUT, verify=False) as session:
        while time.perf_counter() < until:
            (kind,) = random.choices([*WEIGHTS], [*WEIGHTS.values()])
            started = time.perf_counter()
            try:
                response = await session.request(**request(kind, ids, uploads))
            except httpx.HTTPError as error:
                tallies[kind].errors.append(type(error).__name__)
                continue
            if response.status_code == httpx.codes.OK:
                tallies[kind].seconds.append(time.perf_counter() - started)
            elif response.status_code == httpx.codes.SERVICE_UNAVAILABLE:
                tallies[kind].busy += 1
                await asyncio.sleep(float(response.headers.get("retry-after", 1)))
            else:
                tallies[kind].errors.append(f"{response.status_code} {response.text[:80]}")


async def load(address: str, clients: int, seconds: float, ids: list[str]) -> dict[str, Tally]:
    """All clients at once."""
    async with httpx.AsyncClient(base_url=address, timeout=TIMEOUT, verify=False) as session:
        originals = [await session.get(f"/images/{quote(name, safe='')}") for name in ids[:20]]
        for kind in WEIGHTS:  # loads the model and its words
            await session.request(**request(kind, ids, [originals[0].content]))
    uploads = [response.content for response in originals]
    tallies: dict[str, Tally] = defaultdict(Tally)
    until = time.perf_counter() + seconds
    async with asyncio.TaskGroup() as group:
        for _ in range(clients):
            group.create_task(client(address, until, tallies, ids, uploads))
    return tallies


def peak_memory(pid: int) -> str:
    """The most memory that a process has used."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    kilobytes = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
    return f"{int(kilobytes) / 1024:,.0f} MB"


def main() -> None:
    """Start a server, load it, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workspace")
    parser.add_argument("--name", default="main")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60)
    args = parser.parse_args()
    searcher = Searcher.open(args.workspace, args.name)
    ids = searcher.image_ids[:: max(1, len(searcher.image_ids) // IMAGES)][:IMAGES]
    command = [Path(sys.executable).with_name("scenekin"), "serve", "--port", "0", "--name", args.name]
    command += ["--workspace", searcher.workspace.root]
    random.seed(0)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = next(word for word in server.stdout.readline().split() if word.startswith("http"))
        before = peak_memory(server.pid)
        tallies = asyncio.run(load(address, args.clients, args.seconds, ids))
        after = peak_memory(server.pid)
        server.send_signal(signal.SIGINT)
    print(f"{args.clients} clients, {args.seconds:.0f} s, {len(searcher.image_ids):,} images, ", end="")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"{'':8} {'done':>7} {'busy':>6} {'errors':>6} {'p50':>7} {'p95':>7} {'max':>7}")
    for kind in WEIGHTS:
        tally = tallies[kind]
        p50, p95, most = np.quantile(tally.seconds, [0.5, 0.95, 1]) if tally.seconds else [np.nan] * 3
        counts = f"{len(tally.seconds):7} {tally.busy:6} {len(tally.errors):6}"
        print(f"{kind:8} {counts} {p50:7.3f} {p95:7.3f} {most:7.3f}", *sorted({*tally.errors}), sep="  ")
    print(f"peak memory {before} at the start, {after} at the end")


if __name__ == "__main__":
    main()
