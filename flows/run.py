"""What every flow starts with: exclusive use of the workspace, and a runner for its steps."""

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
    *,
    workspace: str | None,
    collection: str | None,
    images: str | None,
    runtime: Runtime,
    rehash: bool = False,
    wait: bool = False,
) -> Iterator[Runner]:
    """Yield a runner for the collection, or for the demo's if none is given.

    `rehash` discards the remembered file digests, so that every file is read again. Raises StorageError, also if
    another process uses the workspace and `wait` is not set.
    """
    space = open_workspace(workspace)
    with locked(space, holder, wait=wait):
        clear_leftovers(space)
        if rehash:
            space.known_files.unlink(missing_ok=True)
        url = _absolute(collection) if collection is not None else str(demo_collection(space))
        source = Source(url, None if images is None else _absolute(images))
        yield Runner(space, source, runtime)


def _absolute(url: str) -> str:
    """Return a local path in one spelling; symbolic links are kept."""
    return url if "://" in url else os.path.normpath(Path(url).expanduser().absolute())
