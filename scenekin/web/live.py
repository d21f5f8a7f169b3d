"""The index as it is now, and how much work goes on for it at a time."""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, Request

from scenekin.searcher import Searcher
from scenekin.web.served import Served
from storage.errors import StorageError
from storage.workspace import Workspace
from tasks.errors import InputError

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
