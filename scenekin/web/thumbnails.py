"""Upright JPEGs in the page's sizes, made on request and cached in memory."""

import base64
import io
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Literal

from PIL import Image

from tasks.images.decode import decode_reduced

JpegSize = Literal["thumbnail", "picture"]

SIDE: dict[JpegSize, int] = {"thumbnail": 480, "picture": 1600}
CACHE_BYTES = 64 * 2**20
QUALITY = 85


def render(data: bytes, side: int) -> bytes:
    """Return an image file as a JPEG whose longer side is at most `side` pixels. Raises UnreadableImage."""
    return encode_jpeg(fit(data, side))


def fit(data: bytes, side: int) -> Image.Image:
    """Return the upright image in a file, its longer side at most `side` pixels. Raises UnreadableImage."""
    image = decode_reduced(data, 2 * side).image
    image.thumbnail((side, side), Image.Resampling.LANCZOS)
    return image


def encode_jpeg(image: Image.Image) -> bytes:
    """Encode an image as JPEG without any metadata."""
    stream = io.BytesIO()
    image.save(stream, "JPEG", quality=QUALITY)
    return stream.getvalue()


class ByteCache:
    """A least-recently-used cache of byte strings whose total size stays within a limit."""

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        self.limit = limit
        self.size = 0
        self._entries: OrderedDict[Hashable, bytes] = OrderedDict()
        self._pending: dict[Hashable, Future[bytes]] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], bytes]) -> bytes:
        """Return the entry of a key, made by the first request; concurrent requests wait for it."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                return self._entries[key]
            is_first = key not in self._pending
            entry = self._pending.setdefault(key, Future())
        if is_first:
            self._make(key, make, entry)
        return entry.result()

    def _make(self, key: Hashable, make: Callable[[], bytes], entry: Future[bytes]) -> None:
        try:
            made = make()
        except BaseException as error:  # raised by `result` in every waiting thread
            entry.set_exception(error)
        else:
            entry.set_result(made)
        with self._lock:
            del self._pending[key]
            if entry.exception() is None:
                self._entries[key] = made
                self.size += len(made)
            while self.size > self.limit:
                self.size -= len(self._entries.popitem(last=False)[1])


def data_uri(jpeg: bytes) -> str:
    """Return a JPEG as a data URI."""
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}"
