"""What every flow begins with: the workspace held alone, and a runner for its stages."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flows.config import Config
from storage.artifacts import clear_leftovers
from storage.workspace import locked, open_workspace
from tasks.caching import Runner
from tasks.collection.task import demo_collection


@contextmanager
def opened(
    holder: str, workspace: str | None, collection: str | None, images: str | None, config: Config
) -> Iterator[Runner]:
    """A runner on the collection, or on the demo's where none is named. Raises StorageError."""
    space = open_workspace(workspace)
    with locked(space, holder):
        clear_leftovers(space)
        source = _absolute(collection) if collection is not None else str(demo_collection(space))
        where = {"source": source, "images": images if images is None else _absolute(images)}
        yield Runner(space, config.runtime.model_copy(update=where))


def _absolute(url: str) -> str:
    """A local path in one spelling, whichever way it was written; symbolic links stay what they are."""
    return url if "://" in url else os.path.normpath(Path(url).expanduser().absolute())
