"""Reports the progress of reading large files."""

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

ReportProgress = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]  # label and total → on_step


def with_progress(files: Files, progress: ReportProgress) -> Files:
    """Return the same files, except that large ones show a progress bar of bytes from opening to closing."""

    def open_file(path: str) -> BinaryIO:
        stream = files.open(path)
        size = _size(stream)
        if size < LARGE:
            return stream
        return io.BufferedReader(_ReportingStream(stream, progress(f"reading {path}", size)), BUFFER)

    return replace(files, open=open_file)


def _size(stream: BinaryIO) -> int:
    """Return the size in bytes; 0 if it is unknown, as with a web server's stream."""
    try:
        size = stream.seek(0, io.SEEK_END)
        stream.seek(0)
    except (OSError, ValueError):
        return 0
    return size


class _ReportingStream(io.RawIOBase):
    """A stream that reports every read to a progress bar."""

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
