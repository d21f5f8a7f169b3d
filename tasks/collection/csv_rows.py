"""Rows of a comma-separated file as text by column, where one broken row costs no other row."""

import csv
import io
from collections.abc import Iterator

from tasks.collection.records import Problem


def read_csv(text: str, name: str, problems: list[Problem]) -> list[tuple[int, dict[str, str]]]:
    """Each row by column, with the line it starts on; the header chooses among `,`, `;` and tab.

    Every value stays text. A row that is badly quoted or has too few or too many fields is left out and told.
    """
    records = _records(text, name, problems)
    header = [column.strip() for column in next(records, (0, []))[1]]
    rows = []
    for line, fields in records:
        if len(fields) < len(header) or any(fields[len(header) :]):
            detail = f"{len(fields)} fields where the header has {len(header)}; the row is not used"
            problems.append(Problem("bad-row", name, detail, line))
        else:
            rows.append((line, dict(zip(header, fields, strict=False))))
    return rows


def _records(text: str, name: str, problems: list[Problem]) -> Iterator[tuple[int, list[str]]]:
    """Well-formed records; after a broken one the next line starts anew, lest an open quote swallow any."""
    lines = io.StringIO(text, newline="").readlines()
    delimiter = max(",;\t", key=lines[0].count) if lines else ","
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
