"""The queue in front of the network: bounded, first in, first out, with equal work in batches."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from starlette.exceptions import HTTPException

PLACES = 32  # requests that wait or are computed; the last one waits a few seconds
BATCH = 8
RETRY_SECONDS = 2

T = TypeVar("T")
R = TypeVar("R")


class Busy(HTTPException):
    """Too many requests are waiting (503); clients should retry later."""

    def __init__(self) -> None:
        super().__init__(503, "The server is busy; try again in a few seconds.", {"retry-after": str(RETRY_SECONDS)})


@dataclass(eq=False)
class _Job:
    work: Callable[[Any], Sequence[Any]]
    item: Any
    result: Future[Any] = field(default_factory=Future)


class NetworkQueue:
    """Runs work in one thread, since a forward pass uses all cores.

    A job whose request was cancelled is dropped before its turn. Waiting jobs with the same `work` run in one batch.
    """

    def __init__(self, places: int = PLACES, batch: int = BATCH) -> None:
        self.places = places
        self.batch = batch
        self._taken = 0
        self._jobs: list[_Job] = []
        self._lock = threading.Lock()
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

    async def run(self, work: Callable[[Sequence[T]], Sequence[R]], item: T) -> R:
        """Return the result of `work` for an item; `work` gets the items of a batch and returns their results."""
        job = _Job(work, item)
        with self._lock:
            self._jobs.append(job)
        self._thread.submit(self._run_next)
        result: R = await asyncio.wrap_future(job.result)
        return result

    def _run_next(self) -> None:
        jobs = self._next_batch()
        if not jobs:
            return
        try:
            results = jobs[0].work([job.item for job in jobs])
        except BaseException as error:  # it belongs to the requests, not to this thread
            for job in jobs:
                job.result.set_exception(error)
        else:
            for job, result in zip(jobs, results, strict=True):
                job.result.set_result(result)

    def _next_batch(self) -> list[_Job]:
        """Remove the first job and those that share its work from the queue, dropping cancelled ones."""
        batch: list[_Job] = []
        with self._lock:
            waiting, self._jobs = self._jobs, []
            for job in waiting:
                if batch and (job.work != batch[0].work or len(batch) == self.batch):
                    self._jobs.append(job)
                elif job.result.set_running_or_notify_cancel():
                    batch.append(job)
        return batch
