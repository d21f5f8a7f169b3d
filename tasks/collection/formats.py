"""The formats that scenekin knows, and which of them a collection is in."""

from tasks.collection.config import CollectionConfig
from tasks.collection.readers.coco import Coco
from tasks.collection.readers.flickr8k import Flickr8k
from tasks.collection.readers.folder import Folder
from tasks.collection.readers.imagefolder import ImageFolder
from tasks.collection.records import Files, Reader, Reading
from tasks.errors import InputError

FOLDER = Folder()
CAPTIONED: tuple[Reader, ...] = (Flickr8k(), Coco(), ImageFolder())
READERS: dict[str, Reader] = {reader.name: reader for reader in (*CAPTIONED, FOLDER)}


def read_collection(
    files: Files, images: Files, format: str | None = None, config: CollectionConfig | None = None
) -> Reading:
    """Items and problems of the collection in `files`, whose image paths refer to `images`.

    The format is the named one, else found by looking. Raises InputError where that leaves none or several.
    """
    if format is not None and format not in READERS:
        raise InputError(f"There is no format {format!r}; choose one of {', '.join(READERS)}.")
    try:
        reader = READERS[format] if format else _detect(files, images)
        return reader.read(files, images, config or CollectionConfig())
    except OSError as error:
        raise InputError(f"A file of the collection cannot be read: {error}.") from error


def _detect(files: Files, images: Files) -> Reader:
    candidates = [reader for reader in CAPTIONED if reader.recognises(files)]
    if len(candidates) > 1:
        names = " and ".join(reader.name for reader in candidates)
        raise InputError(f"The collection could be {names}; say which with --format.")
    if candidates:
        return candidates[0]
    if FOLDER.recognises(images):
        return FOLDER
    raise InputError(
        f"The collection holds no images and no captions in a known format ({', '.join(READERS)}); "
        "give the folder that holds them."
    )
