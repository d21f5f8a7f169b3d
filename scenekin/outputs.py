"""Output files that people name: checked before the work, then written completely or not at all."""

import codecs
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from storage.atomic import fresh_file
from tasks.errors import InputError, InvalidOption
from tasks.phrases import either

FORMULA = r"^[=+\-@\t\r]"  # how a cell begins that spreadsheets run as a formula


def check_output(out: Path, *suffixes: str) -> None:
    """Raise InvalidOption if the name has another suffix, InputError if the file cannot be written there."""
    if out.suffix.lower() not in suffixes:
        raise InvalidOption(f"Cannot write {out}: the name must end in {either(suffixes)}.")
    reason = None
    if out.is_dir():
        reason = "Is a directory"
    elif not out.parent.is_dir():
        reason = "Not a directory" if out.parent.exists() else "No such file or directory"
    elif not os.access(out.parent, os.W_OK):
        reason = "the folder is read-only"
    if reason:
        raise InputError(f"Cannot write {out}: {reason}.")


@contextmanager
def csv_writer(file: Path, schema: pa.Schema) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """Yield a function that writes rows into a CSV file as spreadsheets take it: marked as UTF-8, without formulas."""
    with file.open("wb") as stream:
        stream.write(codecs.BOM_UTF8)
        with pyarrow.csv.CSVWriter(stream, schema) as table:
            yield lambda batch: table.write_batch(without_formulas(batch))


@contextmanager
def output_file(out: Path) -> Iterator[Path]:
    """Yield a temporary file that replaces `out` on success and is removed on failure.

    Raises InputError if it cannot be written.
    """
    try:
        with fresh_file(out) as temporary:
            yield temporary
    except OSError as error:
        raise InputError(f"Cannot write {out}: {error.strerror or error}.") from error


def without_formulas(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Rows for a CSV file: text that a spreadsheet would run as a formula is preceded by an apostrophe."""
    columns = [
        pc.if_else(pc.match_substring_regex(column, FORMULA), pc.binary_join_element_wise("'", column, ""), column)
        if pa.types.is_string(column.type)
        else column
        for column in batch.columns
    ]
    return pa.record_batch(columns, schema=batch.schema)
