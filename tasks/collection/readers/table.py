"""A table: one .csv, .tsv, .jsonl or .parquet file in the root with a column of image names and one of captions."""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import islice

from tasks.collection.config import CollectionConfig
from tasks.collection.image_names import is_hidden, is_image
from tasks.collection.image_paths import ImagePaths
from tasks.collection.parsing.table_files import TableFile, open_table
from tasks.collection.parsing.text import printable
from tasks.collection.readers.imagefolder import SPLIT_FOLDERS, LocatedRow, join_rows, locate
from tasks.collection.records import Files, Problem, Reading, Split
from tasks.errors import InputError

EXTENSIONS = (".csv", ".tsv", ".jsonl", ".parquet")
IMAGE_COLUMNS = re.compile("(image|img)(name|path|file|filename)?|file(name|path)?|path|photo|picture")
CAPTION_COLUMNS = (  # the first that fits any column
    re.compile("captions?"),
    re.compile("(text|sentence|comment|description)s?|title|alt(text)?"),
)
SAMPLE = 100  # rows used to detect the column of image names


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
        sources, config = _sources(files), config or CollectionConfig()
        if sources and (config.image_column is not None or config.caption_column is not None):
            return True
        if len(sources) != 1:
            return False
        if len(files.paths) == 1:
            return True
        try:
            _columns(open_table(files, sources[0], []), sources[0], config)
        except InputError:
            return False
        return True

    def read(self, files: Files, images: Files, config: CollectionConfig) -> Reading:
        """Return an item for each image in the table and each other image. Raises InputError."""
        sources = _sources(files)
        if len(sources) != 1:
            found = f"several tables ({', '.join(sources)})" if sources else f"no table ({', '.join(EXTENSIONS)})"
            raise InputError(f"The collection's folder contains {found}; give one table as the collection.")
        (source,) = sources
        problems: list[Problem] = []
        table = open_table(files, source, problems)
        image, caption = _columns(table, source, config)
        split = next((name for name in table.columns if _plain(name) == "split" and name not in (image, caption)), None)
        wanted = [name for name in dict.fromkeys((image, caption, split)) if name is not None]
        rows = list(table.rows(wanted))
        paths = ImagePaths(images.paths)
        folder = paths.folder_of({str(row.get(image)) for _, row in rows})
        located = list(locate(source, rows, image, folder, paths, problems))
        items = join_rows(located, caption, problems)
        problems += paths.inexact(items)
        items += paths.unlisted(items)
        splits = {} if split is None else _splits(located, split, problems)
        used = (image, caption, split) if splits else (image, caption)
        if others := [name for name in table.columns if name not in used]:
            detail = (
                f"image names are read from column {image} and captions from {caption}, not from {', '.join(others)}"
            )
            problems.append(Problem("caption-column", source, detail))
        items = [replace(item, split=splits.get(item.path)) for item in items]
        return Reading(self.name, tuple(items), tuple(problems), has_splits=bool(splits))


def _sources(files: Files) -> list[str]:
    found = (path for path in files.paths if "/" not in path and not is_hidden(path))
    return [path for path in found if path.lower().endswith(EXTENSIONS)]


def _columns(table: TableFile, source: str, config: CollectionConfig) -> tuple[str, str]:
    """Return the columns of image names and captions. Raises InputError if none or several match."""
    if not table.columns:
        raise InputError(f"{source} has no rows of text; give a table of image names and captions.")
    image = image_column(table, source, config.image_column)
    others = [name for name in table.columns if name != image]
    captions = [config.caption_column] if config.caption_column is not None else _caption_columns(others)
    return image, _the_one(captions, others, "contains the captions", "--caption-column", source)


def image_column(table: TableFile, source: str, named: str | None) -> str:
    """Return the column of image names: the one named, else detected. Raises InputError if none or several match."""
    found = [named] if named is not None else _image_columns(table)
    return _the_one(found, table.columns, "names the images", "--image-column", source)


def _the_one(found: Sequence[str], columns: Sequence[str], what: str, option: str, source: str) -> str:
    if len(found) != 1:
        names = ", ".join(found or columns) or "there is no other column"
        sentence = f"Cannot determine which column of {source} {what} ({names}); name it with {option}."
        raise InputError(printable(sentence))
    (name,) = found
    if name not in columns:
        choice = f"choose {option} from {', '.join(columns)}" if columns else "there is no other column"
        sentence = f"{source} has no column {name!r}; {choice}."
        raise InputError(printable(sentence))
    return name


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


def _splits(rows: Sequence[LocatedRow], column: str, problems: list[Problem]) -> dict[str, Split]:
    """Return the split by path, if there are two; an image's first row decides, and unknown splits are reported."""
    splits: dict[str, Split] = {}
    found: list[Problem] = []
    for line, path, row in rows:
        value = row.get(column)
        split = SPLIT_FOLDERS.get(str(value).strip().lower())
        if split is None and value not in (None, ""):
            found.append(Problem("bad-split", path, f"unknown split {value!r} is ignored", line))
        elif split is not None and splits.setdefault(path, split) != split:
            found.append(Problem("duplicate-split", path, f"listed again in {split}; stays in {splits[path]}", line))
    if len(set(splits.values())) < 2:
        return {}
    problems += found
    return splits
