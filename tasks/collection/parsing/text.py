"""Bytes to text and text to captions; every guess and every change is reported as a problem."""

import codecs
from collections.abc import Iterator

from tasks.collection.parsing.encodings import WESTERN, detect_encoding, is_utf8, utf16_without_bom
from tasks.collection.records import Files, Problem
from tasks.errors import InputError
from tasks.phrases import counted

BOMS = {  # UTF-32 first, since its mark begins like that of UTF-16
    "UTF-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "UTF-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}


def read_text(files: Files, path: str, problems: list[Problem]) -> str:
    """Return the text of a file. Raises OSError, and InputError if its encoding cannot be determined."""
    return decode_text(files.read(path), path, problems, files.encoding)


def decode_text(
    data: bytes, name: str, problems: list[Problem], encoding: str | None = None, likely: str | None = None
) -> str:
    """Decode text in the given encoding, else UTF-8 with or without BOM; whatever else is detected is reported.

    Lines that are not UTF-8 are read in the `likely` encoding, else as Windows-1252 or in the encoding of another
    script. Raises InputError if that cannot be determined.
    """
    for family, boms in BOMS.items() if encoding is None else ():
        if data.startswith(boms):
            problems.append(Problem("encoding-fallback", name, f"the file was read as {family}, not UTF-8", 1))
            return data.decode(family, "replace")
    if encoding is None and (utf16 := utf16_without_bom(data)) is not None:
        problems.append(Problem("encoding-fallback", name, f"the file was read as {utf16.upper()}, not UTF-8", 1))
        return data.decode(utf16, "replace")
    data = data.removeprefix(codecs.BOM_UTF8)
    if encoding is not None:
        return _decode_as(data, encoding, name, problems)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        return _decode_lines(data, name, data.count(b"\n", 0, error.start) + 1, problems, likely)


def _decode_as(data: bytes, encoding: str, name: str, problems: list[Problem]) -> str:
    try:
        text = data.decode(encoding, "replace").removeprefix("\ufeff")
    except UnicodeError as error:  # some codecs cannot replace
        raise InputError(f"{name} cannot be read as {encoding}: {error}.") from error
    if count := text.count("\ufffd"):
        detail = f"{counted(count, 'character')} not valid in {encoding}, replaced by U+FFFD"
        problems.append(Problem("encoding-fallback", name, detail))
    return text


def _decode_lines(data: bytes, name: str, first: int, problems: list[Problem], likely: str | None) -> str:
    lines = [(line, is_utf8(line)) for line in data.split(b"\n")]
    others = [line for line, valid in lines if not valid]
    encoding = likely or detect_encoding(b"\n".join(others))
    if encoding is None:
        raise InputError(
            f"{name} is not UTF-8 (line {first}) and its encoding cannot be determined; "
            "name it with --encoding, for example --encoding gbk."
        )
    shown = "Windows-1252" if encoding == WESTERN else encoding
    detail = f"{counted(len(others), 'line')} not in UTF-8, read as {shown}; if the text looks wrong, use --encoding"
    problems.append(Problem("encoding-fallback", name, detail, first))
    mixed = encoding == WESTERN or sum(valid and not line.isascii() for line, valid in lines) > len(others)
    decoded = (line.decode() if valid and mixed else line.decode(encoding, "replace") for line, valid in lines)
    return "\n".join(decoded)


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
