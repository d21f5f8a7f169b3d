"""Visual Genome: large JSON lists of images and their regions or objects; images in `VG_100K/` and `VG_100K_2/`."""

import posixpath
from collections import Counter
from collections.abc import Container, Sequence
from typing import Any

from tasks.collection.config import CollectionConfig
from tasks.collection.image_names import is_image
from tasks.collection.image_paths import ImagePaths
from tasks.collection.listed_names import find_names
from tasks.collection.parsing.ids import read_id
from tasks.collection.parsing.json_list import read_list
from tasks.collection.parsing.text import clean_captions
from tasks.collection.readers.flickr8k import nearest
from tasks.collection.records import Files, Item, Problem, Reading
from tasks.errors import InputError

IMAGE_DATA = "image_data.json"
ANNOTATIONS = {"regions": "region_descriptions.json", "objects": "objects.json"}
IMAGE_FOLDER = "VG_100K"  # and VG_100K_2

Listed = tuple[str, str, str]  # an image's id, the folder of its file according to the URL or "", and the file's name


class VisualGenome:
    """Captions are the phrases of an image's regions, or one caption per object, so that words count objects."""

    name = "visual-genome"

    def recognises(self, files: Files) -> bool:
        """Return whether the list of images and an annotations file exist, by name."""
        return nearest(files, IMAGE_DATA) is not None and any(nearest(files, name) for name in ANNOTATIONS.values())

    def read(self, files: Files, images: Files, config: CollectionConfig) -> Reading:
        """Return an item for each entry of the image list and for each unlisted image. Raises InputError."""
        wanted = ANNOTATIONS[config.annotations]
        listing, source = nearest(files, IMAGE_DATA), nearest(files, wanted)
        if listing is None:
            raise InputError(f"No {IMAGE_DATA}, which lists the images, found in the collection.")
        if source is None:
            other = next(kind for kind in ANNOTATIONS if kind != config.annotations)
            choice = f"to use {ANNOTATIONS[other]}, add --set collection.annotations={other}"
            raise InputError(f"No {wanted}, which lists the {config.annotations}, found in the collection; {choice}.")
        problems: list[Problem] = []
        listed = _listed(files, listing, problems)
        captions = _captions(files, source, config.annotations, {image_id for image_id, *_ in listed}, problems)
        paths = ImagePaths(images.paths)
        path_of = _paths_of(listed, listing, images, paths, problems)
        items = [
            Item(image_id, path_of[home, name], tuple(captions.pop(image_id, ()))) for image_id, home, name in listed
        ]
        problems += paths.inexact(items)
        items += paths.unlisted(items)
        return Reading(self.name, tuple(items), tuple(problems))


def _listed(files: Files, listing: str, problems: list[Problem]) -> list[Listed]:
    listed = []
    for number, entry in enumerate(read_list(files, listing, problems)):
        image_id = _image_id(entry)
        if image_id is None:
            detail = "the entry has no `image_id` or `id` and is skipped"
            problems.append(Problem("bad-row", f"{listing}[{number}]", detail))
            continue
        *_, home, name = ["", *str(entry.get("url")).split("/")]
        listed.append((image_id, home, name) if is_image(name) else (image_id, "", f"{image_id}.jpg"))
    return listed


def _image_id(entry: Any) -> str | None:
    """Return the text or whole number in `image_id` or `id`."""
    values = (entry.get("image_id"), entry.get("id")) if isinstance(entry, dict) else ()
    return next((image_id for value in values if (image_id := read_id(value)) is not None), None)


def _captions(
    files: Files, source: str, kind: str, known: Container[str], problems: list[Problem]
) -> dict[str, list[str]]:
    """Return captions by the id of a known image; an image with two entries gets the captions of both."""
    text_of = _phrase if kind == "regions" else _words
    captions: dict[str, list[str]] = {}
    unknown: Counter[str] = Counter()
    for number, entry in enumerate(read_list(files, source, problems)):
        image_id = _image_id(entry)
        parts = None if image_id is None else entry.get(kind) or []
        if image_id is None or not isinstance(parts, list):
            detail = f"the entry has no `image_id` or `id`, or `{kind}` is not a list; it is skipped"
            problems.append(Problem("bad-row", f"{source}[{number}]", detail))
            continue
        texts = clean_captions([text_of(part) for part in parts], image_id, None, problems)
        if image_id in known:
            captions.setdefault(image_id, []).extend(texts)
        else:
            unknown[image_id] += len(texts)
    for image_id in sorted(unknown):
        detail = f"{IMAGE_DATA} lists no image with this id; captions not used: {unknown[image_id]}"
        problems.append(Problem("unknown-image", image_id, detail))
    return captions


def _phrase(region: Any) -> Any:
    """Return the region's text, or the region itself, so that it is reported as not being a caption."""
    return region.get("phrase", region) if isinstance(region, dict) else region


def _words(thing: Any) -> Any:
    """Return the object's words from its synsets (`traffic_light.n.01`) or names, else the object itself."""
    synsets, names = (thing.get(key) for key in ("synsets", "names")) if isinstance(thing, dict) else (None, None)
    words = [synset.rsplit(".", 2)[0].replace("_", " ") for synset in _texts(synsets)] or _texts(names)
    return ", ".join(words) or thing


def _texts(value: Any) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _paths_of(
    listed: Sequence[Listed], listing: str, images: Files, paths: ImagePaths, problems: list[Problem]
) -> dict[tuple[str, str], str]:
    """Return the path of each image by folder and name, in the dataset's image folders if there are any."""
    found = {posixpath.dirname(path) for path in images.paths if is_image(path)}
    if own := sorted(folder for folder in found if posixpath.basename(folder).startswith(IMAGE_FOLDER)):
        return {(home, name): _find(paths, own, home, name) for _, home, name in listed}
    path_of = find_names((name for *_, name in listed), listing, paths, problems)
    return {(home, name): path_of[name] for _, home, name in listed}


def _find(paths: ImagePaths, folders: Sequence[str], home: str, name: str) -> str:
    """Return the path in the folder named `home`, else in another; if no such file exists, the first of these."""
    nearest_first = sorted(folders, key=lambda folder: posixpath.basename(folder) != home)
    found = [paths.find(name, folder) for folder in nearest_first]
    return next((path for path in found if path in paths), found[0])
