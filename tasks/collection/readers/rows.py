"""Joins the rows of a table into items."""

import ast
import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from tasks.collection.image_paths import ImagePaths
from tasks.collection.listed_names import find_names
from tasks.collection.parsing.table_files import Row
from tasks.collection.parsing.text import clean_captions
from tasks.collection.records import Item, Problem

LONGEST = 100_000  # characters of a cell that may be a list

LocatedRow = tuple[int, str, dict[str, Any]]  # line, path of the image, values by column


def locate(
    source: str,
    rows: Sequence[Row],
    column: str,
    paths: ImagePaths,
    problems: list[Problem],
    folder: str | None = None,
) -> list[LocatedRow]:
    """Return the rows whose `column` names an image, with its path (see `find_names`)."""
    names = [image_name(row.get(column)) for _, row in rows]
    path_of = find_names(filter(None, names), source, paths, problems, folder)
    located = []
    for (line, row), name in zip(rows, names, strict=True):
        if name:
            located.append((line, path_of[name], row))
        else:
            problems.append(Problem("bad-row", source, f"the row has no `{column}` and is skipped", line))
    return located


def image_name(value: Any) -> str:
    """Return the image name in a cell, where an integer is a name made of its digits; "" if there is none."""
    if type(value) is int:
        return str(value)
    return value if isinstance(value, str) else ""


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
