"""A folder of images without captions: a collection to search."""

import posixpath

from tasks.collection.config import CollectionConfig
from tasks.collection.image_names import is_hidden, is_image
from tasks.collection.image_paths import ImagePaths
from tasks.collection.parsing.table_files import EXTENSIONS
from tasks.collection.readers.table import why_not_a_table
from tasks.collection.records import Files, Problem, Reading
from tasks.errors import InputError

STRUCTURED = (*EXTENSIONS, ".json")
MAX_EXPLAINED = 20  # files that are opened to find out why they are not read


class Folder:
    """Every image below the root, in any folder."""

    name = "folder"

    def recognises(self, files: Files) -> bool:
        """Return whether there is an image, by name."""
        return any(map(is_image, files.paths))

    def read(self, files: Files, images: Files, config: CollectionConfig) -> Reading:
        """Return an item for each image; possible captions files are reported. Raises InputError without images."""
        items = ImagePaths(images.paths).unlisted([])
        if not items:
            raise InputError("The folder contains no images; give a folder of images.")
        unused = [path for path in files.paths if _may_hold_captions(path)]
        problems = [
            Problem("unused-file", path, _reason(files, path, config) if number < MAX_EXPLAINED else "not read")
            for number, path in enumerate(unused)
        ]
        return Reading(self.name, tuple(items), tuple(problems))


def _may_hold_captions(path: str) -> bool:
    """Return whether the file is a table, JSON, or has `caption` in its name."""
    named = "caption" in posixpath.basename(path).lower()
    return (named or path.lower().endswith(STRUCTURED)) and not is_image(path) and not is_hidden(path)


def _reason(files: Files, path: str, config: CollectionConfig) -> str:
    """Return why a table is not read, with an option that helps."""
    try:
        reason = why_not_a_table(files, path, config)
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    if reason is not None:
        return f"not read: {reason.removesuffix('.')}"
    if "/" in path:
        where = "is in a folder of its own"
    else:
        where = "is one of several tables" if path.lower().endswith(EXTENSIONS) else "is a table by its content alone"
    return f"not read, since it {where}; to use its captions, give this file as the collection"
