"""A collection from its files: read by its format, every image looked at, put together."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager

from tasks.collection.assemble import Collection, assemble
from tasks.collection.config import CollectionConfig
from tasks.collection.facts import Fact, look_at_file, paths_to_look_at
from tasks.collection.formats import read_collection
from tasks.collection.records import Files

Progress = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]  # label and total → on_step


def gather(
    files: Files,
    images: Files,
    format: str | None,
    config: CollectionConfig,
    *,
    workers: int,
    progress: Progress,
) -> Collection:
    """All that is usable and all that is wrong. Raises InputError where the files are no collection."""
    reading = read_collection(files, images, format, config)
    facts = _look_at_all(paths_to_look_at(reading, images), images, workers, progress)
    return assemble(reading, facts, config)


def _look_at_all(paths: Sequence[str], images: Files, workers: int, progress: Progress) -> dict[str, Fact]:
    """What each file's bytes say; files that are gone are left out."""
    facts = {}
    with ThreadPoolExecutor(workers) as pool, progress("looking at images", len(paths)) as on_step:
        for path, fact in zip(paths, pool.map(lambda path: look_at_file(path, images.read), paths), strict=True):
            if fact is not None:
                facts[path] = fact
            on_step(1)
    return facts
