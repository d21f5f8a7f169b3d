"""A folder of images without captions: a collection to search."""

import posixpath

from tasks.collection.config import CollectionConfig
from tasks.collection.image_names import is_hidden, is_image
from tasks.collection.image_paths import ImagePaths
from tasks.collection.records import Files, Problem, Reading
from tasks.errors import InputError

STRUCTURED = (".csv", ".tsv", ".json", ".jsonl", ".parquet")
UNUSED = (
    "not read, since no known captions format was detected; "
    "if this is a table of captions, name its columns with --image-column and --caption-column"
)


class Folder:
    """Every image below the root, in any folder."""

    name = "folder"

    def recognises(self, files: Files) -> bool:
        """Return whether there is an image, by name."""
        return any(map(is_image, files.paths))

    def read(self, files: Files, images: Files, config: CollectionConfig) -> Reading:  # noqa: ARG002 (Reader protocol)
        """Return an item for each image; possible captions files are reported. Raises InputError without images."""
        items = ImagePaths(images.paths).unlisted([])
        if not items:
            raise InputError("The folder contains no images; give a folder of images.")
        problems = [Problem("unused-file", path, UNUSED) for path in files.paths if _may_hold_captions(path)]
        return Reading(self.name, tuple(items), tuple(problems))


def _may_hold_captions(path: str) -> bool:
    """Return whether the file is a table, JSON, or has `caption` in its name."""
    named = "caption" in posixpath.basename(path).lower()
    return (named or path.lower().endswith(STRUCTURED)) and not is_image(path) and not is_hidden(path)
