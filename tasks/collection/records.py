"""What readers produce, whatever the format: items, problems, and where to find the bytes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, Literal, Protocol

from tasks.collection.config import CollectionConfig

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")
WITHOUT_FILE = frozenset({"missing-image", "ambiguous-name", "outside-collection"})  # kinds of problems of names alone


@dataclass(frozen=True)
class Files:
    """The files below one root: sorted paths relative to it, separated by `/`, and a function that opens one.

    `skipped` lists kind, path and reason of entries that are not regular files: dead links, pipes, repeated folders.
    `encoding` is that of the text files, if it is known.
    """

    paths: Sequence[str]
    open: Callable[[str], BinaryIO]
    skipped: Sequence[tuple[str, str, str]] = ()
    encoding: str | None = None

    def read(self, path: str) -> bytes:
        """Return all bytes of one file. Raises OSError."""
        with self.open(path) as stream:
            return stream.read()


@dataclass(frozen=True)
class Item:
    """One image that the collection lists; `path` is relative to the images' root.

    `line` and `source` are those of the file that lists it, if known.
    """

    image_id: str
    path: str
    captions: tuple[str, ...] = ()
    split: Split | None = None
    line: int | None = None
    source: str | None = None


@dataclass(frozen=True)
class Problem:
    """One problem: a kebab-case kind, the item concerned, what is wrong and what was done, and the line if any."""

    kind: str
    item: str
    detail: str
    line: int | None = None


@dataclass(frozen=True)
class Reading:
    """Everything a reader found, the files it opened, and the paths of images that are inside other files.

    If `has_splits`, the dataset defines its own splits and none is drawn.
    """

    format: str
    items: Sequence[Item]
    problems: Sequence[Problem] = field(default_factory=tuple)
    has_splits: bool = False
    opened: frozenset[str] = frozenset()
    inside: frozenset[str] = frozenset()


class Reader(Protocol):
    """One format, detected from the files and read into items. Captions are not changed."""

    name: str

    def recognises(self, files: Files) -> bool:
        """Return whether the files have this format, judging by names and, where necessary, content."""
        ...

    def read(self, files: Files, images: Files, config: CollectionConfig) -> Reading:
        """Return items and problems; image paths refer to `images`. Raises InputError."""
        ...
