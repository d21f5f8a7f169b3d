"""What the bytes of one file say, whatever the collection calls it."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tasks.collection.near_duplicates import LEAST_SIDE, Look, look_of
from tasks.collection.records import Files, Reading
from tasks.images.decode import UnreadableImage, decode_reduced


@dataclass(frozen=True)
class Fact:
    """SHA-256 of the bytes, width and height in pixels as shown, and its look; or the problem that it is none."""

    sha256: str
    width: int
    height: int
    problem: str | None = None
    look: Look | None = None


def look_at(data: bytes) -> Fact:
    """The facts of one file's bytes, decoded to the end so that a truncated picture is found."""
    sha256 = hashlib.sha256(data).hexdigest()
    try:
        picture = decode_reduced(data, LEAST_SIDE)
    except UnreadableImage as error:
        return Fact(sha256, 0, 0, str(error))
    return Fact(sha256, picture.width, picture.height, look=look_of(picture.image))


def look_at_file(path: str, read: Callable[[str], bytes]) -> Fact | None:
    """The facts of one file; None where there is none, as behind a dangling link."""
    try:
        return look_at(read(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        return Fact("", 0, 0, f"cannot be read: {error.strerror or error}")


def paths_to_look_at(reading: Reading, images: Files) -> Sequence[str]:
    """The files that the reading is about, sorted; only what lies below the images' root is ever opened."""
    return sorted({item.path for item in reading.items}.intersection(images.paths))
