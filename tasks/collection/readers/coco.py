"""COCO captions: JSON files with lists `images` and `annotations`, joined by image id."""

import json
import posixpath
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tasks.collection.config import CollectionConfig
from tasks.collection.image_names import is_hidden
from tasks.collection.image_paths import ImagePaths
from tasks.collection.listed_names import find_names
from tasks.collection.parsing.columns import SPLIT_NAMES
from tasks.collection.parsing.ids import id_key, read_id
from tasks.collection.parsing.text import clean_captions, read_text
from tasks.collection.records import Files, Item, Problem, Reading, Split
from tasks.errors import InputError

HEAD = 2**16  # bytes of a file that show what it is


class Coco:
    """Captions files in the root or in `annotations/`; splits are kept if the file names contain at least two."""

    name = "coco"

    def recognises(self, files: Files) -> bool:
        """Return whether a JSON file has `captions` in its name or contains the lists."""
        return bool(_captions_files(files))

    def read(self, files: Files, images: Files, config: CollectionConfig) -> Reading:  # noqa: ARG002 (Reader protocol)
        """Return an item for each entry of `images` and for each unlisted image. Raises InputError."""
        sources = _captions_files(files)
        if not sources:
            raise InputError("No captions JSON with lists `images` and `annotations` found in the collection.")
        has_splits = len({_split_of(source) for source in sources} - {None}) > 1
        paths = ImagePaths(images.paths)
        problems: list[Problem] = []
        items: list[Item] = []
        for source in sources:
            split = _split_of(source) if has_splits else None
            items += _items(files, source, split, paths, problems)
        items = _with_own_ids(items, problems)
        problems += paths.inexact(items)
        items += paths.unlisted(items)
        return Reading(self.name, tuple(items), tuple(problems), has_splits)


def _captions_files(files: Files) -> list[str]:
    """Return the files named as captions, else those containing captions; Visual Genome's are too large to open."""
    foreign = {posixpath.dirname(path) for path in files.paths if posixpath.basename(path) == "image_data.json"}
    found = [
        path
        for path in files.paths
        if path.lower().endswith(".json")
        and posixpath.basename(posixpath.dirname(path)) in ("", "annotations")
        and not is_hidden(path)
    ]
    named = [
        path for path in found if "captions" in posixpath.basename(path).lower() and _begins_like_coco(files, path)
    ]
    return named or [
        path for path in found if posixpath.dirname(path) not in foreign and _contains_captions(files.read(path))
    ]


def _begins_like_coco(files: Files, path: str) -> bool:
    """Return whether the beginning of a file named as captions has one of the lists."""
    with files.open(path) as stream:
        head = _without_nul(stream.read(HEAD))
    return any(key in head for key in (b'"images"', b'"annotations"')) and b'"sentences"' not in head


def _contains_captions(data: bytes) -> bool:
    return all(key in _without_nul(data) for key in (b'"images"', b'"annotations"', b'"caption"'))


def _without_nul(data: bytes) -> bytes:
    """Return the data with the ASCII characters of UTF-16 as single bytes."""
    return data.replace(b"\0", b"")


def _split_of(source: str) -> Split | None:
    match = re.search("(?<![a-z])(train|val|dev|test)", posixpath.basename(source).lower())
    return SPLIT_NAMES[match[0]] if match else None


def _load(files: Files, source: str, problems: list[Problem]) -> tuple[list[Any], list[Any]]:
    """Return the lists `images` and `annotations`."""
    try:
        dataset = json.loads(read_text(files, source, problems))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source} is not valid JSON ({error}); it may be truncated.") from None
    match dataset:
        case {"images": list(images), "annotations": list(annotations)}:
            return images, annotations
    raise InputError(f"{source} is not a COCO captions file: it has no lists `images` and `annotations`.")


def _items(files: Files, source: str, split: Split | None, paths: ImagePaths, problems: list[Problem]) -> list[Item]:
    """Return an item for each image; if an id occurs twice, its captions go to the first entry."""
    images, annotations = _load(files, source, problems)
    names = _pairs(f"{source} images", images, problems, "id", "file_name")
    texts = _pairs(f"{source} annotations", annotations, problems, "image_id", "caption")
    captions: dict[str, list[str]] = {}
    for image_id, text in texts:
        captions.setdefault(id_key(image_id), []).extend(clean_captions(text, image_id, None, problems))
    for key in sorted(captions.keys() - {id_key(image_id) for image_id, _ in names}):
        detail = f"{source} lists no image with this id; captions not used: {len(captions[key])}"
        problems.append(Problem("unknown-image", key, detail))
    path_of = find_names((name for _, name in names), source, paths, problems)
    return [
        Item(image_id, path_of[name], tuple(captions.pop(id_key(image_id), ())), split, source=source)
        for image_id, name in names
    ]


def _with_own_ids(items: Sequence[Item], problems: list[Problem]) -> list[Item]:
    """Return the items with an id each: of several files that use one id for other images, the first keeps it."""
    first: dict[str, Item] = {}
    found = []
    for item in items:
        other = first.setdefault(id_key(item.image_id), item)
        if other.source == item.source or other.path == item.path:
            found.append(item if other is item else replace(item, image_id=other.image_id))
            continue
        detail = (
            f"{item.source} uses the id {item.image_id} as {other.source} does; this image is identified by its path"
        )
        problems.append(Problem("shared-id", item.path, detail))
        found.append(replace(item, image_id=item.path))
    return found


def _pairs(
    source: str, entries: list[Any], problems: list[Problem], id_field: str, text_field: str
) -> list[tuple[str, str]]:
    """Return id and text of every entry of one list that has both; an id is text or a whole number."""
    pairs = []
    for number, entry in enumerate(entries):
        values = (entry.get(id_field), entry.get(text_field)) if isinstance(entry, dict) else (None, None)
        image_id = read_id(values[0])
        if image_id is not None and isinstance(values[1], str):
            pairs.append((image_id, values[1]))
        else:
            detail = f"the entry has no `{id_field}` or no text in `{text_field}` and is skipped"
            problems.append(Problem("bad-row", f"{source}[{number}]", detail))
    return pairs
