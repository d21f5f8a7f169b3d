"""A file of rows, be it .csv, .tsv, .jsonl or .parquet: the columns that may hold text, and rows by column."""

import json
import posixpath
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.collection.parsing.csv_rows import read_csv, read_tsv, tell_repeated
from tasks.collection.parsing.text import decode_text, numbered_lines
from tasks.collection.records import Files, Problem
from tasks.errors import InputError

BATCH = 1024  # rows of Parquet held at a time

Row = tuple[int, dict[str, Any]]


@dataclass(frozen=True)
class TableFile:
    """`columns` are in the file's order; `rows` gives the values of those asked for, with the row's line or number.

    A column of Parquet is one of them if it holds text, lists of text or whole numbers; no other is ever loaded.
    """

    columns: Sequence[str]
    rows: Callable[[Sequence[str]], Iterator[Row]]


def open_table(files: Files, source: str, problems: list[Problem]) -> TableFile:
    """The table in a file, by its extension; broken rows are left out and told. Raises InputError if all is broken."""
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
    tell_repeated(names, source, None, problems)
    return TableFile(list(dict.fromkeys(names)), rows)


@contextmanager
def _parquet(files: Files, source: str) -> Iterator[pq.ParquetFile]:
    """Raises InputError for what turns out broken inside too: values are decoded as they are read."""
    try:
        with files.open(source) as stream:
            yield pq.ParquetFile(stream)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{source} is not whole Parquet ({error}); get it again.") from error


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
            problems.append(Problem("bad-row", source, "not JSON; the line is not used", line))
            continue
        if isinstance(row, dict):
            rows.append((line, row))
        else:
            problems.append(Problem("bad-row", source, "not a JSON object; the line is not used", line))
    return rows


TEXT_TABLES: dict[str, Callable[[str, str, list[Problem]], Sequence[Row]]] = {
    ".csv": read_csv,
    ".tsv": read_tsv,
    ".jsonl": _json_rows,
}
