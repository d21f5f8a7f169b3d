"""Files and folders that appear whole, in one rename, or not at all."""

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def fresh_folder(final: Path) -> Iterator[Path]:
    """A temporary folder beside `final` that replaces it on success and is removed on failure. Raises OSError."""
    temporary = _beside(final)
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        yield temporary
        if final.exists():
            shutil.rmtree(final)
        temporary.rename(final)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def fresh_file(final: Path) -> Iterator[Path]:
    """A temporary file beside `final` that replaces it on success and is removed on failure. Raises OSError."""
    temporary = _beside(final)
    try:
        yield temporary
        temporary.replace(final)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _beside(final: Path) -> Path:
    return final.with_name(f".{final.name}.{os.getpid()}-{threading.get_native_id()}.tmp")
