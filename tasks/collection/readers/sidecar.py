"""Sidecars: next to each image a text file with the same name and another extension, one caption per line."""

import posixpath
from collections import defaultdict

from tasks.collection.config import CollectionConfig
from tasks.collection.image_names import is_hidden, is_image
from tasks.collection.image_paths import ImagePaths
from tasks.collection.parsing.encodings import common_encoding
from tasks.collection.parsing.text import clean_captions, decode_text, numbered_lines
from tasks.collection.records import Files, Item, Problem, Reading
from tasks.errors import InputError


class Sidecar:
    """`cat.txt` belongs to every image `cat.*` in its folder; if there are several, this is reported."""

    name = "sidecar"

    def recognises(self, files: Files) -> bool:
        """Return whether there is a text file next to an image with the same name."""
        return not _texts(files).keys().isdisjoint(_stem(path) for path in files.paths if is_image(path))

    def read(self, files: Files, images: Files, config: CollectionConfig) -> Reading:  # noqa: ARG002 (Reader protocol)
        """Return an item for each image; text files without one are reported. Raises InputError if no file has one."""
        texts = _texts(files)
        paths_of: dict[str, list[str]] = defaultdict(list)
        items = []
        problems: list[Problem] = []
        for image in ImagePaths(images.paths).unlisted([]):
            paths_of[_stem(image.path)].append(image.path)
        if texts.keys().isdisjoint(paths_of):
            raise InputError("No image has a text file with the same name next to it.")
        used = [text for stem in paths_of for text in texts.get(stem, ())]
        contents = {path: data for path in used if (data := _read(files, path, problems)) is not None}
        likely = common_encoding(contents.values()) if files.encoding is None else None
        captions_of = {path: _captions(data, path, files.encoding, likely, problems) for path, data in contents.items()}
        for stem, paths in paths_of.items():
            captions = tuple(text for path in texts.pop(stem, []) for text in captions_of.get(path, ()))
            if captions and len(paths) > 1:
                detail = f"several images share these captions: {', '.join(paths)}"
                problems.append(Problem("shared-captions", f"{stem}.txt", detail))
            items += [Item(path, path, captions) for path in paths]
        for text in (path for unused in texts.values() for path in unused):
            detail = "there is no image with the same name next to this text file, which is ignored"
            problems.append(Problem("unknown-image", text, detail))
        return Reading(self.name, tuple(items), tuple(problems))


def _stem(path: str) -> str:
    return posixpath.splitext(path)[0]


def _texts(files: Files) -> dict[str, list[str]]:
    """Return the text files by their names without extension; `.txt` and `.TXT` may both exist."""
    texts: dict[str, list[str]] = defaultdict(list)
    for path in files.paths:
        if path.lower().endswith(".txt") and not is_hidden(path):
            texts[_stem(path)].append(path)
    return texts


def _read(files: Files, text: str, problems: list[Problem]) -> bytes | None:
    try:
        return files.read(text)
    except OSError as error:
        problems.append(_unreadable(text, error.strerror or str(error)))
        return None


def _captions(data: bytes, text: str, encoding: str | None, likely: str | None, problems: list[Problem]) -> list[str]:
    try:
        lines = numbered_lines(decode_text(data, text, problems, encoding, likely))
    except InputError as error:
        problems.append(_unreadable(text, str(error)))
        return []
    return [caption for line, value in lines for caption in clean_captions(value, text, line, problems)]


def _unreadable(text: str, reason: str) -> Problem:
    return Problem("unreadable-file", text, f"cannot be read ({reason}); its captions are ignored")
