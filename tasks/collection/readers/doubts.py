"""Doubts whether the right columns of a table are read, judging by their values."""

import statistics
from collections.abc import Iterator, Sequence
from itertools import islice

from tasks.collection.config import CollectionConfig
from tasks.collection.image_paths import ImagePaths, as_path, plain
from tasks.collection.parsing.table_files import TableFile
from tasks.collection.readers.rows import LocatedRow, image_name
from tasks.collection.records import Problem
from tasks.errors import InputError

FEW = 0.1  # share of the names that are images, below which another column is looked for
SAMPLE = 1000  # rows of the other columns
LEAST_TEXTS = 20  # texts in a column of captions, of which few are different and which are short if they are none
DIFFERENT, WORDS = 0.2, 3
SHORT = 2  # words of a text, if all texts of a column have no more


def doubts(
    table: TableFile,
    source: str,
    image: str,
    captions: Sequence[str],
    rows: Sequence[LocatedRow],
    paths: ImagePaths,
    config: CollectionConfig,
) -> list[Problem]:
    """Return a problem if another column has the names of the images, and for each column of few or very short texts.

    Raises InputError instead of the former if the image column was named in the settings.
    """
    found = [*_unlike_captions(source, captions, rows)]
    count = sum(path in paths for _, path, _ in rows)
    others = [column for column in table.columns if column not in (image, *captions)]
    if count < FEW * len(rows) and (other := _column_of_images(table, others, paths)):
        detail = (
            f"{count:,} of {len(rows):,} names in the column {image} of {source} are images, but most in {other} are; "
            f"use --image-column '{other}'"
        )
        if config.image_column is not None:
            raise InputError(f"{detail}.")
        found.append(Problem("image-column", source, detail))
    return found


def _column_of_images(table: TableFile, columns: Sequence[str], paths: ImagePaths) -> str | None:
    """Return the first column most of whose values name images."""
    rows = [row for _, row in islice(table.rows(columns), SAMPLE)] if columns else []
    names = {column: {plain(as_path(image_name(row.get(column)))) for row in rows} - {"."} for column in columns}
    images = {name for name, _ in paths.ending_in(set[str]().union(*names.values()))}
    return next((column for column in columns if len(names[column] & images) * 2 > len(names[column])), None)


def _unlike_captions(source: str, columns: Sequence[str], rows: Sequence[LocatedRow]) -> Iterator[Problem]:
    for column in columns:
        texts = [text.strip() for _, _, row in rows if isinstance(text := row.get(column), str) and text.strip()]
        different = sorted(set(texts))
        if (
            len(texts) >= LEAST_TEXTS
            and len(different) <= DIFFERENT * len(texts)
            and statistics.median(len(text.split()) for text in texts) <= WORDS
        ):
            detail = (
                f"the texts in the column {column} repeat: {len(different):,} different in {len(texts):,} rows, such "
                f"as '{different[0]}'; models learn more from descriptions"
            )
            yield Problem("repeated-captions", source, detail)
        elif len(texts) >= LEAST_TEXTS and all(len(text.split()) <= SHORT for text in texts):
            detail = (
                f"no text in the column {column} has more than {SHORT} words, such as '{different[0]}'; if these are "
                "no captions, name another column with --caption-column"
            )
            yield Problem("short-captions", source, detail)
