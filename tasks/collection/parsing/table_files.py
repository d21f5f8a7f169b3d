"""Reads the columns and rows of a table: CSV, TSV, JSON, JSON Lines or Parquet, by its content."""

import json
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.collection.image_names import is_image
from tasks.collection.parsing.csv_rows import read_csv, read_tsv, report_repeated_columns
from tasks.collection.parsing.text import numbered_lines, read_text
from tasks.collection.records import Files, Problem
from tasks.errors import InputError

BATCH = 1024  # Parquet rows read at a time
SAMPLE = 100  # values of a binary column that must be UTF-8 text
TEXT_TABLES = (".csv", ".tsv", ".jsonl", ".ndjson")
EXTENSIONS = (*TEXT_TABLES, ".parquet")
OTHER_FILES = {  # by their first bytes, in lower case
    b"pk\x03\x04": "an Excel workbook or ZIP archive, not a table; unpack it or export it as CSV",
    b"\xd0\xcf\x11\xe0": "an Excel workbook, not a table; export it as CSV",
    b"\x1f\x8b": "a compressed file, not a table; unpack it or export it as CSV",
    b"<!doctype html": "a web page, not a table; download the file again",
    b"<html": "a web page, not a table; download the file again",
    b"version https://git-lfs": "a pointer of Git LFS, not a table; run `git lfs pull`",
}
JSON_NAMES = (".json", ".jsonl", ".ndjson")

Row = tuple[int, dict[str, Any]]


@dataclass(frozen=True)
class TableFile:
    """`columns` are in the file's order; `rows` returns the values of some of them, with the row's line or number.

    Of a Parquet file only columns of text, lists of text or integers are included; no other is ever loaded. Those with
    encoded images are `image_columns`.
    """

    columns: Sequence[str]
    rows: Callable[[Sequence[str]], Iterator[Row]]
    image_columns: Sequence[str] = ()


def open_table(files: Files, source: str, problems: list[Problem]) -> TableFile:
    """Open a table by its content; broken rows are skipped and reported.

    Raises InputError if the file is unreadable.
    """
    with files.open(source) as stream:
        head = stream.read(32)
    for start, kind in OTHER_FILES.items():
        if head.lower().startswith(start):
            raise InputError(f"{source} is {kind}.")
    if source.lower().endswith(".parquet") and not head.startswith(b"PAR1"):
        raise InputError(f"{source} is not a Parquet file, despite its name; check where it comes from.")
    if head.startswith(b"PAR1"):
        return _open_parquet(files, source, problems)
    rows = _text_rows(read_text(files, source, problems), source, problems)
    columns = dict.fromkeys(column for _, row in rows for column in row if column)
    return TableFile(tuple(columns), lambda _: iter(rows))


def _text_rows(text: str, source: str, problems: list[Problem]) -> Sequence[Row]:
    extension = posixpath.splitext(source)[1].lower()
    if _is_json(text, extension):
        return (_json_lines if extension in (".jsonl", ".ndjson") else _json_rows)(text, source, problems)
    header = text.partition("\n")[0]
    if extension == ".tsv" or (extension != ".csv" and "\t" in header):
        return read_tsv(text, source, problems)
    return read_csv(text, source, problems)


def _is_json(text: str, extension: str) -> bool:
    """Return whether any line begins like JSON; under a name of another kind, whether the first line or all of it is.

    So a broken first line of JSON Lines makes no other table of it, nor does a header such as `[id],name` make JSON.
    """
    if extension in JSON_NAMES:
        return re.search(r"^\s*[\[{]", text, re.MULTILINE) is not None
    if text.lstrip()[:1] not in ("{", "["):
        return False
    for part in (text.lstrip().partition("\n")[0], text):
        with suppress(ValueError, RecursionError):
            json.loads(part)
            return True
    return extension not in (".csv", ".tsv")


def _open_parquet(files: Files, source: str, problems: list[Problem]) -> TableFile:
    def rows(columns: Sequence[str]) -> Iterator[Row]:
        with _parquet(files, source) as file:
            batches = file.iter_batches(BATCH, columns=list(columns))
            for number, row in enumerate((row for batch in batches for row in batch.to_pylist()), start=1):
                yield number, {column: _as_text(value) for column, value in row.items()}

    with _parquet(files, source) as file:
        fields = list(file.schema_arrow)
        binary = [field.name for field in fields if _is_binary(field.type)]
        text = {name for name in binary if _is_text(file, name)}
        names = [field.name for field in fields if _may_hold_text(field.type) or field.name in text]
        images = [field.name for field in fields if _is_image(field.type)]
    report_repeated_columns(names, source, None, problems)
    return TableFile(list(dict.fromkeys(names)), rows, [*images, *(name for name in binary if name not in text)])


@contextmanager
def _parquet(files: Files, source: str) -> Iterator[pq.ParquetFile]:
    """Raise InputError also for damage that is found while values are read."""
    try:
        with files.open(source) as stream:
            yield pq.ParquetFile(stream)
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = " ".join(str(error).split()).removesuffix(".")
        raise InputError(f"{source} is an incomplete Parquet file ({reason}); download it again.") from error


def _may_hold_text(kind: pa.DataType) -> bool:
    value = kind
    while hasattr(value, "value_type"):  # of a list or dictionary
        value = value.value_type
    return value in (pa.string(), pa.large_string(), pa.string_view(), pa.null()) or bool(pa.types.is_integer(kind))


def _is_binary(kind: pa.DataType) -> bool:
    return kind in (pa.binary(), pa.large_binary(), pa.binary_view())


def _is_image(kind: pa.DataType) -> bool:
    """Return whether the type is that of Hugging Face's images: the bytes of a file, and its path."""
    return bool(pa.types.is_struct(kind)) and kind.get_field_index("bytes") >= 0


def _is_text(file: pq.ParquetFile, column: str) -> bool:
    """Return whether a binary column contains UTF-8 text, as some programs write it."""
    values = (value for batch in file.iter_batches(8, columns=[column]) for value in batch[column].to_pylist())
    try:
        for value in islice((value for value in values if value is not None), SAMPLE):
            if b"\0" in value:
                return False
            value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _as_text(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _json_lines(text: str, source: str, problems: list[Problem]) -> list[Row]:
    rows = []
    for line, record in numbered_lines(text):
        try:
            row = json.loads(record)
        except (ValueError, RecursionError):
            problems.append(Problem("bad-row", source, "the line is not JSON and is skipped", line))
            continue
        if isinstance(row, dict):
            rows.append((line, row))
        else:
            problems.append(Problem("bad-row", source, "the line is not a JSON object and is skipped", line))
    return rows


def _json_rows(text: str, source: str, problems: list[Problem]) -> list[Row]:
    """Return the objects of a list, by their places in it, or captions by image name; else the file's lines."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return _json_lines(text, source, problems)
    if isinstance(content, list):
        bad = [number for number, entry in enumerate(content, start=1) if not isinstance(entry, dict)]
        problems += [Problem("bad-row", source, f"entry {number} is not an object and is skipped") for number in bad]
        return [(number, entry) for number, entry in enumerate(content, start=1) if isinstance(entry, dict)]
    if isinstance(content, dict) and content and all(map(is_image, content)):
        rows = ({"image": name, "caption": captions} for name, captions in content.items())
        return list(enumerate(rows, start=1))
    return [(1, content)] if isinstance(content, dict) else []
