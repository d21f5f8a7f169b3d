"""Reads the entries of a JSON list one at a time, so that files larger than memory can be read."""

import codecs
import json
import re
from collections.abc import Iterator
from functools import partial
from typing import Any, BinaryIO

from tasks.collection.parsing.text import is_unicode
from tasks.collection.records import Files, Problem
from tasks.errors import InputError
from tasks.phrases import counted

CHUNK = 2**20  # bytes
LONGEST = 2**24  # characters of one entry; a longer one means a damaged file, which would fill the memory

SPACE = r"[ \t\n\r]*"
FIRST, NEXT = re.compile(rf"{SPACE}\[{SPACE}"), re.compile(f"{SPACE},{SPACE}")
AFTER = re.compile(rf"{SPACE}[],]")
LAST = {FIRST: re.compile(rf"{SPACE}\[{SPACE}\]{SPACE}"), NEXT: re.compile(rf"{SPACE}\]{SPACE}")}
SCAN = json.JSONDecoder().raw_decode
NOT_UTF8 = re.compile("[\udc80-\udcff]")


def read_list(files: Files, path: str, problems: list[Problem]) -> Iterator[Any]:
    """Yield the entries of the file's top-level list; bytes that are not UTF-8 are read as Windows-1252 and reported.

    Raises InputError if the file is incomplete, after yielding the entries before that point.
    """
    try:
        with files.open(path) as stream:
            yield from _entries(_texts(stream, path, files.encoding, problems))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not a valid JSON list ({error}); it may be truncated.") from None


def _texts(stream: BinaryIO, path: str, encoding: str | None, problems: list[Problem]) -> Iterator[str]:
    """Yield the file's text, one chunk at a time."""
    count = 0
    chunks = iter(partial(stream.read, CHUNK), b"")
    if encoding is not None:
        yield from codecs.iterdecode(chunks, encoding, "replace")
        return
    for text in codecs.iterdecode(chunks, "utf-8-sig", "surrogateescape"):
        restored, found = (text, 0) if is_unicode(text) else NOT_UTF8.subn(_windows_1252, text)
        count += found
        yield restored
    if count:
        detail = f"{counted(count, 'byte')} not in UTF-8, read as Windows-1252"
        problems.append(Problem("encoding-fallback", path, detail))


def _windows_1252(escaped: re.Match[str]) -> str:
    return escaped[0].encode("utf-8", "surrogateescape").decode("cp1252", "replace")


def _entries(texts: Iterator[str]) -> Iterator[Any]:
    """Yield the entries; what fails to parse is retried with more of the text, up to LONGEST."""
    buffer, position, before, number = "", 0, FIRST, 0
    while True:
        try:
            entry, position = _entry(buffer, position, before)
        except ValueError as error:
            more = next(texts, "") if len(buffer) - position <= LONGEST else ""
            if more:
                buffer, position = buffer[position:] + more, 0
                continue
            if LAST[before].fullmatch(buffer, position):
                return
            raise ValueError(f"entry {number}: {getattr(error, 'msg', error)}") from None
        yield entry
        before, number = NEXT, number + 1


def _entry(text: str, position: int, before: re.Pattern[str]) -> tuple[Any, int]:
    """Return one entry and where it ends; the delimiter after it must be there, since a chunk may cut a number."""
    opened = before.match(text, position)
    if opened is None:
        raise ValueError("it is not a list" if before is FIRST else "there is text after the end of the list")
    entry, end = SCAN(text, opened.end())
    if AFTER.match(text, end) is None:
        raise ValueError("expected `,` or `]`")
    return entry, end
