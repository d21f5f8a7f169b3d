"""The formats that scenekin knows, and which of them a collection is in.

A format with files of its own comes before the general ones: a stray text beside an image in Flickr8k's folder, or a
table of something else, makes no second candidate. Images alone are what is left.
"""

from collections.abc import Iterator
from dataclasses import replace

from tasks.collection.config import CollectionConfig
from tasks.collection.readers.coco import Coco
from tasks.collection.readers.flickr8k import Flickr8k
from tasks.collection.readers.flickr30k import Flickr30k
from tasks.collection.readers.folder import Folder
from tasks.collection.readers.imagefolder import ImageFolder
from tasks.collection.readers.sidecar import Sidecar
from tasks.collection.readers.table import Table
from tasks.collection.readers.visual_genome import VisualGenome
from tasks.collection.records import Files, Problem, Reader, Reading
from tasks.errors import InputError

SPECIFIC: tuple[Reader, ...] = (Flickr8k(), Flickr30k(), Coco(), VisualGenome(), ImageFolder())
TABLE, SIDECAR, FOLDER = Table(), Sidecar(), Folder()
READERS: dict[str, Reader] = {reader.name: reader for reader in (*SPECIFIC, TABLE, SIDECAR, FOLDER)}
WITH_COLUMNS = ("imagefolder", "table")


def read_collection(
    files: Files, images: Files, format: str | None = None, config: CollectionConfig | None = None
) -> Reading:
    """Items and problems of the collection in `files`, whose image paths refer to `images`.

    The format is the named one, else found by looking. Raises InputError where that leaves none or several.
    """
    if format is not None and format not in READERS:
        raise InputError(f"There is no format {format!r}; choose one of {', '.join(READERS)}.")
    config = config or CollectionConfig()
    try:
        reader = READERS[format] if format else _detect(files, config)
        reading = reader.read(files, images, config)
    except OSError as error:
        raise InputError(f"A file of the collection cannot be read: {error}.") from error
    return replace(reading, problems=(*reading.problems, *_unused_columns(reading.format, config)))


def _unused_columns(format: str, config: CollectionConfig) -> Iterator[Problem]:
    """The columns that the settings name, where the format has none."""
    for column in (config.image_column, config.caption_column):
        if column is not None and format not in WITH_COLUMNS:
            yield Problem("unused-column", column, f"{format} has no columns to choose from; it is read all the same")


def _detect(files: Files, config: CollectionConfig) -> Reader:
    candidates = [reader for reader in SPECIFIC if reader.recognises(files)] or _general(files, config)
    if len(candidates) > 1:
        names = " and ".join(reader.name for reader in candidates)
        raise InputError(f"The collection could be {names}; say which with --format.")
    if candidates:
        return candidates[0]
    if FOLDER.recognises(files):
        return FOLDER
    raise InputError(
        f"The collection holds no images and no captions in a known format ({', '.join(READERS)}); "
        "give the folder that holds them."
    )


def _general(files: Files, config: CollectionConfig) -> list[Reader]:
    tables: list[Reader] = [TABLE] if TABLE.recognises(files, config) else []
    return [*tables, SIDECAR] if SIDECAR.recognises(files) else tables
