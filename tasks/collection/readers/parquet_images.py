"""Parquet files that contain the images themselves, as Hugging Face publishes datasets."""

import posixpath
import re
from collections.abc import Iterator
from contextlib import suppress

from tasks.collection.config import CollectionConfig
from tasks.collection.image_names import is_hidden
from tasks.collection.parsing.columns import SPLIT_NAMES, caption_columns, column_named, split_column, split_named
from tasks.collection.parsing.table_files import TableFile, open_table
from tasks.collection.readers.rows import captions_of
from tasks.collection.records import Files, Item, Problem, Reading, Split
from tasks.errors import InputError
from tasks.phrases import either

SAMPLE = 5  # files that are opened to detect the format


class ParquetImages:
    """Images are identified as `file.parquet/column/row`; splits are those of the files' names or of a column."""

    name = "parquet-images"

    def recognises(self, files: Files) -> bool:
        """Return whether there is a Parquet file with a column of images."""
        for source in _sources(files)[:SAMPLE]:
            with suppress(InputError):
                if open_table(files, source, []).image_columns:
                    return True
        return False

    def read(self, files: Files, images: Files, config: CollectionConfig) -> Reading:  # noqa: ARG002 (Reader protocol)
        """Return an item for each row of each Parquet file. Raises InputError."""
        problems: list[Problem] = []
        items: list[Item] = []
        for source in _sources(files):
            table = open_table(files, source, problems)
            if not table.image_columns:
                detail = "ignored, since it has no column of images, but other files have"
                problems.append(Problem("unused-file", source, detail))
                continue
            items += _items(table, source, config, problems)
        if not items:
            raise InputError("No Parquet file with a column of images found in the collection.")
        has_splits = len({item.split for item in items} - {None}) > 1
        return Reading(
            self.name, tuple(items), tuple(problems), has_splits, inside=frozenset(item.path for item in items)
        )


def _sources(files: Files) -> list[str]:
    return [path for path in files.paths if path.lower().endswith(".parquet") and not is_hidden(path)]


def _items(table: TableFile, source: str, config: CollectionConfig, problems: list[Problem]) -> Iterator[Item]:
    named = config.image_column or table.image_columns[0]
    image = column_named(named, table.image_columns)
    if image is None:
        choice = either(table.image_columns)
        raise InputError(f"{source} has no column of images named {named!r}; set --image-column to {choice}.")
    captions: tuple[str, ...] = ()
    try:
        captions = caption_columns(table.columns, source, config.caption_columns)
    except InputError as error:
        problems.append(Problem("caption-column", source, f"no captions are read: {error}".removesuffix(".")))
    split = split_column(table.columns)
    wanted = [*captions, *([split] if split else [])] or list(table.columns[:1])
    for number, row in table.rows(wanted):
        path = f"{source}/{image}/{number - 1}"
        own = split_named(row.get(split)) if split else _split_of(source)
        yield Item(path, path, tuple(captions_of(row, captions, path, number, problems)), own, number)


def _split_of(source: str) -> Split | None:
    match = re.match("(train|val|dev|test)[a-z]*", posixpath.basename(source).lower())
    return SPLIT_NAMES[match[1]] if match else None
