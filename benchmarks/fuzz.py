"""Broken pictures and requests: nothing may crash, fail with another error than a refusal, or take much memory.

    python benchmarks/fuzz.py pictures [--count 100000] [--images DIR] [--seed 0]
    python benchmarks/fuzz.py requests [--count 100000] [--sockets 2000] [--workspace DIR] [--name main] [--seed 0]

`pictures` changes small files of every format, truncated, with other bits, headers and repeated parts, and decodes each
as training, `check`, uploads and thumbnails do. `requests` sends generated methods, paths, parameters, headers and
bodies to the app in this process, and broken HTTP to `scenekin serve`. Each is generated from its number: give a
failure's number as `--seed` with `--count 1` to see it again.
"""

import argparse
import asyncio
import io
import json
import logging
import os
import random
import resource
import signal
import string
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import torch
from PIL import Image

from scenekin import Searcher
from scenekin.web.app import create_app
from scenekin.web.middleware import LOOPBACK
from scenekin.web.thumbnails import SIDE, render
from storage.workspace import find_workspace
from tasks.collection.image_info import inspect_image
from tasks.images.config import Preprocessing
from tasks.images.decode import UPLOAD_SIDE, UnreadableImage, check_budget
from tasks.images.preprocess import to_pixels

BATCH = 250
CLIENTS = 32
SILENCE = 60.0  # seconds
SLOW_SECONDS = 10.0  # of computing, for one picture
SAVED: list[tuple[str, str, dict[str, Any]]] = [  # mode, format, options
    *[("RGB", "JPEG", {}), ("RGB", "JPEG", {"progressive": True}), ("CMYK", "JPEG", {}), ("L", "JPEG", {})],
    *[(mode, "PNG", {}) for mode in ("RGB", "RGBA", "LA", "P", "1", "I;16")],
    *[
        ("RGB", "MPO", {"save_all": True}),
        ("P", "GIF", {}),
        ("P", "GIF", {"save_all": True, "append_images": [Image.new("P", (9, 9))]}),
    ],
    *[("RGB", "WEBP", {}), ("RGBA", "WEBP", {"lossless": True}), ("RGB", "AVIF", {}), ("RGB", "HEIF", {})],
    *[("RGB", "TIFF", {"compression": name}) for name in ("raw", "tiff_lzw", "tiff_adobe_deflate", "jpeg", "packbits")],
    *[("F", "TIFF", {}), ("1", "TIFF", {"compression": "group4"})],
    *[("RGB", "BMP", {}), ("P", "BMP", {}), ("RGB", "PPM", {}), ("1", "PPM", {}), ("I;16", "PPM", {})],
]


@dataclass
class Tally:
    """The outcomes of a run; failures name the number of their item."""

    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    slowest: tuple[float, int] = (0.0, -1)
    peak: int = 0  # bytes of the process

    def add(self, number: int, outcome: str, seconds: float) -> None:
        """Count one item."""
        self.outcomes[outcome] += 1
        self.slowest = max(self.slowest, (seconds, number))

    def merge(self, other: "Tally") -> None:
        """Add the outcomes of another process."""
        self.outcomes += other.outcomes
        self.failures += other.failures
        self.slowest, self.peak = max(self.slowest, other.slowest), max(self.peak, other.peak)


def peak_memory() -> int:
    """The most bytes that this process has used."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


@cache
def pictures(folder: Path | None) -> list[bytes]:
    """Small pictures of every format that is read, and those of a folder."""
    found = [file.read_bytes() for file in sorted(folder.rglob("*.*")) if file.is_file()] if folder else []
    for mode, kind, options in SAVED:
        stream = io.BytesIO()
        with suppress(KeyError):  # HEIC needs an extra
            noise = Image.effect_noise((48, 36), 60)
            picture = noise.convert("I").point(lambda value: value * 200).convert(mode) if mode == "I;16" else noise
            picture.convert(mode).save(stream, kind, **options)
            found.append(stream.getvalue())
    return found


def mutate(chance: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """Change a file in one to four ways."""
    for _ in range(chance.randint(1, 4)):
        size = len(data)
        start = chance.randrange(size + 1) if chance.random() < 0.5 else chance.randrange(min(size, 64) + 1)
        length = min(size - start, chance.choice([1, 2, 4, 8, 64, 1024]))
        end = start + length
        match chance.randrange(8):
            case 0:  # truncated
                data = data[:start]
            case 1:  # other bits
                flipped = bytes(byte ^ (1 << chance.randrange(8)) for byte in data[start:end])
                data = data[:start] + flipped + data[end:]
            case 2:  # other bytes
                data = data[:start] + chance.randbytes(length) + data[end:]
            case 3:  # extreme values
                data = data[:start] + chance.choice([b"\0", b"\xff", b"\x7f", b"\x80"]) * length + data[end:]
            case 4:  # a repeated part
                data = data[:end] + data[start:end] * chance.choice([1, 2, 50, 1000]) + data[end:]
            case 5:  # a missing part
                data = data[:start] + data[end:]
            case 6:  # a part of another file
                other = chance.choice(others)
                data = data[:start] + other[chance.randrange(len(other)) :][: length * 4] + data[end:]
            case _:  # another number in the header
                number = chance.choice([0, 1, 255, 256, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, chance.getrandbits(32)])
                data = data[:start] + struct.pack(chance.choice("<>") + "I", number) + data[start + 4 :]
    return data[: 2**20]


PATHS: dict[str, Callable[[bytes], object]] = {
    "training": lambda data: to_pixels(data, Preprocessing()),
    "upload": lambda data: check_budget(data, UPLOAD_SIDE),
    "thumbnail": lambda data: render(data, SIDE["thumbnail"]),
}


def decode_batch(first: int, count: int, folder: Path | None) -> Tally:
    """Decode mutated pictures in every way."""
    torch.set_num_threads(1)
    tally, seeds = Tally(), pictures(folder)
    for number in range(first, first + count):
        chance = random.Random(number)
        data = mutate(chance, chance.choice(seeds), seeds)
        started, outcome = time.process_time(), "decoded"
        for path, decode in PATHS.items():
            try:
                decode(data)
            except UnreadableImage:
                outcome = "refused"
            except BaseException as error:
                tally.failures.append(f"{number}, {path}: {error!r}")
        if info := inspect_image(data).problem:
            assert outcome == "refused", (number, info)
        tally.add(number, outcome, time.process_time() - started)
    if tally.slowest[0] > SLOW_SECONDS:
        tally.failures.append(f"{tally.slowest[1]}: took {tally.slowest[0]:.1f} s")
    tally.peak = peak_memory()
    return tally


def fuzz_pictures(first: int, count: int, folder: Path | None) -> Tally:
    """Decode in other processes, so that a crash is a failure of its batch."""
    tally = Tally()
    starts = range(first, first + count, BATCH)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(decode_batch, start, min(BATCH, first + count - start), folder) for start in starts]
        for start, job in zip(starts, jobs, strict=True):
            try:
                tally.merge(job.result())
            except BaseException as error:
                tally.failures.append(f"from {start}: {error!r}")
    return tally


@dataclass
class Request:
    """A request as bytes."""

    method: str
    target: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes
    chunks: int
    leaves: bool  # before the body is complete

    def parts(self) -> list[bytes]:
        """The body in chunks."""
        size = -(-len(self.body) // self.chunks) or 1
        return [self.body[start : start + size] for start in range(0, len(self.body), size)] or [b""]


ADDRESSES = ["/", "/api/search", "/api/explain", "/api/index", "/api/words", "/images/", "/page.js", "/openapi.json"]
NAMES = ["id", "text", "add", "remove", "alpha", "beta", "top", "recall", "a", "b", "prefix", "size", "image"]
STRANGE = [
    *["", " ", "\0", "%00", "../../etc/passwd", "..%2f..%2fetc%2fpasswd", "<script>alert(1)</script>", "{{7*7}}"],
    *[
        "' OR 1=1 --",
        "-1",
        "0",
        "1e999",
        "nan",
        "inf",
        "9" * 400,
        "snow:2",
        "snow:-1",
        "a:b:c",
        ":1",
        "16:9:1",
        "\ud800",
    ],
    *["é" * 200, "\u202e\u0000\ufffe", "👩‍👩‍👧" * 50, "日本" * 3000, "a" * 20_000, "(" * 5000, "a," * 5000, "\r\nx: y"],
]
METHODS = ["GET"] * 40 + ["POST"] * 40 + ["HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "X", "get", "É"]


class Generator:
    """Draws requests; each number gives the same request."""

    def __init__(self, ids: list[str], words: list[str]) -> None:
        self.ids = ids
        self.words = words
        self.pictures = pictures(None)

    def request(self, number: int) -> Request:
        """Draw the request of a number."""
        chance = random.Random(number)
        method = chance.choice(METHODS)
        target = self._target(chance)
        headers = [(b"host", b"localhost")] if chance.random() < 0.95 else []
        body = b""
        if method == "POST" or chance.random() < 0.1:
            kind, body = self._body(chance)
            headers += [(b"content-type", kind)] if chance.random() < 0.95 else []
            length = len(body) if chance.random() < 0.9 else chance.choice([0, 1, 10**12, -5])
            headers += [(b"content-length", str(length).encode())] if chance.random() < 0.8 else []
        names = [
            "accept",
            "range",
            "if-none-match",
            "origin",
            "sec-fetch-site",
            "cookie",
            "transfer-encoding",
            "expect",
        ]
        for _ in range(chance.choice([0, 0, 0, 0, 0, 0, 1, 2, 20])):
            value = self._value(chance).encode("utf-8", "replace").replace(b"\r", b"").replace(b"\n", b"")
            headers.append((chance.choice(names).encode(), value[:4000]))
        return Request(method, target, headers, body, chance.choice([1, 1, 2, 9, 50]), chance.random() < 0.03)

    def _value(self, chance: random.Random) -> str:
        match chance.randrange(6):
            case 0:
                return chance.choice(self.ids)
            case 1:
                return chance.choice(self.words)
            case 2:
                return " ".join(chance.choices(self.words, k=chance.randint(1, 60)))
            case 3:
                return "".join(chr(chance.randrange(0x3000)) for _ in range(chance.randrange(60)))
            case 4:
                return "".join(chance.choices(string.printable, k=chance.randrange(300)))
            case _:
                return chance.choice(STRANGE)

    def _target(self, chance: random.Random) -> bytes:
        path = chance.choice(ADDRESSES)
        if path == "/images/":
            path += quote(self._value(chance), safe="/%" if chance.random() < 0.5 else "", errors="replace")
        elif chance.random() < 0.05:
            path += quote(self._value(chance), errors="replace")
        pairs = [
            f"{chance.choice(NAMES)}={quote(self._value(chance), safe=chance.choice(['', '%&=+;']), errors='replace')}"
            for _ in range(chance.choice([0, 1, 1, 2, 3, 5, 100]))
        ]
        return f"{path}?{'&'.join(pairs)}".encode("ascii", "replace")[:60_000]

    def _body(self, chance: random.Random) -> tuple[bytes, bytes]:
        boundary = chance.choice([b"cut", b"", b"a" * 300, b"--", bytes([chance.randrange(33, 127)])])
        kind = b"multipart/form-data; boundary=" + (boundary if chance.random() < 0.95 else b"other")
        kind += b"; charset=" + chance.choice([b"punycode", b"utf-8", b"utf-7", b"x"]) if chance.random() < 0.1 else b""
        parts = []
        for _ in range(chance.choice([1, 2, 3, 3, 30, 300])):
            name = (
                chance.choice(NAMES).encode()
                if chance.random() < 0.95
                else self._value(chance).encode("utf-8", "replace")
            )
            value = self._value(chance).encode("utf-8", "replace")
            header = b'Content-Disposition: form-data; name="' + name + b'"'
            if name == b"image" or chance.random() < 0.05:
                header += b'; filename="' + self._value(chance).encode("utf-8", "replace")[:500] + b'"'
                value = chance.choice(self.pictures)
                value = mutate(chance, value, self.pictures) if chance.random() < 0.5 else value
            parts.append(b"--" + boundary + b"\r\n" + header + b"\r\n\r\n" + value + b"\r\n")
        body = b"".join(parts) + b"--" + boundary + b"--\r\n"
        match chance.randrange(8):
            case 0:
                body = mutate(chance, body, self.pictures)
            case 1:
                kind, body = b"application/x-www-form-urlencoded", self._target(chance).partition(b"?")[2]
            case 2:
                kind, body = chance.choice([b"application/json", b"text/plain", b"\xff", b""]), chance.randbytes(500)
        return kind, body


async def call(app: Any, request: Request) -> tuple[int, dict[bytes, bytes], bytes]:
    """Send a request to an ASGI app as a server would."""
    path, _, query = request.target.partition(b"?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": unquote(path.decode("ascii")),
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": request.headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    waiting = request.parts()
    if request.leaves:
        waiting = waiting[: len(waiting) // 2]
    status, headers, body, done = 0, {}, b"", asyncio.Event()

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(0)
        if waiting:
            chunk = waiting.pop(0)
            return {"type": "http.request", "body": chunk, "more_body": bool(waiting) or request.leaves}
        if not request.leaves:
            await done.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        nonlocal status, headers, body
        if message["type"] == "http.response.start":
            status, headers = message["status"], dict(message["headers"])
        else:
            body += message.get("body", b"")
            if not message.get("more_body"):
                done.set()

    await app(scope, receive, send)
    return status, headers, body


def fault(request: Request, status: int, headers: dict[bytes, bytes], body: bytes) -> str | None:
    """What is wrong with a response."""
    if status == 0:
        return None if request.leaves else "no response"
    if status >= 500 and status != 503:
        return f"status {status}: {body[:200]!r}"
    if b"Traceback" in body:
        return "a traceback"
    if headers.get(b"x-content-type-options") != b"nosniff":
        return "no security headers"
    if headers.get(b"content-type", b"").startswith(b"application/json") and request.method != "HEAD":
        value = json.loads(body)
        return None if status < 400 or isinstance(value.get("detail"), str) else f"no detail: {body[:200]!r}"
    return None


async def fuzz_app(app: Any, generator: Generator, first: int, count: int) -> Tally:
    """Send requests in this process."""
    tally, numbers = Tally(), iter(range(first, first + count))

    async def client() -> None:
        for number in numbers:
            request, started = generator.request(number), time.perf_counter()
            try:
                status, headers, body = await call(app, request)
            except BaseException as error:
                tally.failures.append(f"{number}: {error!r}")
                continue
            if wrong := fault(request, status, headers, body):
                tally.failures.append(f"{number}: {wrong}")
            tally.add(number, str(status or "left"), time.perf_counter() - started)

    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    tally.peak = peak_memory()
    return tally


async def fuzz_socket(port: int, generator: Generator, first: int, count: int) -> Tally:
    """Send the same requests, often broken as HTTP, over connections."""
    tally, numbers = Tally(), iter(range(first, first + count))

    async def client() -> None:
        for number in numbers:
            request, chance, started = generator.request(number), random.Random(number), time.perf_counter()
            lines = [request.method.encode() + b" " + request.target + b" HTTP/1.1"]
            lines += [name + b": " + value for name, value in request.headers]
            data = b"\r\n".join([*lines, b"connection: close", b"", b""]) + request.body
            data = mutate(chance, data, generator.pictures) if chance.random() < 0.5 else data
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            with suppress(OSError):  # closed by the server
                for part in Request("", b"", [], data, request.chunks, leaves=False).parts():
                    writer.write(part)
                    await writer.drain()
                if writer.can_write_eof():
                    writer.write_eof()
            answer = b""
            try:
                answer = await asyncio.wait_for(reader.read(), SILENCE)
            except TimeoutError:
                tally.failures.append(f"{number}: no answer in {SILENCE:.0f} s")
            except OSError:
                pass
            writer.close()
            status = answer[9:12].decode("latin-1") or "closed"
            if status.startswith("5") and status != "503":
                tally.failures.append(f"{number}: {answer[:200]!r}")
            tally.add(number, status, time.perf_counter() - started)

    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    return tally


def served(workspace: Path, name: str, generator: Generator, first: int, count: int) -> Tally:
    """Fuzz a server process over sockets; it has to be alive and silent afterwards."""
    command = [str(Path(sys.executable).with_name("scenekin")), "serve", "--port", "0", "--name", name]
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as errors,
        subprocess.Popen(
            [*command, "--workspace", str(workspace)], stdout=subprocess.PIPE, stderr=errors, text=True
        ) as server,
    ):
        assert server.stdout is not None
        address = next(word for word in server.stdout.readline().split() if word.startswith("http"))
        try:
            tally = asyncio.run(fuzz_socket(int(address.rpartition(":")[2]), generator, first, count))
        except BaseException:
            server.kill()
            raise
        if server.poll() is not None:
            tally.failures.append(f"the server ended with {server.returncode}")
        status = Path(f"/proc/{server.pid}/status")
        if status.exists():
            tally.peak = 1024 * int(status.read_text(encoding="utf-8").partition("VmHWM:")[2].split()[0])
        server.send_signal(signal.SIGINT)
        server.wait(30)
        errors.seek(0)
        if "Traceback" in (log := errors.read()):
            tally.failures.append(f"the server's log: {log[-2000:]}")
    return tally


class Failing(logging.Handler):
    """Collects what is logged as an error."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record."""
        self.messages.append(f"logged: {record.getMessage()}")


def report(title: str, tally: Tally, seconds: float) -> None:
    """Print a run."""
    outcomes = ", ".join(f"{outcome}: {count:,}" for outcome, count in sorted(tally.outcomes.items()))
    print(f"{title}: {tally.outcomes.total():,} in {seconds:.0f} s, load {os.getloadavg()[0]:.1f}; {outcomes}")
    slowest, number = tally.slowest
    peak = f"{tally.peak / 2**20:,.0f} MB"
    print(f"  {len(tally.failures)} failures, slowest {slowest:.1f} s (number {number}), peak memory {peak}")
    for failure in tally.failures[:20]:
        print(f"  {failure[:1000]}")


def runs(args: argparse.Namespace) -> Iterator[tuple[str, Callable[[], Tally]]]:
    """The runs that were asked for."""
    if args.what == "pictures":
        yield "pictures", lambda: fuzz_pictures(args.seed, args.count, args.images)
        return
    searcher = Searcher.open(args.workspace, args.name)
    words = ["snow", "dog", "house", "zzqx", "the", *(word for word, _ in searcher.text.complete("s", 40))]
    generator = Generator(searcher.image_ids, words)
    workspace = find_workspace(args.workspace)
    app = create_app(workspace, args.name, hosts=LOOPBACK)
    yield "requests", lambda: asyncio.run(fuzz_app(app, generator, args.seed, args.count))
    if args.sockets:
        yield "over sockets", lambda: served(workspace.root, args.name, generator, args.seed, args.sockets)


def main() -> None:
    """Run and report; fail if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["pictures", "requests"])
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--sockets", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--images", type=Path)
    parser.add_argument("--workspace")
    parser.add_argument("--name", default="main")
    args = parser.parse_args()
    failing = Failing()
    logging.getLogger().addHandler(failing)
    failed = 0
    for title, run in runs(args):
        started = time.perf_counter()
        tally = run()
        tally.failures += failing.messages
        report(title, tally, time.perf_counter() - started)
        failed += len(tally.failures)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
