"""Bytes to text and text to captions; every guess and every change is reported as a problem."""

import codecs
from collections.abc import Iterator

from tasks.collection.records import Problem


def decode_text(data: bytes, name: str, problems: list[Problem]) -> str:
    """Decode UTF-8 with or without BOM; UTF-16 with BOM and lines read as Windows-1252 are reported."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        problems.append(Problem("encoding-fallback", name, "the file was read as UTF-16, not UTF-8", 1))
        return data.decode("utf-16", "replace")
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        lines = [_decode_line(line) for line in data.split(b"\n")]
        count = sum(fell_back for _, fell_back in lines)
        detail = f"{count} lines are not UTF-8 and were read as Windows-1252"
        problems.append(Problem("encoding-fallback", name, detail, data.count(b"\n", 0, error.start) + 1))
        return "\n".join(line for line, _ in lines)


def _decode_line(line: bytes) -> tuple[str, bool]:
    try:
        return line.decode(), False
    except UnicodeDecodeError:
        return line.decode("cp1252", errors="replace"), True


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, numbered from 1; only LF and CRLF end a line, not U+2028."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, line.removesuffix("\r")


def clean_captions(value: object, item: str, line: int | None, problems: list[Problem]) -> list[str]:
    """Return the usable captions of one text or list of texts, stripped of surrounding white space.

    None is ignored. Empty captions and values that are not text are dropped and reported; lone surrogates are replaced
    and reported.
    """
    captions = []
    for caption in value if isinstance(value, list) else [value]:
        if caption is None:
            continue
        if not isinstance(caption, str):
            detail = f"a caption is of type {type(caption).__name__}, not text, and is ignored"
            problems.append(Problem("bad-row", item, detail, line))
        elif not caption.strip():
            problems.append(Problem("empty-caption", item, "an empty caption is ignored", line))
        else:
            captions.append(_without_surrogates(caption.strip(), item, line, problems))
    return captions


def _without_surrogates(text: str, item: str, line: int | None, problems: list[Problem]) -> str:
    if is_unicode(text):
        return text
    problems.append(Problem("lone-surrogate", item, "a lone surrogate was replaced by U+FFFD", line))
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def is_unicode(text: str) -> bool:
    """Return whether the text can be encoded as UTF-8; file names in other encodings and broken escapes cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def printable(text: str) -> str:
    """Return the text with everything that cannot be encoded as UTF-8 escaped."""
    return text.encode("utf-8", "backslashreplace").decode()
