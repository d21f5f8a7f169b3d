"""Reads images that are stored in a column of a Parquet file, at paths such as `train.parquet/image/17`."""

import re
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

KEPT = 2  # row groups that are kept in memory, since images are mostly read in order

_PATH = re.compile(r"(?P<file>.+\.parquet)/(?P<column>[^/]+)/(?P<row>\d+)", re.IGNORECASE)
_kept: OrderedDict[tuple[str, str, int], list[Any]] = OrderedDict()
_lock = threading.Lock()


def file_of(path: str) -> str | None:
    """Return the Parquet file that a path of this kind names; None for other paths."""
    match = _PATH.fullmatch(path)
    return match["file"] if match else None


def read_image(path: str, place: str, open_file: Callable[[str], BinaryIO]) -> bytes:
    """Return the bytes of one image; `place` identifies the file and its state. Raises OSError."""
    match = _PATH.fullmatch(path)
    if match is None:
        raise FileNotFoundError(path)
    try:
        with _lock:  # a row group is read once, however many threads want its images
            value = _value(place, lambda: open_file(match["file"]), match["column"], int(match["row"]))
    except (pa.ArrowException, KeyError, ValueError) as error:
        raise OSError(f"cannot read {path}: {error}") from error
    data = value.get("bytes") if isinstance(value, dict) else value
    if not isinstance(data, bytes):
        raise FileNotFoundError(path)
    return data


def _value(place: str, open_file: Callable[[], BinaryIO], column: str, row: int) -> Any:
    for (kept_place, kept_column, start), values in _kept.items():
        if (kept_place, kept_column) == (place, column) and start <= row < start + len(values):
            _kept.move_to_end((kept_place, kept_column, start))
            return values[row - start]
    with open_file() as stream:
        file = pq.ParquetFile(stream)
        start = 0
        for group in range(file.num_row_groups):
            count = file.metadata.row_group(group).num_rows
            if row < start + count:
                values = file.read_row_group(group, columns=[column])[column].to_pylist()
                _kept[place, column, start] = values
                while len(_kept) > KEPT:
                    _kept.popitem(last=False)
                return values[row - start]
            start += count
    return None
