"""Pictures as the page shows them: upright, made when first asked for, the latest kept in memory."""

import base64
import io
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Literal

from PIL import Image

from tasks.images.decode import decode_reduced

Size = Literal["thumbnail", "picture"]

SIDE: dict[Size, int] = {"thumbnail": 480, "picture": 1600}
CACHE_BYTES = 64 * 2**20
QUALITY = 85


def render(data: bytes, side: int) -> bytes:
    """The picture in a file's bytes as JPEG, its longer side at most `side` pixels. Raises UnreadableImage."""
    return to_jpeg(fitted(data, side))


def fitted(data: bytes, side: int) -> Image.Image:
    """The upright picture in a file's bytes, its longer side at most `side` pixels. Raises UnreadableImage."""
    image = decode_reduced(data, 2 * side).image
    image.thumbnail((side, side), Image.Resampling.LANCZOS)
    return image


def to_jpeg(image: Image.Image) -> bytes:
    """A picture as JPEG; nothing but its pixels is in it."""
    stream = io.BytesIO()
    image.save(stream, "JPEG", quality=QUALITY)
    return stream.getvalue()


class Cache:
    """Bytes by key, the longest unused forgotten first, so that all together stay within a bound."""

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        self.limit = limit
        self.size = 0
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], bytes]) -> bytes:
        """What is kept under a key, else what `make` gives; two threads may make the same."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = make()
        with self._lock:
            self.size += len(made) - len(self._kept.pop(key, b""))
            self._kept[key] = made
            while self.size > self.limit:
                self.size -= len(self._kept.popitem(last=False)[1])
        return made


def data_uri(jpeg: bytes) -> str:
    """A picture inside the page."""
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}"
