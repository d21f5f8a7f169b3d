"""The index that the web page serves: looked up by image id, always in its current version."""

import hashlib
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Annotated, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, Request

from scenekin.searcher import Searcher
from storage.errors import StorageError
from storage.index.rows import index_captions, index_rows
from storage.source.tree import read_below
from storage.workspace import Workspace
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


T = TypeVar("T")

NETWORK, LOOKING = 1, 4  # threads: one pass of the network uses all cores; what looks things up is quick


class Live:
    """Runs work on the version of an index that is current when its turn comes, never on the event loop."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        self.workspace = workspace
        self.name = name
        self._served: Served | None = None
        self._opening = threading.Lock()
        self._network = CapacityLimiter(NETWORK)
        self._looking = CapacityLimiter(LOOKING)

    def served(self) -> Served:
        """The current version. Raises StorageError where there is none or it is damaged."""
        with self._opening:
            before = self._served.searcher if self._served else None
            searcher = before.current() if before else Searcher.open(self.workspace.root, self.name)
            if self._served is None or searcher is not before:
                self._served = Served(searcher)
            return self._served

    async def compute(self, work: Callable[[Served], T]) -> T:
        """The outcome of work that runs the network: one at a time, the others wait."""
        return await to_thread.run_sync(lambda: work(self.served()), limiter=self._network)

    async def look(self, work: Callable[[Served], T]) -> T:
        """The outcome of work that only looks things up."""
        return await to_thread.run_sync(lambda: work(self.served()), limiter=self._looking)

    async def warm(self) -> None:
        """Load the model before it is asked for; what is wrong with it is told then."""
        with suppress(StorageError, InputError):
            await self.compute(lambda served: served.searcher.model)


def _live(request: Request) -> Live:
    live: Live = request.app.state.live
    return live


LiveIndex = Annotated[Live, Depends(_live)]
"""The index that the app serves, as routes take it."""
