"""Hugging Face's imagefolder: a metadata file next to the images, in the root or in one folder per split."""

import posixpath
from collections.abc import Sequence
from dataclasses import replace

from tasks.collection.config import CollectionConfig
from tasks.collection.image_names import is_hidden
from tasks.collection.image_paths import ImagePaths
from tasks.collection.parsing.columns import column_named, image_column, numbered_columns, split_named
from tasks.collection.parsing.table_files import open_table
from tasks.collection.readers.doubts import doubts
from tasks.collection.readers.rows import join_rows, locate
from tasks.collection.records import Files, Item, Problem, Reading, Split
from tasks.errors import InputError
from tasks.phrases import either

METADATA = ("metadata.jsonl", "metadata.csv", "metadata.parquet")
IMAGE_COLUMN = "file_name"
CAPTION_COLUMNS = ("caption", "text", "captions")


class ImageFolder:
    """File names are relative to the metadata file; splits are kept if top folders are named after at least two."""

    name = "imagefolder"

    def recognises(self, files: Files) -> bool:
        """Return whether there is a metadata file, by name; one in the root must have a column of file names.

        Without that column it is a table that happens to have this name.
        """
        found = list(filter(_is_metadata, files.paths))
        return any("/" in path or _has_file_names(files, path) for path in found)

    def read(self, files: Files, images: Files, config: CollectionConfig) -> Reading:
        """Return an item for each file in the metadata and for each unlisted image. Raises InputError."""
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


def _has_file_names(files: Files, source: str) -> bool:
    try:
        return IMAGE_COLUMN in open_table(files, source, []).columns
    except InputError:
        return False


def _is_metadata(path: str) -> bool:
    return posixpath.basename(path) in METADATA and not is_hidden(path)


def _split_of(item: Item) -> Split | None:
    return split_named(item.path.split("/")[0])


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
    named = config.image_column or (IMAGE_COLUMN if IMAGE_COLUMN in table.columns else None)
    if not table.columns:
        raise InputError("there are no rows of text")
    image = image_column(table, source, named)
    others = [column for column in table.columns if column != image]
    columns = _caption_columns(source, others, config.caption_columns, problems)
    rows = list(table.rows((image, *columns)))
    located = locate(source, rows, image, paths, problems, posixpath.dirname(source))
    problems += doubts(table, source, image, columns, located, paths, config)
    return join_rows(located, columns, problems)


def _caption_columns(
    source: str, columns: Sequence[str], named: Sequence[str], problems: list[Problem]
) -> tuple[str, ...]:
    """Return the named columns, else the first of CAPTION_COLUMNS or several numbered ones; the choice is reported."""
    first = next((column for column in CAPTION_COLUMNS if column in columns), None)
    given = tuple(column_named(name, columns) or name for name in named)
    chosen = given or ((first,) if first else numbered_columns(columns))
    absent = [column for column in chosen if column not in columns]
    others = sorted(set(columns) - set(chosen))
    if not chosen or absent:
        remedy = f"set --caption-column to {either(others)}" if others else "it only names images"
        detail = f"no captions are read: the file has no column {either(absent or CAPTION_COLUMNS)}; {remedy}"
        problems.append(Problem("caption-column", source, detail))
    elif others and not named:
        detail = f"captions are read from column {', '.join(chosen)}, not from {', '.join(others)}"
        problems.append(Problem("caption-column", source, detail))
    return tuple(column for column in chosen if column in columns)
