"""A table in the root with a column of image names and one of captions: CSV, TSV, JSON, JSON Lines or Parquet."""

import posixpath
from collections.abc import Sequence
from dataclasses import replace

from tasks.collection.config import CollectionConfig
from tasks.collection.image_names import is_hidden, is_image
from tasks.collection.image_paths import ImagePaths
from tasks.collection.parsing.columns import caption_columns, image_column, split_column, split_named
from tasks.collection.parsing.table_files import EXTENSIONS, TableFile, open_table
from tasks.collection.readers.doubts import doubts
from tasks.collection.readers.rows import LocatedRow, join_rows, locate
from tasks.collection.records import Files, Problem, Reading, Split
from tasks.errors import InputError

BY_CONTENT = (".txt", ".json")  # tables only if both columns are found in them
OWN_TABLES = (("kind", "item", "line", "detail"), ("query", "rank", "image_id"), ("group", "size", "image_id"))
MAX_BY_CONTENT = 20  # of these files that are opened


class Table:
    """Columns are named in the settings, else detected by name, and the image column also by its values.

    Image names are relative to the folder that contains most of them. A column `split` with two splits is kept.
    """

    name = "table"

    def recognises(self, files: Files, config: CollectionConfig | None = None) -> bool:
        """Return whether the only table in the root has both columns.

        A file given by itself, and any table when the settings name a column, is meant to be one: it is accepted, so
        that its errors are reported.
        """
        config = config or CollectionConfig()
        sources = _sources(files, config)
        if sources and (config.image_column is not None or config.caption_columns):
            return True
        if len(sources) != 1:
            return False
        return len(files.paths) == 1 or why_not_a_table(files, sources[0], config) is None

    def read(self, files: Files, images: Files, config: CollectionConfig) -> Reading:
        """Return an item for each image in the table and for each unlisted image. Raises InputError."""
        sources = _sources(files, config)
        if len(sources) != 1:
            found = f"several tables ({', '.join(sources)})" if sources else f"no table ({', '.join(EXTENSIONS)})"
            raise InputError(f"The collection's folder contains {found}; give one table as the collection.")
        (source,) = sources
        problems: list[Problem] = []
        table = open_table(files, source, problems)
        image, captions = _columns(table, source, config)
        split = split_column([name for name in table.columns if name not in (image, *captions)])
        wanted = [name for name in dict.fromkeys((image, *captions, split)) if name is not None]
        rows = list(table.rows(wanted))
        paths = ImagePaths(images.paths)
        located = locate(source, rows, image, paths, problems)
        problems += doubts(table, source, image, captions, located, paths, config)
        items = join_rows(located, captions, problems)
        problems += paths.inexact(items)
        items += paths.unlisted(items)
        splits = {} if split is None else _splits(located, split, problems)
        used = (image, *captions, split) if splits else (image, *captions)
        others = [name for name in table.columns if name not in used]
        if others and not config.caption_columns:
            detail = (
                f"image names are read from column {image} and captions from {', '.join(captions)}, "
                f"not from {', '.join(others)}"
            )
            problems.append(Problem("caption-column", source, detail))
        items = [replace(item, split=splits.get(item.path)) for item in items]
        return Reading(self.name, tuple(items), tuple(problems), has_splits=bool(splits))


def why_not_a_table(files: Files, source: str, config: CollectionConfig) -> str | None:
    """Return why a file cannot be read as a table of image names and captions; None if it can."""
    try:
        _columns(open_table(files, source, []), source, config)
    except InputError as error:
        return str(error)
    return None


def _sources(files: Files, config: CollectionConfig) -> list[str]:
    """Return the tables in the root; if there is none, files of other kinds whose content is one.

    A file given by itself may have any name.
    """
    root = [path for path in files.paths if "/" not in path and not is_hidden(path)]
    tables = [path for path in root if path.lower().endswith(EXTENSIONS)]
    named = config.image_column is not None or bool(config.caption_columns)
    fitting = [path for path in tables if why_not_a_table(files, path, config) is None] if len(tables) > 1 else []
    if named and fitting:
        return fitting
    if tables:
        return [path for path in tables if not _is_written_by_us(files, path)] or tables
    others = [path for path in root if path.lower().endswith(BY_CONTENT) or len(files.paths) == 1]
    sidecars = {posixpath.splitext(path)[0] for path in root if is_image(path)}
    candidates = [path for path in others if posixpath.splitext(path)[0] not in sidecars][:MAX_BY_CONTENT]
    return [path for path in candidates if why_not_a_table(files, path, config) is None]


def _is_written_by_us(files: Files, path: str) -> bool:
    """Return whether a table has the columns of one that `check`, `search` or `duplicates` writes."""
    try:
        columns = open_table(files, path, []).columns
    except (InputError, OSError):
        return False
    return any(tuple(columns[: len(own)]) == own for own in OWN_TABLES)


def _columns(table: TableFile, source: str, config: CollectionConfig) -> tuple[str, tuple[str, ...]]:
    """Return the columns of image names and of captions. Raises InputError if none or several match."""
    if not table.columns:
        raise InputError(f"{source} has no rows of text; give a table of image names and captions.")
    if len(table.columns) == 1:
        raise InputError(f"{source} has a single column; give a table of image names and captions.")
    if any(map(is_image, table.columns)):
        raise InputError(f"{source} has no header; name its columns in a first line, such as image,caption.")
    image = image_column(table, source, config.image_column)
    others = [name for name in table.columns if name != image]
    return image, caption_columns(others, source, config.caption_columns)


def _splits(rows: Sequence[LocatedRow], column: str, problems: list[Problem]) -> dict[str, Split]:
    """Return the split by path, if there are two; an image's first row decides, and unknown splits are reported."""
    splits: dict[str, Split] = {}
    found: list[Problem] = []
    for line, path, row in rows:
        value = row.get(column)
        split = split_named(value)
        if split is None and value not in (None, ""):
            found.append(Problem("bad-split", path, f"unknown split {value!r} is ignored", line))
        elif split is not None and splits.setdefault(path, split) != split:
            found.append(Problem("duplicate-split", path, f"listed again in {split}; stays in {splits[path]}", line))
    if len(set(splits.values())) < 2:
        return {}
    problems += found
    return splits
