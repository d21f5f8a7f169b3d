"""Flickr30k: `image_name| comment_number| comment` lines or token lines, and a list of names a split."""

import codecs
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping

from tasks.collection.config import CollectionConfig
from tasks.collection.parsing.text import decode_text, numbered_lines
from tasks.collection.readers.flickr8k import CaptionRow, join_names, nearest, read_split_lists, token_rows
from tasks.collection.records import Files, Problem, Reading, Split
from tasks.errors import InputError

TOKENS, TABLE = "results_20130124.token", "results.csv"
SPLIT_LISTS: Mapping[str, Split] = {"train.txt": "train", "val.txt": "validation", "test.txt": "test"}
TABLE_HEADER = re.compile(rb"image_name\s*\|")
NUMBER_AND_CAPTION = re.compile(r"\s*\d+(?:\s*\|(?P<caption>.*)|\s+(?P<without_pipe>.*))", re.DOTALL)


class Flickr30k:
    """Images lie in the one folder where most of the names are found (`flickr30k_images/`, `flickr30k-images/`)."""

    name = "flickr30k"

    def recognises(self, files: Files) -> bool:
        """Whether there are token lines, by name, or a table that begins with its header."""
        return nearest(files, TOKENS) is not None or _table(files) is not None

    def read(self, files: Files, images: Files, config: CollectionConfig) -> Reading:  # noqa: ARG002 (a reader's signature)
        """An item for each name that has captions, and for each other image. Raises InputError."""
        problems: list[Problem] = []
        rows = list(_caption_rows(files, problems))
        splits = _splits(files, dict.fromkeys(name for _, name, _ in rows), problems)
        items = join_names(rows, splits, images, problems)
        return Reading(self.name, tuple(items), tuple(problems), has_splits=bool(splits))


def _table(files: Files) -> str | None:
    table = nearest(files, TABLE)
    if table is None:
        return None
    with files.open(table) as stream:
        return table if TABLE_HEADER.match(stream.read(64).removeprefix(codecs.BOM_UTF8)) else None


def _caption_rows(files: Files, problems: list[Problem]) -> Iterator[CaptionRow]:
    tokens, table = nearest(files, TOKENS), _table(files)
    if tokens is not None:
        if table is not None:
            problems.append(Problem("unused-file", table, f"captions are read from {tokens}, not from this file"))
        yield from token_rows(files, tokens, problems)
    elif table is not None:
        yield from _table_rows(files, table, problems)
    else:
        raise InputError(f"The collection has no {TOKENS} and no {TABLE} that begins with image_name|.")


def _table_rows(files: Files, table: str, problems: list[Problem]) -> Iterator[CaptionRow]:
    """Quotes are text, and so is any pipe after the second; where that one is missing the row is repaired."""
    _, *rows = numbered_lines(decode_text(files.read(table), table, problems))
    for line, text in rows:
        name, _, rest = text.partition("|")
        match = NUMBER_AND_CAPTION.fullmatch(rest)
        if match is None or not name.strip():
            detail = "not image_name|comment_number|comment; the line is not used"
            problems.append(Problem("bad-row", table, detail, line))
            continue
        if match["caption"] is None:
            detail = "no second pipe; what follows the number is read as the caption"
            problems.append(Problem("repaired-row", table, detail, line))
        yield line, name.strip(), match["caption"] or match["without_pipe"] or ""


def _splits(files: Files, names: Iterable[str], problems: list[Problem]) -> dict[str, Split]:
    """Split by image name, where two splits are listed and every listed name, with `.jpg` or without, has captions."""
    told: list[Problem] = []
    listed = read_split_lists(files, SPLIT_LISTS, told)
    full_names = {posixpath.splitext(name)[0]: name for name in names} | {name: name for name in names}
    unknown = [name for name in listed if name not in full_names]
    if unknown:
        detail = f"the lists hold {len(unknown)} names without captions, as {unknown[0]}; they are not read as splits"
        found = (nearest(files, name) for name in SPLIT_LISTS)
        problems += [Problem("unused-file", path, detail) for path in found if path is not None]
    if unknown or len(set(listed.values())) < 2:
        return {}
    problems += told
    return {full_names[name]: split for name, split in listed.items()}
