"""Write-then-rename: files and folders that appear complete or not at all."""

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

TEMPORARY = ".*.tmp"  # a pattern for what a killed process may leave behind


@contextmanager
def fresh_folder(final: Path) -> Iterator[Path]:
    """Yield a temporary folder next to `final`; it replaces `final` on success and is removed on failure.

    Raises OSError if it cannot be written.
    """
    temporary = temporary_path(final)
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
    """Yield a temporary path next to `final`; its file replaces `final` on success and is removed on failure.

    The temporary name does not end in the suffix of `final`: writers that choose a format by it need an explicit one.
    Raises OSError if it cannot be written.
    """
    temporary = temporary_path(final)
    try:
        yield temporary
        temporary.replace(final)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def temporary_path(final: Path) -> Path:
    """Return a hidden name next to `final` that no other thread or process uses."""
    return final.with_name(f".{final.name}.{os.getpid()}-{threading.get_native_id()}.tmp")
