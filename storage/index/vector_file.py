"""Vectors that are read from their file by rows. Unlike a memory map, they survive the truncation of the file."""

import os
import weakref
from pathlib import Path

import numpy as np

from storage.errors import StorageError


class VectorFile:
    """embedding_ND, float16, of an index; rows are arrays. Raises StorageError if the file ends before them.

    A file that is removed or replaced stays readable.
    """

    dtype = np.dtype(np.float16)

    def __init__(self, file: Path, shape: tuple[int, int], index: str) -> None:
        self.shape = shape
        self.index = index
        self._descriptor = os.open(file, os.O_RDONLY)
        weakref.finalize(self, os.close, self._descriptor)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: int | slice | np.ndarray) -> np.ndarray:
        if isinstance(rows, slice):
            start, end, step = rows.indices(len(self))
            return self._read(start, end)[::step] if step > 0 else self[np.arange(start, end, step)]
        if isinstance(rows, np.ndarray):
            return np.concatenate(
                [np.empty((0, self.shape[1]), self.dtype), *(self._read(row, row + 1) for row in rows)]
            )
        row_D: np.ndarray = self._read(rows, rows + 1)[0]
        return row_D

    def _read(self, start: int, end: int) -> np.ndarray:
        """Return the rows from `start` to before `end`."""
        block_RD = np.empty((max(0, end - start), self.shape[1]), self.dtype)
        width = block_RD.itemsize * self.shape[1]
        buffer, done = block_RD.reshape(-1).view(np.uint8).data, 0
        while done < len(buffer):
            count = os.preadv(self._descriptor, [buffer[done:]], int(start) * width + done)
            if not count:
                raise StorageError(f"The vectors of the index {self.index!r} were truncated; open it again.")
            done += count
        return block_RD
