"""Reads a collection from its files: by its format, with every image inspected."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import MappingProxyType

from tasks.collection.assemble import NONE, Collection, assemble
from tasks.collection.config import CollectionConfig
from tasks.collection.formats import read_collection
from tasks.collection.image_info import ImageInfo, inspect_file, paths_to_inspect
from tasks.collection.image_names import is_image
from tasks.collection.missing import namesakes, suggest_files
from tasks.collection.other_files import HEAD, other_files
from tasks.collection.parsing.reading_progress import ReportProgress, with_progress
from tasks.collection.records import Files, Problem, Reading


def gather(
    files: Files,
    images: Files,
    format: str | None,
    config: CollectionConfig,
    *,
    workers: int,
    progress: ReportProgress,
    known: Mapping[str, ImageInfo] = MappingProxyType({}),
    former_digests: Callable[[Sequence[str]], Mapping[str, str]] = lambda _: NONE,
) -> Collection:
    """Return the usable images and all problems. Raises InputError if the files are no collection.

    Images whose information is `known`, by path, are not opened. `former_digests` returns, for paths that are missing
    now, the SHA-256 that their files had when they were last read.
    """
    named = [path for _, path, _ in images.skipped if is_image(path)]  # listed, so that they are refused; never opened
    listed = replace(images, paths=sorted([*images.paths, *named]))
    reading = read_collection(with_progress(files, progress), listed, format, config)
    paths = paths_to_inspect(reading, images)
    info = {path: known[path] for path in paths if path in known}
    info |= _inspect_all([path for path in paths if path not in known], images, workers, progress)
    info |= {path: ImageInfo("", 0, 0, reason, problem_kind=kind) for kind, path, reason in images.skipped}
    missing = [item.path for item in reading.items if item.path not in info]
    hints = _hints(reading, info, missing, former_digests)
    problems = (*reading.problems, *_not_files(reading, files, images), *_ignored(reading, files, images))
    return assemble(replace(reading, problems=problems), info, config, hints, namesakes(missing, images.paths))


def _hints(
    reading: Reading,
    info: Mapping[str, ImageInfo],
    missing: Sequence[str],
    former_digests: Callable[[Sequence[str]], Mapping[str, str]],
) -> dict[str, str]:
    """Suggest an unlisted file for each missing path."""
    unlisted = [
        item.path for item in reading.items if item.path in info and item.image_id == item.path and not item.captions
    ]
    if not missing or not unlisted:
        return {}
    digests = {path: info[path].sha256 for path in unlisted if info[path].sha256}
    return suggest_files(missing, unlisted, former_digests(missing), digests)


def _not_files(reading: Reading, files: Files, images: Files) -> list[Problem]:
    """Return a problem for each skipped entry that is no item; an entry of both trees is reported once."""
    items = {item.path for item in reading.items}
    skipped = dict.fromkeys([*files.skipped, *images.skipped])
    return [Problem(kind, path, reason) for kind, path, reason in skipped if path not in items]


def _ignored(reading: Reading, files: Files, images: Files) -> list[Problem]:
    """Return a problem for each kind of file that is no item and was neither read nor reported by the reader."""

    def head(path: str) -> bytes:
        try:
            with (images if path in in_images else files).open(path) as stream:
                return stream.read(HEAD)
        except OSError:
            return b""

    in_images = frozenset(images.paths)
    paths = sorted({*files.paths, *images.paths} - {item.path for item in reading.items})
    return other_files(paths, reading.opened, (problem.item for problem in reading.problems), head)


def _inspect_all(paths: Sequence[str], images: Files, workers: int, progress: ReportProgress) -> dict[str, ImageInfo]:
    """Return the information of each file that still exists."""
    info = {}
    with ThreadPoolExecutor(workers) as pool, progress("inspecting images", len(paths)) as on_step:
        for path, found in zip(paths, pool.map(lambda path: inspect_file(path, images.read), paths), strict=True):
            if found is not None:
                info[path] = found
            on_step(1)
    return info
