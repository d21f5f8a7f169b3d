"""The entries of a JSON list one at a time, so that no file is too large to be read."""

import codecs
import json
import re
from collections.abc import Iterator
from functools import partial
from typing import Any, BinaryIO

from tasks.collection.parsing.text import is_unicode
from tasks.collection.records import Files, Problem
from tasks.errors import InputError

CHUNK = 2**20  # bytes
LONGEST = 2**24  # characters of one entry; what seems longer is damaged, and would fill the memory

SPACE = r"[ \t\n\r]*"
FIRST, NEXT = re.compile(rf"{SPACE}\[{SPACE}"), re.compile(f"{SPACE},{SPACE}")
AFTER = re.compile(rf"{SPACE}[],]")
LAST = {FIRST: re.compile(rf"{SPACE}\[{SPACE}\]{SPACE}"), NEXT: re.compile(rf"{SPACE}\]{SPACE}")}
SCAN = json.JSONDecoder().raw_decode
NOT_UTF8 = re.compile("[\udc80-\udcff]")


def read_list(files: Files, path: str, problems: list[Problem]) -> Iterator[Any]:
    """The entries of the list that is the file; bytes that are not UTF-8 are read as Windows-1252 and told.

    Raises InputError where the file is not whole; the entries before are given all the same.
    """
    try:
        with files.open(path) as stream:
            yield from _entries(_texts(stream, path, problems))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not a whole JSON list ({error}); get it again.") from None


def _texts(stream: BinaryIO, path: str, problems: list[Problem]) -> Iterator[str]:
    """The file's text, a chunk at a time."""
    count = 0
    chunks = iter(partial(stream.read, CHUNK), b"")
    for text in codecs.iterdecode(chunks, "utf-8-sig", "surrogateescape"):
        restored, found = (text, 0) if is_unicode(text) else NOT_UTF8.subn(_windows_1252, text)
        count += found
        yield restored
    if count:
        detail = f"bytes that are not UTF-8, read as Windows-1252: {count}"
        problems.append(Problem("encoding-fallback", path, detail))


def _windows_1252(escaped: re.Match[str]) -> str:
    return escaped[0].encode("utf-8", "surrogateescape").decode("cp1252", "replace")


def _entries(texts: Iterator[str]) -> Iterator[Any]:
    """Whatever fails to parse is tried again with more of the text, up to LONGEST."""
    held, place, before, number = "", 0, FIRST, 0
    while True:
        try:
            entry, place = _entry(held, place, before)
        except ValueError as error:
            more = next(texts, "") if len(held) - place <= LONGEST else ""
            if more:
                held, place = held[place:] + more, 0
                continue
            if LAST[before].fullmatch(held, place):
                return
            raise ValueError(f"entry {number}: {getattr(error, 'msg', error)}") from None
        yield entry
        before, number = NEXT, number + 1


def _entry(text: str, place: int, before: re.Pattern[str]) -> tuple[Any, int]:
    """One entry and where it ends; what follows is looked at, since the chunk may have cut a number."""
    opened = before.match(text, place)
    if opened is None:
        raise ValueError("there is no list" if before is FIRST else "the list ends, but not the file")
    entry, end = SCAN(text, opened.end())
    if AFTER.match(text, end) is None:
        raise ValueError("neither `,` nor `]` follows")
    return entry, end
