"""The index that the web page serves: looked up by image id, always in its current version."""

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


class Served:
    """Looks up images by id alone; what is read from disk is what the index lists, or refused."""

    def __init__(self, searcher: Searcher) -> None:
        self.searcher = searcher
        self.manifest = searcher.manifest

    @cached_property
    def no_words(self) -> str | None:
        """Why words cannot steer this model; None where they can."""
        try:
            _ = self.searcher.text
        except InputError as error:
            return str(error)
        return None

    def digest(self, image_id: str) -> str:
        """SHA-256 of the file of an indexed image. Raises MissingImage."""
        return self.searcher.digest_of(image_id)

    def caption(self, image_id: str) -> str | None:
        """The caption of an indexed image, if the collection has one. Raises MissingImage."""
        return self.searcher.caption_of(image_id)

    def read(self, image_id: str) -> bytes:
        """The bytes of the file of an indexed image. Raises MissingImage, without naming any folder of the server."""
        self.searcher.row(image_id)
        try:
            return self.searcher.read_indexed(image_id)
        except MissingImage as error:
            raise MissingImage(
                f"Image {image_id!r} is missing or has changed since it was indexed; index the collection again."
            ) from error


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
