"""The queue in front of the network: bounded; first in, first out."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from starlette.exceptions import HTTPException

PLACES = 32  # requests that wait or are computed; the last one waits a few seconds
RETRY_SECONDS = 2

R = TypeVar("R")


class Busy(HTTPException):
    """Too many requests are waiting (503); clients should retry later."""

    def __init__(self) -> None:
        super().__init__(503, "The server is busy; try again in a few seconds.", {"retry-after": str(RETRY_SECONDS)})


class NetworkQueue:
    """Runs work in one thread, since a forward pass uses all cores.

    Images never share a forward pass: in a batch, rounding depends on its size, so that scores would depend on other
    requests.
    """

    def __init__(self, places: int = PLACES) -> None:
        self.places = places
        self._taken = 0
        self._thread = ThreadPoolExecutor(1, "network")

    @contextmanager
    def place(self) -> Iterator[None]:
        """Occupy a place in the queue. Raises Busy if all are taken."""
        if self._taken >= self.places:
            raise Busy
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1

    async def run(self, work: Callable[[], R]) -> R:
        """Return the result of `work`. If this request is cancelled before its turn, the work is dropped."""
        return await asyncio.wrap_future(self._thread.submit(work))
