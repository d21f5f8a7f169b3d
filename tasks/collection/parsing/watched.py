"""Files that show how far the reading of a large one has come."""

import io
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO

from tasks.collection.records import Files

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

LARGE = 2**25  # bytes
BUFFER = 2**20  # bytes between two steps

Progress = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]  # label and total → on_step


def watched(files: Files, progress: Progress) -> Files:
    """The same files, where opening a large one begins a progress bar of its bytes that closing it ends."""

    def open_watched(path: str) -> BinaryIO:
        stream = files.open(path)
        size = _size(stream)
        if size < LARGE:
            return stream
        return io.BufferedReader(_Watched(stream, progress(f"reading {path}", size)), BUFFER)

    return replace(files, open=open_watched)


def _size(stream: BinaryIO) -> int:
    """In bytes; 0 where it cannot be known, as of what a web server streams."""
    try:
        size = stream.seek(0, io.SEEK_END)
        stream.seek(0)
    except (OSError, ValueError):
        return 0
    return size


class _Watched(io.RawIOBase):
    """A stream that tells a progress bar what is read of it."""

    def __init__(self, stream: BinaryIO, bar: AbstractContextManager[Callable[[int], None]]) -> None:
        self._stream, self._bar = stream, bar
        self._on_step = bar.__enter__()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer)
        data = self._stream.read(len(view))
        view[: len(data)] = data
        self._on_step(len(data))
        return len(data)

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._stream.seek(offset, whence)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
            self._bar.__exit__(None, None, None)
        super().close()
