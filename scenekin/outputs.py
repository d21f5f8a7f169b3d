"""Files that people name for results: checked before the work, and written completely or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from storage.atomic import fresh_file
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
    """Yield a temporary path next to `out`; its file replaces `out` on success and is removed on failure.

    The temporary name has no suffix of the format. Raises InputError if `out` cannot be written.
    """
    try:
        with fresh_file(out) as temporary:
            yield temporary
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror or error}.") from error
