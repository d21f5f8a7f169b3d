"""The index behind the page: image lookup by id, always in the current version."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Annotated, BinaryIO, TypeVar

import numpy as np
import torch
from anyio import CapacityLimiter, to_thread
from fastapi import Depends, Request

from scenekin.errors import MissingImage
from scenekin.searcher import Searcher
from scenekin.web.network_queue import NetworkQueue
from storage.errors import StorageError
from storage.workspace import Workspace
from tasks.errors import InputError
from tasks.images.decode import UPLOAD_SIDE, UnreadableImage, check_budget
from tasks.images.preprocess import Inputs, to_inputs


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

    def decode(self, upload: BinaryIO) -> Inputs:
        """Return an uploaded image as the networks take it. Raises InputError."""
        data = read_upload(upload)
        with _as_upload():
            return to_inputs(data, self.searcher.model.config.preprocessings)

    def embed(self, image: Inputs) -> np.ndarray:
        """Return embedding_D of an image."""
        with torch.inference_mode():
            embedding_D: np.ndarray = self.searcher.model.embed_one(image).numpy()
        return embedding_D


def read_upload(stream: BinaryIO) -> bytes:
    """Return an uploaded image. Raises InputError if decoding it would exceed the budget of uploads."""
    data = stream.read()
    with _as_upload():
        check_budget(data, UPLOAD_SIDE)
    return data


@contextmanager
def _as_upload() -> Iterator[None]:
    try:
        yield
    except UnreadableImage as error:
        raise InputError(f"Cannot decode the image: {error}.") from error


T = TypeVar("T")

LOOKUP_THREADS, PICTURE_THREADS, DECODING_THREADS = 4, 2, 1


class CurrentIndex:
    """Runs work in threads, off the event loop, on whichever version of an index is current when it starts."""

    follow_links = True  # out of the collection, if its index was made so

    def __init__(self, workspace: Workspace, name: str) -> None:
        self.workspace = workspace
        self.name = name
        self._index: ServedIndex | None = None
        self._opening = threading.Lock()
        self._queue = NetworkQueue()
        self._lookups = CapacityLimiter(LOOKUP_THREADS)
        self._pictures = CapacityLimiter(PICTURE_THREADS)
        self._decoding = CapacityLimiter(DECODING_THREADS)

    async def open(self) -> ServedIndex:
        """Return the current version. Raises StorageError if there is none or it is damaged."""
        return await to_thread.run_sync(self._open, limiter=self._lookups)

    def _open(self) -> ServedIndex:
        with self._opening:
            before = self._index.searcher if self._index else None
            searcher = before.current() if before else Searcher.open(self.workspace.root, self.name)
            if self._index is None or searcher is not before:
                self._index = ServedIndex(searcher, follow_links=self.follow_links)
            return self._index

    async def look_up(self, work: Callable[[ServedIndex], T]) -> T:
        """Run work that needs neither the network nor images."""
        return await to_thread.run_sync(lambda: work(self._open()), limiter=self._lookups)

    async def show(self, work: Callable[[ServedIndex], T]) -> T:
        """Run work that decodes images to show them."""
        return await to_thread.run_sync(lambda: work(self._open()), limiter=self._pictures)

    async def compute(self, work: Callable[[ServedIndex], T]) -> T:
        """Run work that needs the network, in turn. Raises Busy."""
        with self._queue.place():
            index = await self.open()
            return await self._queue.run(lambda: work(index))

    async def embed(self, upload: BinaryIO) -> tuple[ServedIndex, np.ndarray]:
        """Return the current version and embedding_D of an uploaded image. Raises InputError, Busy."""
        with self._queue.place():
            index = await self.open()
            image = await to_thread.run_sync(index.decode, upload, limiter=self._decoding)
            return index, await self._queue.run(lambda: index.embed(image))

    async def preload(self) -> None:
        """Load the model and its words before the first request, outside the queue; later requests report errors."""
        with suppress(StorageError, InputError):
            searcher = (await self.open()).searcher
            await self._queue.run(lambda: (searcher.model, searcher.text))


def _current_index(request: Request) -> CurrentIndex:
    current: CurrentIndex = request.app.state.index
    return current


CurrentIndexDep = Annotated[CurrentIndex, Depends(_current_index)]
"""The app's index, as a route's parameter."""
