"""The supported formats, and detection of the one a collection has.

Formats with files of their own come before the general ones: a stray text file next to an image in Flickr8k's folder,
or an unrelated table, is no second candidate. A folder of images alone is the last resort.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import BinaryIO

from tasks.collection.config import CollectionConfig
from tasks.collection.readers.coco import Coco
from tasks.collection.readers.flickr8k import Flickr8k
from tasks.collection.readers.flickr30k import Flickr30k
from tasks.collection.readers.folder import Folder
from tasks.collection.readers.imagefolder import ImageFolder
from tasks.collection.readers.karpathy import Karpathy
from tasks.collection.readers.parquet_images import ParquetImages
from tasks.collection.readers.sidecar import Sidecar
from tasks.collection.readers.table import Table, why_not_a_table
from tasks.collection.readers.takeout import Takeout
from tasks.collection.readers.visual_genome import VisualGenome
from tasks.collection.records import Files, Problem, Reader, Reading
from tasks.errors import InputError, InvalidOption

SPECIFIC: tuple[Reader, ...] = (Flickr8k(), Flickr30k(), Coco(), Karpathy(), VisualGenome(), ImageFolder(), Takeout())
PARQUET_IMAGES, TABLE, SIDECAR, FOLDER = ParquetImages(), Table(), Sidecar(), Folder()
READERS: dict[str, Reader] = {reader.name: reader for reader in (*SPECIFIC, PARQUET_IMAGES, TABLE, SIDECAR, FOLDER)}
WITH_COLUMNS = ("imagefolder", "parquet-images", "table")


def read_collection(
    files: Files, images: Files, format: str | None = None, config: CollectionConfig | None = None
) -> Reading:
    """Return items and problems of the collection in `files`; its image paths refer to `images`.

    The format is detected unless it is named. Raises InputError if no format or several match.
    """
    if format is not None and format not in READERS:
        raise InvalidOption(f"Unknown format {format!r}; choose one of {', '.join(READERS)}.")
    config = config or CollectionConfig()
    files = replace(files, encoding=config.encoding)
    opened: set[str] = set()

    def note_opened(path: str) -> BinaryIO:
        opened.add(path)
        return files.open(path)

    try:
        reader = READERS[format] if format else _detect(files, images, config)
        reading = reader.read(replace(files, open=note_opened), images, config)
    except OSError as error:
        raise InputError(f"Cannot read a file of the collection: {error}.") from error
    problems = (*reading.problems, *_unused_columns(reading.format, config))
    return replace(reading, problems=problems, opened=frozenset(opened))


def _unused_columns(format: str, config: CollectionConfig) -> Iterator[Problem]:
    """Yield the columns that the settings name for a format without columns."""
    named = [config.image_column, *config.caption_columns] if format not in WITH_COLUMNS else []
    for column in named:
        if column is not None:
            yield Problem("unused-column", column, f"the {format} format has no columns; the option is ignored")


def _detect(files: Files, images: Files, config: CollectionConfig) -> Reader:
    if _images_are_inside(files, images, config):
        return PARQUET_IMAGES
    candidates = [reader for reader in SPECIFIC if reader.recognises(files)] or _general(files, config)
    if len(candidates) > 1:
        names = " or ".join(reader.name for reader in candidates)
        raise InputError(f"The collection could be {names}; choose one with --format.")
    if candidates:
        return candidates[0]
    if FOLDER.recognises(files):
        return FOLDER
    raise InputError(
        f"No images and no captions in a known format ({', '.join(READERS)}) found; "
        "give the folder that contains the images."
    )


def _images_are_inside(files: Files, images: Files, config: CollectionConfig) -> bool:
    """Return whether Parquet files contain the images: there are no others, or the one file given names none."""
    others = FOLDER.recognises(images)
    if (others and len(files.paths) > 1) or not PARQUET_IMAGES.recognises(files):
        return False
    return not others or why_not_a_table(files, files.paths[0], config) is not None


def _general(files: Files, config: CollectionConfig) -> list[Reader]:
    tables: list[Reader] = [TABLE] if TABLE.recognises(files, config) else []
    return [*tables, SIDECAR] if SIDECAR.recognises(files) else tables
