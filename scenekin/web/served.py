"""One version of an index as the page shows it: a searcher, and what its rows say beside their vectors."""

import hashlib
from functools import cached_property
from pathlib import Path

from scenekin.searcher import Searcher
from storage.files import read_below
from storage.index import index_captions, index_rows
from tasks.errors import InputError


class MissingImage(InputError):
    """There is no indexed image of that id, or its file is no longer what was indexed."""


class Served:
    """Looks up images by id alone; what is read from disk is what the index lists, or refused."""

    def __init__(self, searcher: Searcher) -> None:
        self.searcher = searcher
        self.manifest = searcher.manifest
        self._digests = index_rows(searcher.workspace, searcher.manifest, ["sha256"])["sha256"]
        self._captions = index_captions(searcher.workspace, searcher.manifest)

    @cached_property
    def no_words(self) -> str | None:
        """Why words cannot steer this model; None where they can."""
        try:
            _ = self.searcher.text
        except InputError as error:
            return str(error)
        return None

    def row(self, image_id: str) -> int:
        """The row of an image. Raises MissingImage."""
        row = self.searcher.row_of.get(image_id)
        if row is None:
            raise MissingImage(f"There is no image {image_id[:80]!r} in the index {self.manifest.name!r}.")
        return row

    def digest(self, image_id: str) -> str:
        """The SHA-256 of an image's file. Raises MissingImage."""
        digest: str = self._digests[self.row(image_id)].as_py()
        return digest

    def caption(self, image_id: str) -> str | None:
        """What the collection says of an image, if anything. Raises MissingImage."""
        caption: str | None = self._captions[self.row(image_id)].as_py()
        return caption

    def read(self, image_id: str) -> bytes:
        """The bytes of an image's file, if they are those that were indexed. Raises MissingImage.

        So a link or a file that was put in its place since, wherever it leads, is never served.
        """
        root, path = self.manifest.images_root, self.searcher.paths[self.row(image_id)]
        if "://" in root or Path(root, path).is_file():  # reading a pipe or a device would never end
            try:
                data = read_below(root, path)
            except OSError:
                data = b""
            if hashlib.sha256(data).hexdigest() == self.digest(image_id):
                return data
        raise MissingImage(f"{image_id!r} is gone or changed since it was indexed; run `scenekin index` again.")
