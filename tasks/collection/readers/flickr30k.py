"""Flickr30k: `image_name| comment_number| comment` lines or token lines, and one list of names per split."""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping

from tasks.collection.config import CollectionConfig
from tasks.collection.parsing.text import numbered_lines, read_text
from tasks.collection.readers.flickr8k import (
    FLICKR30K_TOKENS,
    CaptionRow,
    head_of,
    join_names,
    nearest,
    read_split_lists,
    root_texts,
    token_rows,
)
from tasks.collection.records import Files, Problem, Reading, Split
from tasks.errors import InputError
from tasks.phrases import counted

TOKENS, TABLE = FLICKR30K_TOKENS, "results.csv"
SPLIT_LISTS: Mapping[str, Split] = {"train.txt": "train", "val.txt": "validation", "test.txt": "test"}
TABLE_HEADER = re.compile(rb"image_name\s*\|")
NUMBER_AND_CAPTION = re.compile(r"\s*\d+(?:\s*\|(?P<caption>.*)|\s+(?P<without_pipe>.*))", re.DOTALL)


class Flickr30k:
    """Images are in the one folder that contains most of the names (`flickr30k_images/`, `flickr30k-images/`)."""

    name = "flickr30k"

    def recognises(self, files: Files) -> bool:
        """Return whether there is a token file, by name, or a table with the right header."""
        return nearest(files, TOKENS) is not None or _table(files) is not None

    def read(self, files: Files, images: Files, config: CollectionConfig) -> Reading:  # noqa: ARG002 (Reader protocol)
        """Return an item for each name that has captions and for each unlisted image. Raises InputError."""
        problems: list[Problem] = []
        rows = list(_caption_rows(files, problems))
        splits = _splits(files, dict.fromkeys(name for _, name, _ in rows), problems)
        source = nearest(files, TOKENS) or _table(files) or TABLE
        items = join_names(rows, source, splits, images, problems)
        return Reading(self.name, tuple(items), tuple(problems), has_splits=bool(splits))


def _table(files: Files) -> str | None:
    """Return the table, by its name and header, else by the header alone."""
    named = nearest(files, TABLE)
    candidates = ([named] if named else []) + root_texts(files)
    return next((path for path in candidates if TABLE_HEADER.match(head_of(files, path))), None)


def _caption_rows(files: Files, problems: list[Problem]) -> Iterator[CaptionRow]:
    tokens, table = nearest(files, TOKENS), _table(files)
    if tokens is not None:
        if table is not None:
            problems.append(Problem("unused-file", table, f"ignored, since captions are read from {tokens}"))
        yield from token_rows(files, tokens, problems)
    elif table is not None:
        yield from _table_rows(files, table, problems)
    else:
        raise InputError(f"Found neither {TOKENS} nor a {TABLE} with the header image_name|.")


def _table_rows(files: Files, table: str, problems: list[Problem]) -> Iterator[CaptionRow]:
    """Yield the rows; quotes and pipes after the second are text, and a row without a second pipe is repaired."""
    _, *rows = numbered_lines(read_text(files, table, problems))
    for line, text in rows:
        name, _, rest = text.partition("|")
        match = NUMBER_AND_CAPTION.fullmatch(rest)
        if match is None or not name.strip():
            detail = "the line is not image_name|comment_number|comment and is skipped"
            problems.append(Problem("bad-row", table, detail, line))
            continue
        if match["caption"] is None:
            detail = "the second pipe is missing; the text after the number is read as the caption"
            problems.append(Problem("repaired-row", table, detail, line))
        yield line, name.strip(), match["caption"] or match["without_pipe"] or ""


def _splits(files: Files, names: Iterable[str], problems: list[Problem]) -> dict[str, Split]:
    """Return the split by image name, if at least two are listed and every name (`.jpg` optional) has captions."""
    found_problems: list[Problem] = []
    listed = read_split_lists(files, SPLIT_LISTS, found_problems)
    full_names = {posixpath.splitext(name)[0]: name for name in names} | {name: name for name in names}
    unknown = [name for name in listed if name not in full_names]
    if unknown:
        detail = (
            f"not read as splits: {counted(len(unknown), 'listed name')} without captions, for example {unknown[0]}"
        )
        lists = (nearest(files, name) for name in SPLIT_LISTS)
        problems += [Problem("unused-file", path, detail) for path in lists if path is not None]
    if unknown or len(set(listed.values())) < 2:
        return {}
    problems += found_problems
    return {full_names[name]: split for name, split in listed.items()}
