"""Files that people name for results: checked before the work, and written whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tasks.errors import InputError


def check_output(out: Path, *endings: str) -> None:
    """Raises InputError for a name with another ending, and where there can be no such file."""
    if out.suffix.lower() not in endings:
        raise InputError(f"{out} does not end in {' or '.join(endings)}; give --out such a name.")
    reason = None
    if out.is_dir():
        reason = "Is a directory"
    elif not out.parent.is_dir():
        reason = "Not a directory" if out.parent.exists() else "No such file or directory"
    elif not os.access(out.parent, os.W_OK):
        reason = "the folder is read-only"
    if reason:
        raise InputError(f"{out} cannot be written: {reason}.")


@contextmanager
def output_file(out: Path) -> Iterator[Path]:
    """A temporary file beside `out` that replaces it in one rename on success and is removed on failure.

    Raises InputError where it cannot be written.
    """
    temporary = out.with_name(f".{os.getpid()}{out.suffix}")
    try:
        yield temporary
        temporary.replace(out)
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror or error}.") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
