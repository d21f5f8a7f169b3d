"""Hugging Face's imagefolder: a metadata file next to the images, in the root or in one folder per split."""

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from tasks.collection.config import CollectionConfig
from tasks.collection.image_names import is_hidden
from tasks.collection.image_paths import ImagePaths
from tasks.collection.parsing.table_files import Row, open_table
from tasks.collection.parsing.text import clean_captions
from tasks.collection.records import Files, Item, Problem, Reading, Split
from tasks.errors import InputError

METADATA = ("metadata.jsonl", "metadata.csv", "metadata.parquet")
IMAGE_COLUMN = "file_name"
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

LocatedRow = tuple[int, str, dict[str, Any]]  # line, path of the image, values by column


class ImageFolder:
    """File names are relative to the metadata file; splits are kept if top folders are named after at least two."""

    name = "imagefolder"

    def recognises(self, files: Files) -> bool:
        """Return whether there is a metadata file, by name."""
        return any(_is_metadata(path) for path in files.paths)

    def read(self, files: Files, images: Files, config: CollectionConfig) -> Reading:
        """Return an item for each file in the metadata and each other image. Raises InputError."""
        problems: list[Problem] = []
        sources = _sources(files, problems)
        if not sources:
            raise InputError(f"No metadata file ({', '.join(METADATA)}) found in the collection.")
        paths = ImagePaths(images.paths)
        items: list[Item] = []
        for source in sources:
            try:
                items += _items(files, source, config, paths, problems)
            except InputError as error:
                problems.append(Problem("unused-file", source, str(error)))
        problems += paths.inexact(items)
        items += paths.unlisted(items)
        if len({_split_of(item) for item in items} - {None}) < 2:
            return Reading(self.name, tuple(items), tuple(problems))
        split_items = tuple(replace(item, split=_split_of(item)) for item in items)
        return Reading(self.name, split_items, tuple(problems), has_splits=True)


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


def join_rows(rows: Iterable[LocatedRow], caption_column: str, problems: list[Problem]) -> list[Item]:
    """Join the rows of each image into one item with all their captions."""
    lines: dict[str, int] = {}
    captions: dict[str, list[str]] = {}
    for line, path, row in rows:
        lines.setdefault(path, line)
        captions.setdefault(path, []).extend(clean_captions(row.get(caption_column), path, line, problems))
    return [Item(path, path, tuple(captions[path]), line=line) for path, line in lines.items()]


def _is_metadata(path: str) -> bool:
    return posixpath.basename(path) in METADATA and not is_hidden(path)


def _split_of(item: Item) -> Split | None:
    return SPLIT_FOLDERS.get(item.path.split("/")[0])


def _sources(files: Files, problems: list[Problem]) -> list[str]:
    """Return one metadata file per folder, the first in the order of METADATA; others are reported."""
    chosen: dict[str, str] = {}
    found = filter(_is_metadata, files.paths)
    for path in sorted(found, key=lambda path: METADATA.index(posixpath.basename(path))):
        first = chosen.setdefault(posixpath.dirname(path), path)
        if first != path:
            detail = f"ignored, since the folder has two metadata files and {first} is read"
            problems.append(Problem("unused-file", path, detail))
    return sorted(chosen.values())


def _items(
    files: Files, source: str, config: CollectionConfig, paths: ImagePaths, problems: list[Problem]
) -> list[Item]:
    table = open_table(files, source, problems)
    image = config.image_column or IMAGE_COLUMN
    if image not in table.columns:
        found = ", ".join(table.columns)
        raise InputError(f"there is no column {image}, only {found}" if found else "there are no rows of text")
    wanted = CAPTION_COLUMNS if config.caption_column is None else (config.caption_column,)
    others = [column for column in table.columns if column != image]
    column = _caption_column(source, others, wanted, problems)
    located = locate(source, table.rows((image, column)), image, posixpath.dirname(source), paths, problems)
    return join_rows(located, column, problems)


def _caption_column(source: str, columns: Sequence[str], wanted: Sequence[str], problems: list[Problem]) -> str:
    """Return the first of the wanted columns that exists; the choice is reported if there are others."""
    chosen = next((column for column in wanted if column in columns), "")
    others = ", ".join(sorted(set(columns) - {chosen}))
    if not chosen:
        detail = f"no captions are read: no column {_either(wanted)}, only {others or 'image names'}"
        problems.append(Problem("caption-column", source, detail))
    elif others:
        detail = f"captions are read from column {chosen}, not from {others}"
        problems.append(Problem("caption-column", source, detail))
    return chosen


def _either(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last
