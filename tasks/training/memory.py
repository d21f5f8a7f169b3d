"""The memory available to training."""

from contextlib import suppress
from pathlib import Path

import psutil

CONTAINER = Path("/sys/fs/cgroup/memory.max")


def usable_memory() -> int:
    """Return the bytes of memory of the machine, or of the container if it has fewer."""
    total: int = psutil.virtual_memory().total
    with suppress(OSError, ValueError):  # the file is missing or contains "max"
        return min(total, int(CONTAINER.read_text(encoding="utf-8")))
    return total
