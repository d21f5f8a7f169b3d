"""Reads the columns and rows of a .csv, .tsv, .jsonl or .parquet file."""

import json
import posixpath
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.collection.parsing.csv_rows import read_csv, read_tsv, report_repeated_columns
from tasks.collection.parsing.text import decode_text, numbered_lines
from tasks.collection.records import Files, Problem
from tasks.errors import InputError

BATCH = 1024  # Parquet rows read at a time

Row = tuple[int, dict[str, Any]]


@dataclass(frozen=True)
class TableFile:
    """`columns` are in the file's order; `rows` returns the values of some of them, with the row's line or number.

    Of a Parquet file only columns of text, lists of text or integers are included; no other is ever loaded.
    """

    columns: Sequence[str]
    rows: Callable[[Sequence[str]], Iterator[Row]]


def open_table(files: Files, source: str, problems: list[Problem]) -> TableFile:
    """Open a table by its file's extension; broken rows are skipped and reported.

    Raises InputError if the file is unreadable.
    """
    extension = posixpath.splitext(source)[1].lower()
    if extension == ".parquet":
        return _open_parquet(files, source, problems)
    text = decode_text(files.read(source), source, problems)
    rows: Sequence[Row] = TEXT_TABLES[extension](text, source, problems)
    columns = dict.fromkeys(column for _, row in rows for column in row if column)
    return TableFile(tuple(columns), lambda _: iter(rows))


def _open_parquet(files: Files, source: str, problems: list[Problem]) -> TableFile:
    def rows(columns: Sequence[str]) -> Iterator[Row]:
        with _parquet(files, source) as file:
            batches = file.iter_batches(BATCH, columns=list(columns))
            yield from enumerate((row for batch in batches for row in batch.to_pylist()), start=1)

    with _parquet(files, source) as file:
        names = [column.name for column in file.schema_arrow if _may_hold_text(column.type)]
    report_repeated_columns(names, source, None, problems)
    return TableFile(list(dict.fromkeys(names)), rows)


@contextmanager
def _parquet(files: Files, source: str) -> Iterator[pq.ParquetFile]:
    """Raise InputError also for damage that is found while values are read."""
    try:
        with files.open(source) as stream:
            yield pq.ParquetFile(stream)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{source} is an incomplete Parquet file ({error}); download it again.") from error


def _may_hold_text(kind: pa.DataType) -> bool:
    value = kind
    while hasattr(value, "value_type"):  # of a list or dictionary
        value = value.value_type
    return value in (pa.string(), pa.large_string(), pa.string_view(), pa.null()) or bool(pa.types.is_integer(kind))


def _json_rows(text: str, source: str, problems: list[Problem]) -> list[Row]:
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


TEXT_TABLES: dict[str, Callable[[str, str, list[Problem]], Sequence[Row]]] = {
    ".csv": read_csv,
    ".tsv": read_tsv,
    ".jsonl": _json_rows,
}
