"""The images that benchmarks measure with: those of a folder, or drawn scenes."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tasks.demo.collection import write_collection


@contextmanager
def sample_images(folder: Path | None, count: int) -> Iterator[list[str]]:
    """Yield the paths of up to `count` JPEG files."""
    with tempfile.TemporaryDirectory() as drawn:
        if folder is None:
            write_collection(Path(drawn, "scenes"), count)
        yield [str(file) for file in sorted((folder or Path(drawn)).rglob("*.jpg"))[:count]]


def read(path: str) -> bytes:
    """Return the bytes of a file."""
    return Path(path).read_bytes()
