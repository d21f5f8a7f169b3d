"""Counts and alternatives as they stand in sentences."""

from collections.abc import Sequence


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun, such as `1 image`, `1,200 images` or, with a plural of its own, `0 copies`."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def either(words: Sequence[str]) -> str:
    """Join alternatives, of which there is at least one: `a, b or c`."""
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last
