"""Flickr8k: `name#number<tab>caption` lines or an `image,caption` table, and a list of names a split."""

import codecs
import posixpath
import re
from collections.abc import Iterator, Mapping

from tasks.collection.config import CollectionConfig
from tasks.collection.csv_rows import read_csv
from tasks.collection.image_names import is_hidden
from tasks.collection.image_paths import ImagePaths
from tasks.collection.records import Files, Item, Problem, Reading, Split
from tasks.collection.text import clean_captions, decode_text, numbered_lines
from tasks.errors import InputError

TOKENS, TABLE = "Flickr8k.token.txt", "captions.txt"
SPLIT_LISTS: Mapping[str, Split] = {
    "Flickr_8k.trainImages.txt": "train",
    "Flickr_8k.devImages.txt": "validation",
    "Flickr_8k.testImages.txt": "test",
}
TOKEN_LINE = re.compile(r"([^\t]+)#\d+\t(.*)")
TABLE_HEADER = re.compile(rb'"?image"?[,;\t]"?caption"?[\r\n]')


class Flickr8k:
    """Images lie in the one folder where most of the names are found (`Images/`, `Flicker8k_Dataset/`)."""

    name = "flickr8k"

    def recognises(self, files: Files) -> bool:
        """Whether there are token lines, by name, or a table in the root that begins with its header."""
        return _named(files, TOKENS) is not None or _has_table(files)

    def read(self, files: Files, images: Files, config: CollectionConfig) -> Reading:  # noqa: ARG002 (a reader's signature)
        """An item for each name in captions or split lists, and for each other image. Raises InputError."""
        problems: list[Problem] = []
        captions: dict[str, list[str]] = {}
        lines: dict[str, int] = {}
        for line, name, caption in _caption_rows(files, problems):
            lines.setdefault(name, line)
            captions.setdefault(name, []).extend(clean_captions(caption, name, line, problems))
        splits = _splits(files, problems)
        paths = ImagePaths(images.paths)
        names = dict.fromkeys([*captions, *splits])
        folder = paths.folder_of(names)
        items = []
        for name in names:
            path = paths.find(name, folder)
            image_id = path if path in paths else name
            texts = tuple(captions.get(name, ()))
            items.append(Item(image_id, path, texts, splits.get(name), lines.get(name)))
        items += paths.unlisted(items)
        return Reading(self.name, tuple(items), tuple(problems), has_splits=bool(splits))


def _caption_rows(files: Files, problems: list[Problem]) -> Iterator[tuple[int, str, str]]:
    """Line, image name and caption of every well-formed row."""
    tokens = _named(files, TOKENS)
    if tokens is None and not _has_table(files):
        raise InputError(f"The collection has no {TOKENS} and no {TABLE} that begins with image,caption.")
    if tokens is None:
        for line, row in read_csv(decode_text(files.read(TABLE), TABLE, problems), TABLE, problems):
            yield line, row["image"], row["caption"]
        return
    if _has_table(files):
        problems.append(Problem("unused-file", TABLE, f"captions are read from {tokens}, not from this file"))
    for line, text in numbered_lines(decode_text(files.read(tokens), tokens, problems)):
        if match := TOKEN_LINE.fullmatch(text):
            yield line, match[1], match[2]
        else:
            detail = "not name#number<tab>caption; the line is not used"
            problems.append(Problem("bad-row", tokens, detail, line))


def _splits(files: Files, problems: list[Problem]) -> dict[str, Split]:
    """Split by image name; a name that is listed again keeps its first."""
    splits: dict[str, Split] = {}
    for list_name, split in SPLIT_LISTS.items():
        path = _named(files, list_name)
        if path is None:
            continue
        for line, name in numbered_lines(decode_text(files.read(path), path, problems)):
            if name in splits:
                detail = f"listed again in {path}; it stays in {splits[name]}"
                problems.append(Problem("duplicate-split", name, detail, line))
            splits.setdefault(name, split)
    return splits


def _named(files: Files, name: str) -> str | None:
    """The file of that name nearest to the root."""
    found = [path for path in files.paths if posixpath.basename(path) == name and not is_hidden(path)]
    return min(found, key=lambda path: (path.count("/"), path), default=None)


def _has_table(files: Files) -> bool:
    if TABLE not in files.paths:
        return False
    with files.open(TABLE) as stream:
        return TABLE_HEADER.match(stream.read(64).removeprefix(codecs.BOM_UTF8)) is not None
