"""Flickr8k: `name#number<tab>caption` lines or an `image,caption` table, and one list of names per split."""

import codecs
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping

from tasks.collection.config import CollectionConfig
from tasks.collection.image_names import is_hidden, is_image
from tasks.collection.image_paths import ImagePaths
from tasks.collection.listed_names import find_names
from tasks.collection.parsing.csv_rows import read_csv
from tasks.collection.parsing.text import clean_captions, numbered_lines, read_text
from tasks.collection.records import Files, Item, Problem, Reading, Split
from tasks.errors import InputError

TOKENS, TABLE = "Flickr8k.token.txt", "captions.txt"
SPLIT_LISTS: Mapping[str, Split] = {
    "Flickr_8k.trainImages.txt": "train",
    "Flickr_8k.devImages.txt": "validation",
    "Flickr_8k.testImages.txt": "test",
}
TOKEN_LINE = re.compile(r"([^\t]+)#\d+\t(.*)")
TOKEN_START = re.compile(rb"[^\t\n]+#\d+\t")
FLICKR30K_TOKENS = "results_20130124.token"
TEXTS, MAX_TEXTS, HEAD = (".txt", ".token"), 20, 1024  # files that are opened, and their bytes that are looked at
TABLE_HEADER = re.compile(rb'("?)image\1[,;\t]("?)caption\2[\r\n]')

CaptionRow = tuple[int, str, str]  # line, image name, caption


class Flickr8k:
    """Images are in the one folder that contains most of the names (`Images/`, `Flicker8k_Dataset/`)."""

    name = "flickr8k"

    def recognises(self, files: Files) -> bool:
        """Return whether there is a token file, by name or content, or a table with the right header in the root."""
        return token_file(files) is not None or _has_table(files)

    def read(self, files: Files, images: Files, config: CollectionConfig) -> Reading:  # noqa: ARG002 (Reader protocol)
        """Return an item for each name in captions or split lists and for each unlisted image. Raises InputError."""
        problems: list[Problem] = []
        rows = list(_caption_rows(files, problems))
        splits = read_split_lists(files, SPLIT_LISTS, problems)
        items = join_names(rows, token_file(files) or TABLE, splits, images, problems)
        return Reading(self.name, tuple(items), tuple(problems), has_splits=bool(splits))


def nearest(files: Files, name: str) -> str | None:
    """Return the file with that name nearest to the root."""
    found = [path for path in files.paths if posixpath.basename(path) == name and not is_hidden(path)]
    return min(found, key=lambda path: (path.count("/"), path), default=None)


def token_file(files: Files) -> str | None:
    """Return the token file, by name, else a text file in the root that begins with a token line."""
    named = nearest(files, TOKENS)
    if named is not None or nearest(files, FLICKR30K_TOKENS) is not None:
        return named
    return next((path for path in root_texts(files) if TOKEN_START.match(head_of(files, path))), None)


def root_texts(files: Files) -> list[str]:
    """Return the text files in the root that are not named after an image, a limited number of them."""
    images = {posixpath.splitext(path)[0] for path in files.paths if is_image(path)}
    found = (path for path in files.paths if "/" not in path and path.lower().endswith(TEXTS) and not is_hidden(path))
    return [path for path in found if posixpath.splitext(path)[0] not in images][:MAX_TEXTS]


def head_of(files: Files, path: str) -> bytes:
    """Return the first bytes of a file, without BOM."""
    with files.open(path) as stream:
        return stream.read(HEAD).removeprefix(codecs.BOM_UTF8)


def token_rows(files: Files, source: str, problems: list[Problem]) -> Iterator[CaptionRow]:
    """Yield the rows of a file of `name#number<tab>caption` lines; other lines are reported."""
    for line, text in numbered_lines(read_text(files, source, problems)):
        if match := TOKEN_LINE.fullmatch(text):
            yield line, match[1], match[2]
        else:
            detail = "the line is not name#number<tab>caption and is skipped"
            problems.append(Problem("bad-row", source, detail, line))


def read_split_lists(files: Files, lists: Mapping[str, Split], problems: list[Problem]) -> dict[str, Split]:
    """Return the split by image name, from files with one name per line; a repeated name keeps its first split."""
    splits: dict[str, Split] = {}
    for list_name, split in lists.items():
        path = nearest(files, list_name)
        if path is None:
            continue
        for line, name in numbered_lines(read_text(files, path, problems)):
            if name in splits:
                detail = f"listed again in {path}; stays in {splits[name]}"
                problems.append(Problem("duplicate-split", name, detail, line))
            splits.setdefault(name, split)
    return splits


def join_names(
    rows: Iterable[CaptionRow], source: str, splits: Mapping[str, Split], images: Files, problems: list[Problem]
) -> list[Item]:
    """Return an item for each name in the rows of `source` or in splits, and one for each image that none names."""
    captions: dict[str, list[str]] = {}
    lines: dict[str, int] = {}
    for line, name, caption in rows:
        lines.setdefault(name, line)
        captions.setdefault(name, []).extend(clean_captions(caption, name, line, problems))
    paths = ImagePaths(images.paths)
    items = []
    for name, path in find_names([*captions, *splits], source, paths, problems).items():
        image_id = path if path in paths else name
        items.append(Item(image_id, path, tuple(captions.get(name, ())), splits.get(name), lines.get(name)))
    problems += paths.inexact(items)
    return items + paths.unlisted(items)


def _caption_rows(files: Files, problems: list[Problem]) -> Iterator[CaptionRow]:
    tokens = token_file(files)
    if tokens is None and not _has_table(files):
        raise InputError(f"Found neither {TOKENS} nor a {TABLE} with the header image,caption.")
    if tokens is None:
        for line, row in read_csv(read_text(files, TABLE, problems), TABLE, problems):
            yield line, row["image"], row["caption"]
        return
    if _has_table(files):
        problems.append(Problem("unused-file", TABLE, f"ignored, since captions are read from {tokens}"))
    yield from token_rows(files, tokens, problems)


def _has_table(files: Files) -> bool:
    if TABLE not in files.paths:
        return False
    return TABLE_HEADER.match(head_of(files, TABLE)) is not None
