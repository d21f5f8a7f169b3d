"""The index behind the page: image lookup by id, always in the current version."""

import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import Annotated, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, Request

from scenekin.errors import MissingImage
from scenekin.searcher import Searcher
from storage.errors import StorageError
from storage.workspace import Workspace
from tasks.errors import InputError


class ServedIndex:
    """One version of an index. Images are found by id only, and only files with the indexed content are read."""

    def __init__(self, searcher: Searcher, *, follow_links: bool = True) -> None:
        self.searcher = searcher
        self.follow_links = follow_links
        self.manifest = searcher.manifest

    @cached_property
    def no_words(self) -> str | None:
        """Why this model cannot be steered by words, or None if it can."""
        try:
            _ = self.searcher.text
        except InputError as error:
            return str(error)
        return None

    def digest(self, image_id: str) -> str:
        """Return the SHA-256 of an image's file as indexed. Raises MissingImage."""
        return self.searcher.digest_of(image_id)

    def caption(self, image_id: str) -> str | None:
        """Return the image's caption in the collection, if it has one. Raises MissingImage."""
        return self.searcher.caption_of(image_id)

    def path(self, image_id: str) -> str:
        """Return the path of an image's file, relative to the collection's images. Raises MissingImage."""
        return self.searcher.paths[self.searcher.row(image_id)]

    def read(self, image_id: str) -> bytes:
        """Return the bytes of an image's file. Raises MissingImage, without naming any folder of the server."""
        self.searcher.row(image_id)
        try:
            return self.searcher.read_indexed(image_id, follow_links=self.follow_links)
        except MissingImage as error:
            raise MissingImage(
                f"The file of {image_id!r} is missing or has changed since it was indexed; run `scenekin index` again."
            ) from error


T = TypeVar("T")

NETWORK_THREADS, LOOKUP_THREADS = 1, 4  # a forward pass uses all cores by itself; lookups are quick


class CurrentIndex:
    """Runs work in threads, off the event loop, on whichever version of an index is current when it starts."""

    follow_links = True  # out of the collection, if its index was made so

    def __init__(self, workspace: Workspace, name: str) -> None:
        self.workspace = workspace
        self.name = name
        self._index: ServedIndex | None = None
        self._opening = threading.Lock()
        self._network = CapacityLimiter(NETWORK_THREADS)
        self._lookups = CapacityLimiter(LOOKUP_THREADS)

    def open(self) -> ServedIndex:
        """Return the current version. Raises StorageError if there is none or it is damaged."""
        with self._opening:
            before = self._index.searcher if self._index else None
            searcher = before.current() if before else Searcher.open(self.workspace.root, self.name)
            if self._index is None or searcher is not before:
                self._index = ServedIndex(searcher, follow_links=self.follow_links)
            return self._index

    async def compute(self, work: Callable[[ServedIndex], T]) -> T:
        """Run work that needs the network, one at a time."""
        return await to_thread.run_sync(lambda: work(self.open()), limiter=self._network)

    async def look_up(self, work: Callable[[ServedIndex], T]) -> T:
        """Run work that needs no network."""
        return await to_thread.run_sync(lambda: work(self.open()), limiter=self._lookups)

    async def preload(self) -> None:
        """Load the model before the first request; requests report its errors."""
        with suppress(StorageError, InputError):
            await self.compute(lambda index: index.searcher.model)


def _current_index(request: Request) -> CurrentIndex:
    current: CurrentIndex = request.app.state.index
    return current


CurrentIndexDep = Annotated[CurrentIndex, Depends(_current_index)]
"""The app's index, as a route's parameter."""
