"""Joins the rows of a table into items."""

import ast
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from tasks.collection.image_paths import ImagePaths
from tasks.collection.parsing.table_files import Row
from tasks.collection.parsing.text import clean_captions
from tasks.collection.records import Item, Problem

LONGEST = 100_000  # characters of a cell that may be a list

LocatedRow = tuple[int, str, dict[str, Any]]  # line, path of the image, values by column


def locate(
    source: str, rows: Iterable[Row], column: str, folder: str, paths: ImagePaths, problems: list[Problem]
) -> Iterator[LocatedRow]:
    """Yield the rows whose `column` names an image relative to `folder`; an integer is a name made of its digits."""
    for line, row in rows:
        value = row.get(column)
        name = str(value) if type(value) is int else value
        if isinstance(name, str) and name:
            yield line, paths.find(name, folder), row
        else:
            problems.append(Problem("bad-row", source, f"the row has no `{column}` and is skipped", line))


def join_rows(rows: Iterable[LocatedRow], caption_columns: Sequence[str], problems: list[Problem]) -> list[Item]:
    """Join the rows of each image into one item with all their captions."""
    lines: dict[str, int] = {}
    captions: dict[str, list[str]] = {}
    for line, path, row in rows:
        lines.setdefault(path, line)
        captions.setdefault(path, []).extend(captions_of(row, caption_columns, path, line, problems))
    return [Item(path, path, tuple(captions[path]), line=line) for path, line in lines.items()]


def captions_of(
    row: dict[str, Any], columns: Sequence[str], item: str, line: int, problems: list[Problem]
) -> list[str]:
    """Return the captions in some columns of a row; of several columns, empty cells are no captions."""
    values = [_as_list(row.get(column)) for column in columns]
    if len(values) > 1:
        values = [value for value in values if value != ""]
    return [caption for value in values for caption in clean_captions(value, item, line, problems)]


def _as_list(value: Any) -> Any:
    """Return the texts in a cell that is a list of texts in JSON's or Python's notation; other values unchanged."""
    if isinstance(value, str) and len(value) <= LONGEST and value.strip()[:1] == "[" and value.strip()[-1:] == "]":
        for parse in (json.loads, ast.literal_eval):
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                texts = parse(value.strip())
                if isinstance(texts, list) and texts and all(isinstance(text, str) for text in texts):
                    return texts
    return value
