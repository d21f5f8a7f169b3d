"""Output files that people name: checked before the work, then written completely or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from storage.atomic import fresh_file
from tasks.errors import InputError
from tasks.phrases import either

FORMULA = r"^[=+\-@\t\r]"  # how a cell begins that spreadsheets run as a formula


def check_output(out: Path, *suffixes: str) -> None:
    """Raise InputError if the name has another suffix or the file cannot be written there."""
    reason = None
    if out.suffix.lower() not in suffixes:
        reason = f"the name must end in {either(suffixes)}"
    elif out.is_dir():
        reason = "Is a directory"
    elif not out.parent.is_dir():
        reason = "Not a directory" if out.parent.exists() else "No such file or directory"
    elif not os.access(out.parent, os.W_OK):
        reason = "the folder is read-only"
    if reason:
        raise InputError(f"Cannot write {out}: {reason}.")


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
