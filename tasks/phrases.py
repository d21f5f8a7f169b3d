"""Counts, alternatives and suggestions as they stand in sentences."""

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import PurePath


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun, such as `1 image`, `1,200 images` or, with a plural of its own, `0 copies`."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def either(words: Sequence[str]) -> str:
    """Join alternatives, of which there is at least one: `a, b or c`."""
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


def did_you_mean(path: str, known: Iterable[str]) -> str:
    """Return ` Did you mean …?` with up to three known paths of the same file name, else nothing.

    Folder, extension and case may differ.
    """
    stem = PurePath(path).stem.casefold()
    near = list(islice((repr(other) for other in known if PurePath(other).stem.casefold() == stem), 3))
    return f" Did you mean {either(near)}?" if near else ""
