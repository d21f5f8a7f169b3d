"""What every flow begins with: the workspace held alone, and a runner for its stages."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from storage.artifacts import clear_leftovers
from storage.source.tree import Source
from storage.workspace import locked, open_workspace
from tasks.caching import Runner, Runtime
from tasks.demo.task import demo_collection


@contextmanager
def open_run(
    holder: str,
    workspace: str | None,
    collection: str | None,
    images: str | None,
    runtime: Runtime,
    rehash: bool = False,
) -> Iterator[Runner]:
    """A runner on the collection, or on the demo's where none is named. Raises StorageError.

    `rehash` forgets what is known of files, so that all are read again.
    """
    space = open_workspace(workspace)
    with locked(space, holder):
        clear_leftovers(space)
        if rehash:
            space.known_files.unlink(missing_ok=True)
        url = _absolute(collection) if collection is not None else str(demo_collection(space))
        source = Source(url, None if images is None else _absolute(images))
        yield Runner(space, source, runtime)


def _absolute(url: str) -> str:
    """A local path in one spelling, whichever way it was written; symbolic links stay what they are."""
    return url if "://" in url else os.path.normpath(Path(url).expanduser().absolute())
