"""Ids in JSON: the same number may be written as 3, 3.0, "3" or "000000000003"."""

from typing import Any


def read_id(value: Any) -> str | None:
    """Return an id as text, as written except for a fraction of zero; None if it is neither text nor a whole number."""
    if type(value) is float and value.is_integer():
        return str(int(value))
    return str(value) if type(value) in (int, str) else None


def id_key(image_id: str) -> str:
    """Return a key that equal ids share."""
    return (image_id.lstrip("0") or "0") if image_id.isascii() and image_id.isdigit() else image_id
