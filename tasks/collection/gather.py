"""A collection from its files: read by its format, every image looked at, put together."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import MappingProxyType

from tasks.collection.assemble import Collection, assemble
from tasks.collection.config import CollectionConfig
from tasks.collection.formats import read_collection
from tasks.collection.image_info import Fact, look_at_file, paths_to_look_at
from tasks.collection.image_names import is_image
from tasks.collection.parsing.watched import Progress, watched
from tasks.collection.records import Files, Problem, Reading


def gather(
    files: Files,
    images: Files,
    format: str | None,
    config: CollectionConfig,
    *,
    workers: int,
    progress: Progress,
    known: Mapping[str, Fact] = MappingProxyType({}),
) -> Collection:
    """All that is usable and all that is wrong. Raises InputError where the files are no collection.

    Images whose facts are known by path are not opened.
    """
    named = [path for _, path, _ in images.skipped if is_image(path)]  # listed, to be refused; never opened
    listed = replace(images, paths=sorted([*images.paths, *named]))
    reading = read_collection(watched(files, progress), listed, format, config)
    paths = paths_to_look_at(reading, images)
    facts = {path: known[path] for path in paths if path in known}
    facts |= _look_at_all([path for path in paths if path not in known], images, workers, progress)
    facts |= {path: Fact("", 0, 0, reason) for kind, path, reason in images.skipped if kind != "dead-link"}
    told = (*reading.problems, *_passed_over(reading, files, images))
    return assemble(replace(reading, problems=told), facts, config)


def _passed_over(reading: Reading, files: Files, images: Files) -> list[Problem]:
    """What is no file to read and no item either, once though both trees may have it."""
    items = {item.path for item in reading.items}
    skipped = dict.fromkeys([*files.skipped, *images.skipped])
    return [Problem(kind, path, reason) for kind, path, reason in skipped if path not in items]


def _look_at_all(paths: Sequence[str], images: Files, workers: int, progress: Progress) -> dict[str, Fact]:
    """What each file's bytes say; files that are gone are left out."""
    facts = {}
    with ThreadPoolExecutor(workers) as pool, progress("looking at images", len(paths)) as on_step:
        for path, fact in zip(paths, pool.map(lambda path: look_at_file(path, images.read), paths), strict=True):
            if fact is not None:
                facts[path] = fact
            on_step(1)
    return facts
