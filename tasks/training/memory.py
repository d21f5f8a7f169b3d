"""How much memory training may use."""

from contextlib import suppress
from pathlib import Path

import psutil

CONTAINER = Path("/sys/fs/cgroup/memory.max")


def usable_memory() -> int:
    """Bytes of memory that the machine has, or the container where that has fewer."""
    total: int = psutil.virtual_memory().total
    with suppress(OSError, ValueError):  # there is no such file, or it says "max"
        return min(total, int(CONTAINER.read_text()))
    return total
