"""A folder of images alone: a database to search, without captions."""

import posixpath

from tasks.collection.config import CollectionConfig
from tasks.collection.image_names import is_hidden, is_image
from tasks.collection.image_paths import ImagePaths
from tasks.collection.records import Files, Problem, Reading
from tasks.errors import InputError

STRUCTURED = (".csv", ".tsv", ".json", ".jsonl", ".parquet")
UNUSED = "not read, since only images are; of a table of captions name columns by --image-column and --caption-column"


class Folder:
    """Every image below the root, in whatever folder."""

    name = "folder"

    def recognises(self, files: Files) -> bool:
        """Whether there is an image, by name."""
        return any(map(is_image, files.paths))

    def read(self, files: Files, images: Files, config: CollectionConfig) -> Reading:  # noqa: ARG002 (a reader's signature)
        """An item for each image; what looks like captions is told. Raises InputError where there is no image."""
        items = ImagePaths(images.paths).unlisted([])
        if not items:
            raise InputError("The folder holds no images; give one that does.")
        problems = [Problem("unused-file", path, UNUSED) for path in files.paths if _may_hold_captions(path)]
        return Reading(self.name, tuple(items), tuple(problems))


def _may_hold_captions(path: str) -> bool:
    """A table, JSON, or a file that says `caption` in its name."""
    named = "caption" in posixpath.basename(path).lower()
    return (named or path.lower().endswith(STRUCTURED)) and not is_image(path) and not is_hidden(path)
