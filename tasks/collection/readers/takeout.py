"""Google Takeout: next to each photograph a JSON file with its description (`IMG_1.jpg.supplemental-metadata.json`)."""

import json
import posixpath
import re
from collections.abc import Iterator
from typing import Any

from tasks.collection.config import CollectionConfig
from tasks.collection.image_names import EXTENSION, is_hidden
from tasks.collection.image_paths import ImagePaths
from tasks.collection.parsing.text import clean_captions, read_text
from tasks.collection.records import Files, Item, Problem, Reading
from tasks.errors import InputError

# Takeout shortens long names, so that `.supplemental-metadata` may be cut anywhere, and numbers equal ones.
NAME = re.compile(r"(?P<image>.+?)(\.s[a-z-]*)?(?P<number>\(\d+\))?\.json", re.IGNORECASE)
SAMPLE = 20  # files that are opened to detect the format


class Takeout:
    """Captions are the descriptions that people wrote; photographs without one have none."""

    name = "google-takeout"

    def recognises(self, files: Files) -> bool:
        """Return whether JSON files next to images contain the time at which they were taken."""
        paths = ImagePaths(files.paths)
        found = [path for path in _metadata_files(files) if _image_of(path, {}, paths) is not None][:SAMPLE]
        return any("photoTakenTime" in _load(files, path, []) for path in found)

    def read(self, files: Files, images: Files, config: CollectionConfig) -> Reading:  # noqa: ARG002 (Reader protocol)
        """Return an item for each image. Raises InputError if no JSON file belongs to one."""
        problems: list[Problem] = []
        captions: dict[str, list[str]] = {}
        paths = ImagePaths(images.paths)
        for source in _metadata_files(files):
            entry = _load(files, source, problems)
            image = _image_of(source, entry, paths)
            if image is not None:
                description = entry.get("description") or None
                captions.setdefault(image, []).extend(clean_captions(description, image, None, problems))
        if not captions:
            raise InputError("No image has a JSON file with its description next to it.")
        items = [Item(item.path, item.path, tuple(captions.get(item.path, ()))) for item in paths.unlisted([])]
        return Reading(self.name, tuple(items), tuple(problems))


def _metadata_files(files: Files) -> Iterator[str]:
    return (path for path in files.paths if path.lower().endswith(".json") and not is_hidden(path))


def _load(files: Files, source: str, problems: list[Problem]) -> dict[str, Any]:
    try:
        entry = json.loads(read_text(files, source, problems))
    except (ValueError, RecursionError, OSError):
        problems.append(Problem("unreadable-file", source, "not a readable JSON file; it is ignored"))
        return {}
    return entry if isinstance(entry, dict) else {}


def _image_of(source: str, entry: dict[str, Any], paths: ImagePaths) -> str | None:
    """Return the image in the same folder, by the name of the JSON file or by the title in it."""
    folder, name = posixpath.split(source)
    names = [str(entry["title"])] if entry.get("title") else []
    if match := NAME.fullmatch(name):
        stem, extension = posixpath.splitext(match["image"])
        names.insert(0, f"{stem}{match['number'] or ''}{extension}")
    found = (paths.find(name, folder) for name in names if EXTENSION.search(name))
    return next((path for path in found if path in paths), None)
