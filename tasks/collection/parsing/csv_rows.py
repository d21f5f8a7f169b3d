"""Rows of a comma- or tab-separated file as text by column; a broken row does not affect the others."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from tasks.collection.parsing.text import numbered_lines
from tasks.collection.records import Problem
from tasks.errors import InputError
from tasks.phrases import counted

SEPARATOR = re.compile(r"(sep=(.))\r?\n", re.IGNORECASE)

SKIPPED = "; the row is skipped"

Row = tuple[int, dict[str, str]]


def read_csv(text: str, name: str, problems: list[Problem]) -> list[Row]:
    """Return each row by column, with the line it starts on.

    The delimiter is that of a first line `sep=;`, as Excel writes it, else the most frequent one of `,;|` and tab in
    the header. Every value stays text. Rows that are badly quoted or have too few or too many fields are skipped and
    reported. Raises InputError if the header is badly quoted.
    """
    named = SEPARATOR.match(text)
    text = text[named.end(1) :] if named else text  # the line stays, empty, so that lines keep their numbers
    header = io.StringIO(text.lstrip("\r\n"), newline="").readline()
    delimiter = named[2] if named else max(",;\t|", key=header.count)
    found: list[Problem] = []
    rows = _rows(_records(text, delimiter, name, found), name, found)
    if f'{delimiter} "' in text:
        found_spaced: list[Problem] = []
        spaced = _rows(_records(text, delimiter, name, found_spaced, skip_space=True), name, found_spaced)
        if len(found_spaced) <= len(found):  # quotes after a space do quote
            rows, found = spaced, found_spaced
    start = next((line for line, _ in numbered_lines(text)), 1)
    if header_fault := next((one.detail for one in found if (one.kind, one.line) == ("bad-row", start)), None):
        reason = header_fault.removesuffix(SKIPPED)
        raise InputError(f"Cannot read the header of {name} (line {start}): {reason}.")
    problems += found
    return rows


def read_tsv(text: str, name: str, problems: list[Problem]) -> list[Row]:
    """Return the rows of a tab-separated file, whose quotes are plain text unless they clearly delimit fields.

    They do if fewer rows are broken that way, or equally few and the header starts with a quote or a quote is doubled.
    """
    in_quoted: list[Problem] = []
    in_plain: list[Problem] = []
    quoted = _rows(_records(text, "\t", name, in_quoted), name, in_quoted)
    plain = _rows(((line, record.split("\t")) for line, record in numbered_lines(text)), name, in_plain)
    evident = text.startswith('"') or '""' in text
    if len(in_quoted) < len(in_plain) + evident:
        problems += in_quoted
        return quoted
    problems += in_plain
    return plain


def report_repeated_columns(columns: Iterable[str], name: str, line: int | None, problems: list[Problem]) -> None:
    """Report columns that share a name, of which the last is read."""
    for column, count in Counter(filter(None, columns)).items():
        if count > 1:
            detail = f"{count} columns are named {column}; the last one is read"
            problems.append(Problem("duplicate-column", name, detail, line))


def _rows(records: Iterable[tuple[int, list[str]]], name: str, problems: list[Problem]) -> list[Row]:
    """Return the records by the columns of the first one."""
    records = iter(records)
    first, fields = next(records, (1, []))
    header = [column.strip() for column in fields]
    report_repeated_columns(header, name, first, problems)
    rows = []
    for line, fields in records:
        if len(fields) < len(header) or any(fields[len(header) :]):
            detail = (
                f"the row has {counted(len(fields), 'field')}, but the header has {len(header)}; the row is skipped"
            )
            problems.append(Problem("bad-row", name, detail, line))
        else:
            rows.append((line, dict(zip(header, fields, strict=False))))
    return rows


def _records(
    text: str, delimiter: str, name: str, problems: list[Problem], *, skip_space: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Yield well-formed records; after a broken one, parsing resumes on the next line, so that an open quote ends."""
    lines = io.StringIO(text, newline="").readlines()
    start = 0
    while start < len(lines):
        first = start
        rest = map(lines.__getitem__, range(first, len(lines)))
        reader = csv.reader(rest, delimiter=delimiter, strict=True, skipinitialspace=skip_space)
        try:
            for fields in reader:
                if fields:
                    yield start + 1, fields
                start = first + reader.line_num
        except csv.Error as error:
            detail = _fault(error, first + reader.line_num - start) + SKIPPED
            problems.append(Problem("bad-row", name, detail, start + 1))
            start += 1


def _fault(error: csv.Error, lines: int) -> str:
    """Return what is wrong with a record, of which the parser has read some lines."""
    if str(error) == "unexpected end of data" or lines > 1:
        return 'the quote that opens here is not closed; close it, or write "" for a quote inside a field'
    if "expected after" in str(error):
        return 'text follows the closing quote of a field; write "" for a quote inside a field'
    return str(error)
