"""Rows of a comma- or tab-separated file as text by column, where one broken row costs no other row."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator

from tasks.collection.parsing.text import numbered_lines
from tasks.collection.records import Problem

Row = tuple[int, dict[str, str]]


def read_csv(text: str, name: str, problems: list[Problem]) -> list[Row]:
    """Each row by column, with the line it starts on; the header chooses among `,`, `;` and tab.

    Every value stays text. A row that is badly quoted or has too few or too many fields is left out and told.
    """
    header = io.StringIO(text, newline="").readline()
    return _rows(_records(text, max(",;\t", key=header.count), name, problems), name, problems)


def read_tsv(text: str, name: str, problems: list[Problem]) -> list[Row]:
    """The same of a file whose delimiter is the tab and whose quotes are plain text unless they evidently quote.

    They do where fewer rows are broken so, or as few and the header begins with a quote or a quote stands doubled.
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


def tell_repeated(columns: Iterable[str], name: str, line: int | None, problems: list[Problem]) -> None:
    """Of columns of one name the last is read: the values of a row are by name."""
    for column, count in Counter(filter(None, columns)).items():
        if count > 1:
            detail = f"{count} columns are called {column}; the last is read"
            problems.append(Problem("duplicate-column", name, detail, line))


def _rows(records: Iterable[tuple[int, list[str]]], name: str, problems: list[Problem]) -> list[Row]:
    """The records by the columns of the first."""
    records = iter(records)
    header = [column.strip() for column in next(records, (0, []))[1]]
    tell_repeated(header, name, 1, problems)
    rows = []
    for line, fields in records:
        if len(fields) < len(header) or any(fields[len(header) :]):
            detail = f"{len(fields)} fields where the header has {len(header)}; the row is not used"
            problems.append(Problem("bad-row", name, detail, line))
        else:
            rows.append((line, dict(zip(header, fields, strict=False))))
    return rows


def _records(text: str, delimiter: str, name: str, problems: list[Problem]) -> Iterator[tuple[int, list[str]]]:
    """Well-formed records; after a broken one the next line starts anew, lest an open quote swallow any."""
    lines = io.StringIO(text, newline="").readlines()
    start = 0
    while start < len(lines):
        first = start
        rest = map(lines.__getitem__, range(first, len(lines)))
        reader = csv.reader(rest, delimiter=delimiter, strict=True)
        try:
            for fields in reader:
                if fields:
                    yield start + 1, fields
                start = first + reader.line_num
        except csv.Error as error:
            problems.append(Problem("bad-row", name, f"{error}; the row is not used", start + 1))
            start += 1
