"""What every flow starts with: exclusive use of the workspace, and a runner for its steps."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from storage.artifacts import clear_leftovers
from storage.source.tree import IMAGES_REMEDY, Source, require_place
from storage.workspace import Workspace, find_workspace, locked, open_workspace
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
    follow_links: bool = False,
    rehash: bool = False,
    wait: bool = False,
    new: bool = False,
) -> Iterator[Runner]:
    """Yield a runner for the collection, or for the demo's if none is given.

    A missing workspace is created only if it may be `new`. `rehash` discards the remembered file digests, so that every
    file is read again. Raises StorageError, also if another process uses the workspace and `wait` is not set.
    """
    if collection is not None:
        require_place(collection)  # a mistyped path creates no workspace
    if images is not None:
        require_place(images, IMAGES_REMEDY)
    space = open_workspace(workspace if new else find_workspace(workspace).root)
    with locked(space, holder, wait=wait), _kept_inside(space):
        clear_leftovers(space)
        if rehash:
            space.known_files.unlink(missing_ok=True)
        url = _absolute(collection) if collection is not None else str(demo_collection(space))
        source = Source(url, None if images is None else _absolute(images), follow_links)
        yield Runner(space, source, runtime)


@contextmanager
def _kept_inside(space: Workspace) -> Iterator[None]:
    """Keep the temporary files and caches of libraries inside the workspace: other folders may be read-only or full."""
    folder, before = space.root / "tmp", (tempfile.tempdir, os.environ.get("MPLCONFIGDIR"))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    tempfile.tempdir = str(folder)
    os.environ.setdefault("MPLCONFIGDIR", str(space.root / "cache"))
    try:
        yield
    finally:
        tempfile.tempdir = before[0]
        if before[1] is None:
            del os.environ["MPLCONFIGDIR"]
        shutil.rmtree(folder, ignore_errors=True)


def _absolute(url: str) -> str:
    """Return a local path in one spelling; symbolic links are kept."""
    return url if "://" in url else os.path.normpath(Path(url).expanduser().absolute())
