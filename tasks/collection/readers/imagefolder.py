"""Hugging Face's imagefolder: a metadata file beside the images, in the root or in a folder a split."""

import json
import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.collection.config import CollectionConfig
from tasks.collection.csv_rows import read_csv
from tasks.collection.image_names import is_hidden
from tasks.collection.image_paths import ImagePaths
from tasks.collection.records import Files, Item, Problem, Reading, Split
from tasks.collection.text import clean_captions, decode_text, numbered_lines
from tasks.errors import InputError

METADATA = ("metadata.jsonl", "metadata.csv", "metadata.parquet")
CAPTION_COLUMNS = ("caption", "text", "captions")
SPLIT_FOLDERS: dict[str, Split] = {
    "train": "train",
    "training": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "test": "test",
    "testing": "test",
}

Row = tuple[int, dict[str, Any]]


class ImageFolder:
    """File names are relative to the metadata file; where the top folders tell two splits, these are kept."""

    name = "imagefolder"

    def recognises(self, files: Files) -> bool:
        """Whether there is a metadata file, by name."""
        return any(_is_metadata(path) for path in files.paths)

    def read(self, files: Files, images: Files, config: CollectionConfig) -> Reading:  # noqa: ARG002
        """An item for each file that metadata name, and for each other image. Raises InputError."""
        problems: list[Problem] = []
        sources = _sources(files, problems)
        if not sources:
            raise InputError(f"The collection has no metadata file ({', '.join(METADATA)}).")
        paths = ImagePaths(images.paths)
        items: list[Item] = []
        for source in sources:
            items += _items(source, _rows(files, source, problems), paths, problems)
        items += paths.unlisted(items)
        if len({_split_of(item) for item in items} - {None}) < 2:
            return Reading(self.name, tuple(items), tuple(problems))
        split_items = tuple(replace(item, split=_split_of(item)) for item in items)
        return Reading(self.name, split_items, tuple(problems), has_splits=True)


def _is_metadata(path: str) -> bool:
    return posixpath.basename(path) in METADATA and not is_hidden(path)


def _split_of(item: Item) -> Split | None:
    return SPLIT_FOLDERS.get(item.path.split("/")[0])


def _sources(files: Files, problems: list[Problem]) -> list[str]:
    """One metadata file a folder: the first in the order of METADATA; others are told."""
    chosen: dict[str, str] = {}
    found = filter(_is_metadata, files.paths)
    for path in sorted(found, key=lambda path: METADATA.index(posixpath.basename(path))):
        first = chosen.setdefault(posixpath.dirname(path), path)
        if first != path:
            detail = f"two metadata files in one folder: only {first} is read"
            problems.append(Problem("unused-file", path, detail))
    return sorted(chosen.values())


def _rows(files: Files, source: str, problems: list[Problem]) -> list[Row]:
    data = files.read(source)
    if source.endswith(".parquet"):
        return _parquet_rows(data, source, problems)
    text = decode_text(data, source, problems)
    if source.endswith(".csv"):
        return read_csv(text, source, problems)
    return list(_json_rows(text, source, problems))


def _parquet_rows(data: bytes, source: str, problems: list[Problem]) -> list[Row]:
    try:
        return list(enumerate(pq.read_table(pa.BufferReader(data)).to_pylist(), start=1))
    except (pa.ArrowException, OSError) as error:
        problems.append(Problem("unused-file", source, f"it is not whole Parquet ({error})"))
        return []


def _json_rows(text: str, source: str, problems: list[Problem]) -> Iterator[Row]:
    for line, record in numbered_lines(text):
        try:
            row = json.loads(record)
        except (ValueError, RecursionError):
            problems.append(Problem("bad-row", source, "not JSON; the line is not used", line))
            continue
        if isinstance(row, dict):
            yield line, row
        else:
            problems.append(Problem("bad-row", source, "not a JSON object; the line is not used", line))


def _items(source: str, rows: Sequence[Row], paths: ImagePaths, problems: list[Problem]) -> list[Item]:
    """Rows of one file name are one item with all their captions."""
    if rows and not any("file_name" in row for _, row in rows):
        problems.append(Problem("unused-file", source, "it has no column file_name"))
        return []
    column = _caption_column(source, rows, problems)
    lines: dict[str, int] = {}
    captions: dict[str, list[str]] = {}
    for line, row in rows:
        name = row.get("file_name")
        if not isinstance(name, str) or not name:
            problems.append(Problem("bad-row", source, "no `file_name`; the row is not used", line))
            continue
        path = paths.find(name, posixpath.dirname(source))
        lines.setdefault(path, line)
        captions.setdefault(path, []).extend(clean_captions(row.get(column), path, line, problems))
    return [Item(path, path, tuple(captions[path]), line=line) for path, line in lines.items()]


def _caption_column(source: str, rows: Sequence[Row], problems: list[Problem]) -> str:
    """The first of CAPTION_COLUMNS that any row has; the choice is told where there are other columns."""
    columns = sorted({column for _, row in rows for column in row if column} - {"file_name"})
    chosen = next((column for column in CAPTION_COLUMNS if column in columns), "")
    others = ", ".join(column for column in columns if column != chosen)
    if rows and not chosen:
        detail = f"no column caption, text or captions, only {others or 'file_name'}; no captions are read"
        problems.append(Problem("caption-column", source, detail))
    elif others:
        detail = f"captions are read from {chosen}, not from {others}"
        problems.append(Problem("caption-column", source, detail))
    return chosen
