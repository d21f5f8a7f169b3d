"""Images as callers of the Python API give them."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, TypeAlias

from PIL import Image

from tasks.errors import InputError

ImageInput: TypeAlias = Path | str | bytes | BinaryIO | Image.Image
"""An image as callers give it: a file's path, its bytes, an open binary file, or a Pillow image."""


class MissingFile(InputError):
    """There is no such file."""


def read_file(file: Path | str) -> bytes:
    """Read an image file. Raises MissingFile, and InputError if it cannot be read."""
    try:
        return Path(file).read_bytes()
    except FileNotFoundError:
        raise MissingFile(f"No such file: {str(file)!r}.") from None
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        raise InputError(f"Cannot read {str(file)!r}: {getattr(error, 'strerror', None) or error}.") from error


def content_of(image: ImageInput, read: Callable[[Path | str], bytes]) -> bytes | Image.Image:
    """Return the bytes of an image, which `read` returns for a path, or the Pillow image itself. Raises InputError."""
    if isinstance(image, bytes | Image.Image):
        return image
    if isinstance(image, Path | str):
        return read(image)
    data = image.read() if hasattr(image, "read") else None
    if not isinstance(data, bytes):
        kind = type(image).__name__
        raise TypeError(f"An image must be a path, bytes, an open binary file or a Pillow image, not {kind}.")
    return data


def exists(path: Path) -> bool:
    """Return whether there is a file; a path that cannot be one does not exist."""
    with suppress(OSError, ValueError):  # a name that is too long, or has a zero byte
        return path.exists()
    return False
