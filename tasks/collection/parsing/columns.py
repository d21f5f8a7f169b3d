"""Detects which columns of a table contain image names, captions and splits."""

import re
import unicodedata
from collections.abc import Collection, Sequence
from itertools import islice

from tasks.collection.image_names import is_image
from tasks.collection.parsing.table_files import TableFile
from tasks.collection.parsing.text import printable
from tasks.collection.records import Split
from tasks.errors import InputError
from tasks.phrases import either

IMAGE_COLUMNS = re.compile("(image|img)(name|path|file|filename)?|file(name|path)?|path|photo|picture")
CAPTION_COLUMNS = (  # the first that fits any column
    re.compile("captions?"),
    re.compile("(text|sentence|comment|description)s?|title|alt(text)?|raw"),
)
SPLIT_NAMES: dict[str, Split] = {
    "train": "train",
    "training": "train",
    "restval": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "test": "test",
    "testing": "test",
}
SAMPLE = 100  # rows used to detect the column of image names


def image_column(table: TableFile, source: str, named: str | None) -> str:
    """Return the column of image names: the one named, else detected. Raises InputError if none or several match."""
    found = [named] if named is not None else _image_columns(table)
    return _the_one(found, table.columns, "names the images", "--image-column", source)


def caption_columns(columns: Sequence[str], source: str, named: Sequence[str]) -> tuple[str, ...]:
    """Return the columns with captions: those named, else detected. Raises InputError if none or several match.

    Several columns that differ by a number alone, such as caption_1 to caption_5, are read together.
    """
    if named:
        return tuple(_the_one([name], columns, "contains the captions", "--caption-column", source) for name in named)
    found = numbered_columns(columns)
    return found or (_the_one(_caption_columns(columns), columns, "contains the captions", "--caption-column", source),)


def split_named(name: object) -> Split | None:
    """Return the split that a folder or a value names, such as `Train`, `dev` or `val2017`; None if it names none."""
    return SPLIT_NAMES.get(str(name).strip().lower().rstrip("0123456789"))


def split_column(columns: Sequence[str]) -> str | None:
    """Return the column named `split`."""
    return next((name for name in columns if _plain(name) == "split"), None)


def numbered_columns(columns: Sequence[str]) -> tuple[str, ...]:
    """Return two or more columns of captions whose names differ by a number alone."""
    for names in CAPTION_COLUMNS:
        found = [
            name for name in columns if re.search(r"\d", name) and names.fullmatch(_plain(name).rstrip("0123456789"))
        ]
        if len(found) > 1:
            return tuple(found)
    return ()


def column_named(name: str, columns: Sequence[str]) -> str | None:
    """Return the column of that name, else the only one that differs from it in letter case or white space alone."""
    if name in columns:
        return name
    found = [column for column in columns if _spoken(column) == _spoken(name)]
    return found[0] if len(found) == 1 else None


def _spoken(name: str) -> str:
    return " ".join(unicodedata.normalize("NFC", name).casefold().split())


def _the_one(found: Sequence[str], columns: Sequence[str], what: str, option: str, source: str) -> str:
    if len(found) != 1:
        names = ", ".join(found or columns) or "there is no other column"
        sentence = f"Cannot determine which column of {source} {what} ({names}); name it with {option}."
        raise InputError(printable(sentence))
    (name,) = found
    column = column_named(name, columns)
    if column is None:
        choice = f"set {option} to {either(columns)}" if columns else "there is no other column"
        sentence = f"{source} has no column {name!r}; {choice}."
        raise InputError(printable(sentence))
    return column


def _image_columns(table: TableFile) -> list[str]:
    """Return the columns named accordingly; if several or none are, those whose values look like image names."""
    named = [name for name in table.columns if IMAGE_COLUMNS.fullmatch(_plain(name))]
    if len(named) == 1:
        return named
    candidates = named or table.columns
    sample = [row for _, row in islice(table.rows(candidates), SAMPLE)]
    return [name for name in candidates if _look_like_images([row.get(name) for row in sample])] or named


def _look_like_images(values: Collection[object]) -> bool:
    """Return whether most values are names of image files; URLs do not count."""
    return sum(isinstance(value, str) and is_image(value) and "://" not in value for value in values) * 2 > len(values)


def _caption_columns(columns: Sequence[str]) -> list[str]:
    found = ([name for name in columns if names.fullmatch(_plain(name))] for names in CAPTION_COLUMNS)
    return next(filter(None, found), [])


def _plain(column: str) -> str:
    """Return the letters and digits of the name, in lower case."""
    return re.sub(r"[\W_]", "", column.lower())
