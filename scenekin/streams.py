"""Standard streams and file names that work under any launcher and locale."""

import codecs
import io
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any


def use_utf8() -> None:
    """Restart the process in Python's UTF-8 mode if the locale has ASCII only, so that any file name can be used."""
    if codecs.lookup(sys.getfilesystemencoding()).name == "ascii" and not sys.flags.utf8_mode:
        os.environ["PYTHONUTF8"] = "1"  # for child processes
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])


def open_streams() -> None:
    """Open closed standard streams on the null device, and escape what the terminal's encoding lacks.

    Messages are lost if standard error cannot be written, say on a full disk: they must not stop the work.
    """
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            _occupy(descriptor)
            stream = Path(os.devnull).open("w" if descriptor else "r", encoding="utf-8")  # noqa: SIM115
            setattr(sys, name, stream)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    if isinstance(sys.stderr, io.TextIOWrapper):
        messages = io.BufferedWriter(_Messages(sys.stderr.fileno(), "w", closefd=False))
        sys.stderr = io.TextIOWrapper(
            messages, encoding=sys.stderr.encoding, errors="backslashreplace", line_buffering=True
        )


class _Messages(io.FileIO):
    def write(self, data: Any, /) -> int:
        with suppress(OSError):
            super().write(data)
        return len(data)


def _occupy(descriptor: int) -> None:
    """Keep a closed descriptor from being taken by a file, into which messages would then be written."""
    try:
        os.fstat(descriptor)
    except OSError:
        null = os.open(os.devnull, os.O_RDWR)
        if null != descriptor:
            os.dup2(null, descriptor)
            os.close(null)
