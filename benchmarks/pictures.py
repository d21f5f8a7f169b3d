"""The pictures that are measured with: those of a folder, else drawn scenes."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tasks.demo.collection import write_collection


@contextmanager
def pictures(folder: Path | None, count: int) -> Iterator[list[str]]:
    """Paths of up to `count` JPEG files."""
    with tempfile.TemporaryDirectory() as drawn:
        if folder is None:
            write_collection(Path(drawn, "scenes"), count)
        yield [str(file) for file in sorted((folder or Path(drawn)).rglob("*.jpg"))[:count]]


def read(path: str) -> bytes:
    """The bytes of one."""
    return Path(path).read_bytes()
