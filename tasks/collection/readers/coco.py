"""COCO captions: JSON files with the lists `images` and `annotations`, joined by the image's id."""

import json
import posixpath
import re
from typing import Any

from tasks.collection.config import CollectionConfig
from tasks.collection.image_names import is_hidden
from tasks.collection.image_paths import ImagePaths
from tasks.collection.parsing.text import clean_captions, decode_text
from tasks.collection.records import Files, Item, Problem, Reading, Split
from tasks.errors import InputError

SPLIT_NAMES: dict[str, Split] = {"train": "train", "val": "validation", "test": "test"}


class Coco:
    """Captions files in the root or in `annotations/`; where their names tell two splits, these are kept."""

    name = "coco"

    def recognises(self, files: Files) -> bool:
        """Whether a JSON file says `captions` in its name or holds the lists."""
        return bool(_captions_files(files))

    def read(self, files: Files, images: Files, config: CollectionConfig) -> Reading:  # noqa: ARG002 (a reader's signature)
        """An item for each entry of `images`, and for each other image on disk. Raises InputError."""
        sources = _captions_files(files)
        if not sources:
            raise InputError("The collection has no captions JSON with the lists `images` and `annotations`.")
        has_splits = len({_split_of(source) for source in sources} - {None}) > 1
        paths = ImagePaths(images.paths)
        problems: list[Problem] = []
        items: list[Item] = []
        for source in sources:
            split = _split_of(source) if has_splits else None
            items += _items(files, source, split, paths, problems)
        items += paths.unlisted(items)
        return Reading(self.name, tuple(items), tuple(problems), has_splits)


def _captions_files(files: Files) -> list[str]:
    """Those that are captions by name; else those that hold captions. Visual Genome's are too large to look inside."""
    foreign = {posixpath.dirname(path) for path in files.paths if posixpath.basename(path) == "image_data.json"}
    found = [
        path
        for path in files.paths
        if path.lower().endswith(".json")
        and posixpath.basename(posixpath.dirname(path)) in ("", "annotations")
        and not is_hidden(path)
    ]
    named = [path for path in found if "captions" in posixpath.basename(path).lower()]
    return named or [
        path for path in found if posixpath.dirname(path) not in foreign and _holds_captions(files.read(path))
    ]


def _holds_captions(data: bytes) -> bool:
    return all(key in data for key in (b'"images"', b'"annotations"', b'"caption"'))


def _split_of(source: str) -> Split | None:
    match = re.search("(?<![a-z])(train|val|test)", posixpath.basename(source))
    return SPLIT_NAMES[match[0]] if match else None


def _load(files: Files, source: str, problems: list[Problem]) -> tuple[list[Any], list[Any]]:
    """The lists `images` and `annotations`."""
    try:
        dataset = json.loads(decode_text(files.read(source), source, problems))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source} is not whole JSON ({error}); get it again.") from None
    match dataset:
        case {"images": list(images), "annotations": list(annotations)}:
            return images, annotations
    raise InputError(f"{source} has no lists `images` and `annotations`, so it is no COCO captions file.")


def _items(files: Files, source: str, split: Split | None, paths: ImagePaths, problems: list[Problem]) -> list[Item]:
    """An item for each image; where an id comes twice, its captions go to the first."""
    images, annotations = _load(files, source, problems)
    names = _pairs(f"{source} images", images, problems, "id", "file_name")
    texts = _pairs(f"{source} annotations", annotations, problems, "image_id", "caption")
    captions: dict[str, list[str]] = {}
    for image_id, text in texts:
        captions.setdefault(image_id, []).extend(clean_captions(text, image_id, None, problems))
    for image_id in sorted(captions.keys() - dict(names).keys()):
        detail = f"{source} lists no image of this id; captions not used: {len(captions[image_id])}"
        problems.append(Problem("unknown-image", image_id, detail))
    folder = paths.folder_of({name for _, name in names})
    return [
        Item(image_id, paths.find(name, folder), tuple(captions.pop(image_id, ())), split) for image_id, name in names
    ]


def _pairs(
    source: str, entries: list[Any], problems: list[Problem], id_field: str, text_field: str
) -> list[tuple[str, str]]:
    """Id and text of every entry of one list that has both; an id is text or a whole number."""
    pairs = []
    for number, entry in enumerate(entries):
        values = (entry.get(id_field), entry.get(text_field)) if isinstance(entry, dict) else (None, None)
        if type(values[0]) in (int, str) and isinstance(values[1], str):
            pairs.append((str(values[0]), values[1]))
        else:
            detail = f"no `{id_field}` or no text as `{text_field}`; the entry is not used"
            problems.append(Problem("bad-row", f"{source}[{number}]", detail))
    return pairs
