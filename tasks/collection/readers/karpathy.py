"""Karpathy's splits (`dataset_coco.json`, `dataset_flickr8k.json`): one JSON of images, sentences and splits."""

import json
import posixpath
from typing import Any

from tasks.collection.config import CollectionConfig
from tasks.collection.image_names import is_hidden
from tasks.collection.image_paths import ImagePaths
from tasks.collection.listed_names import find_names
from tasks.collection.parsing.columns import split_named
from tasks.collection.parsing.text import clean_captions, read_text
from tasks.collection.records import Files, Item, Problem, Reading
from tasks.errors import InputError

HEAD = 2**16  # bytes that contain the first image
KEYS = (b'"images"', b'"sentences"', b'"filename"')


class Karpathy:
    """Captions are the sentences of an image as they were written; `restval` is part of train."""

    name = "karpathy"

    def recognises(self, files: Files) -> bool:
        """Return whether a JSON file in the root or in `annotations/` begins like such a dataset."""
        return _source(files) is not None

    def read(self, files: Files, images: Files, config: CollectionConfig) -> Reading:  # noqa: ARG002 (Reader protocol)
        """Return an item for each image in the file and for each unlisted image. Raises InputError."""
        source = _source(files)
        if source is None:
            raise InputError("No JSON of images with `filename` and `sentences` found in the collection.")
        problems: list[Problem] = []
        entries = _entries(files, source, problems)
        paths = ImagePaths(images.paths)
        folder = paths.folder_of({_path(entry) for entry in entries})
        full = {name: paths.find(name, folder) for name in map(_path, entries)}
        others = (_name(entry) for entry in entries if full[_path(entry)] not in paths)
        full |= find_names(others, source, paths, problems)
        items = [
            _item(entry, full[_path(entry) if full[_path(entry)] in paths else _name(entry)], problems)
            for entry in entries
        ]
        problems += paths.inexact(items)
        items += paths.unlisted(items)
        has_splits = len({item.split for item in items} - {None}) > 1
        return Reading(self.name, tuple(items), tuple(problems), has_splits)


def _source(files: Files) -> str | None:
    for path in files.paths:
        home = posixpath.basename(posixpath.dirname(path))
        if path.lower().endswith(".json") and home in ("", "annotations") and not is_hidden(path):
            with files.open(path) as stream:
                head = stream.read(HEAD)
            if all(key in head for key in KEYS):
                return path
    return None


def _entries(files: Files, source: str, problems: list[Problem]) -> list[dict[str, Any]]:
    """Return the entries with a file name and a list of sentences; others are skipped and reported."""
    try:
        dataset = json.loads(read_text(files, source, problems))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source} is not valid JSON ({error}); it may be truncated.") from None
    images = dataset.get("images") if isinstance(dataset, dict) else None
    if not isinstance(images, list):
        raise InputError(f"{source} has no list `images`.")
    entries = []
    for number, entry in enumerate(images):
        match entry:
            case {"filename": str(), "sentences": list()}:
                entries.append(entry)
            case _:
                detail = "the entry has no `filename` or no list `sentences` and is skipped"
                problems.append(Problem("bad-row", f"{source} images[{number}]", detail))
    return entries


def _path(entry: dict[str, Any]) -> str:
    """Return the file's name in its folder, such as `val2014`, if the entry has one."""
    return posixpath.join(str(entry.get("filepath") or ""), _name(entry))


def _name(entry: dict[str, Any]) -> str:
    return str(entry["filename"])


def _item(entry: dict[str, Any], path: str, problems: list[Problem]) -> Item:
    texts = [sentence.get("raw") if isinstance(sentence, dict) else sentence for sentence in entry["sentences"]]
    captions = clean_captions(texts, path, None, problems)
    return Item(path, path, tuple(captions), split_named(entry.get("split")))
