"""Image information that is read from a file's bytes alone: its digest, size and fingerprint."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tasks.collection.near_duplicates import FINGERPRINT_SIDE, Fingerprint, fingerprint_of
from tasks.collection.records import Files, Reading
from tasks.images.decode import UnreadableImage, decode_reduced, refusing


@dataclass(frozen=True)
class ImageInfo:
    """SHA-256 of the bytes, displayed width and height in pixels, and fingerprint; or why the file is unusable.

    `problem_kind` is the kind under which the problem is reported.
    """

    sha256: str
    width: int
    height: int
    problem: str | None = None
    fingerprint: Fingerprint | None = None
    problem_kind: str = "unreadable-image"


def inspect_image(data: bytes) -> ImageInfo:
    """Return the information of one file's bytes, decoded to the end so that truncated images are found."""
    sha256 = hashlib.sha256(data).hexdigest()
    try:
        with refusing():
            picture = decode_reduced(data, FINGERPRINT_SIDE)
            fingerprint = fingerprint_of(picture.image)
    except UnreadableImage as error:
        return ImageInfo(sha256, 0, 0, str(error))
    return ImageInfo(sha256, picture.width, picture.height, fingerprint=fingerprint)


def inspect_file(path: str, read: Callable[[str], bytes]) -> ImageInfo | None:
    """Return the information of one file; None if it does not exist (for example a dangling link)."""
    try:
        return inspect_image(read(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        return ImageInfo("", 0, 0, f"cannot be read: {error.strerror or error}")


def paths_to_inspect(reading: Reading, images: Files) -> Sequence[str]:
    """Return the sorted paths of existing files that the items name; nothing outside the images' root is opened."""
    return sorted({item.path for item in reading.items}.intersection({*images.paths, *reading.inside}))
