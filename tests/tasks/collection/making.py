"""Collections made in memory by the tests."""

import io
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO

from PIL import Image

from storage.source.tree import Source
from tasks.collection.assemble import Collection, assemble
from tasks.collection.config import CollectionConfig
from tasks.collection.formats import read_collection
from tasks.collection.gather import gather
from tasks.collection.image_info import inspect_file, paths_to_inspect
from tasks.collection.records import Files


def files_of(contents: Mapping[str, str | bytes]) -> Files:
    """Files from a dict of their contents; text is UTF-8."""
    data = {path: content.encode() if isinstance(content, str) else content for path, content in contents.items()}

    def open_bytes(path: str) -> BinaryIO:
        if path not in data:
            raise FileNotFoundError(path)
        return io.BytesIO(data[path])

    return Files(sorted(data), open_bytes)


def files_in(folder: Path) -> Files:
    """All files below a folder on disk."""
    paths = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return Files(paths, lambda path: (folder / path).open("rb"))


def picture(colour: str = "red", size: tuple[int, int] = (4, 3)) -> bytes:
    """A small PNG, width by height."""
    stream = io.BytesIO()
    Image.new("RGB", size, colour).save(stream, "png")
    return stream.getvalue()


def pictures(*paths: str) -> dict[str, bytes]:
    """A picture of its own colour for each path."""
    return {path: picture(f"hsl({index * 67 % 360}, 80%, 50%)") for index, path in enumerate(paths)}


def collect(files: Files, format: str | None = None) -> Collection:
    """Read and assembled, as the tasks do it."""
    reading = read_collection(files, files, format)
    seen = {path: inspect_file(path, files.read) for path in paths_to_inspect(reading, files)}
    infos = {path: info for path, info in seen.items() if info is not None}
    return assemble(reading, infos, CollectionConfig())


def silent(label: str, total: int) -> AbstractContextManager[Callable[[int], None]]:  # noqa: ARG001
    """Progress that nobody is shown."""
    return nullcontext(lambda _: None)


def gathered(source: Source, format: str | None = None) -> Collection:
    """Read from where it lies, as commands do it."""
    files, images = (Files(tree.paths, tree.open, tree.skipped) for tree in source.trees())
    return gather(files, images, format, CollectionConfig(), workers=2, progress=silent)


def kinds(collection: Collection) -> dict[str, int]:
    """How many problems of each kind."""
    return dict(Counter(problem.kind for problem in collection.problems))


def captions(collection: Collection) -> dict[str, tuple[str, ...]]:
    """Captions by image id."""
    return {image.image_id: image.captions for image in collection.images}
