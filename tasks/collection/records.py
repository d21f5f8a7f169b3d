"""What a reader gives back, whatever the format: items, problems, and where their bytes are."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, Literal, Protocol

from tasks.collection.config import CollectionConfig

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")


@dataclass(frozen=True)
class Files:
    """The files below one root: sorted paths relative to it with `/` between, and how to open one of them.

    `skipped` has kind, path and reason of what is there and is no file to read: dead links, pipes, folders twice.
    """

    paths: Sequence[str]
    open: Callable[[str], BinaryIO]
    skipped: Sequence[tuple[str, str, str]] = ()

    def read(self, path: str) -> bytes:
        """All bytes of one file. Raises OSError."""
        with self.open(path) as stream:
            return stream.read()


@dataclass(frozen=True)
class Item:
    """One image that the collection lists, on `line` if any; `path` is relative to the images' root."""

    image_id: str
    path: str
    captions: tuple[str, ...] = ()
    split: Split | None = None
    line: int | None = None


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: a kebab-case kind, the item it is about, what was done, the line if any."""

    kind: str
    item: str
    detail: str
    line: int | None = None


@dataclass(frozen=True)
class Reading:
    """All that a reader found. `has_splits` says that the dataset brings its own splits, so none is drawn."""

    format: str
    items: Sequence[Item]
    problems: Sequence[Problem] = field(default_factory=tuple)
    has_splits: bool = False


class Reader(Protocol):
    """One format: recognised by the files there are, read into items. Captions are kept as given."""

    name: str

    def recognises(self, files: Files) -> bool:
        """Whether these files are of this format; looks at names and, where these are not enough, inside."""
        ...

    def read(self, files: Files, images: Files, config: CollectionConfig) -> Reading:
        """Items and problems; `images` are the files that image paths refer to. Raises InputError."""
        ...
