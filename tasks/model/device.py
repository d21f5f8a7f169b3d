"""Where to compute."""

import ctypes
import sys
from functools import cache

import torch

from tasks.errors import InputError

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h


def choose_device(name: str) -> torch.device:
    """`auto` takes CUDA, else MPS, else the CPU; a named device has to be there. Raises InputError."""
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    kind = next(kind for kind, available in there.items() if available) if name == "auto" else name
    if not there.get(kind, False):
        usable = ", ".join(kind for kind, available in there.items() if available)
        raise InputError(f"There is no device {name!r} here; set runtime.device to one of auto, {usable}.")
    if kind == "cpu":
        _keep_freed_memory()
    return torch.device(kind)


@cache
def _keep_freed_memory() -> None:
    """Tell glibc to keep large freed blocks: given back after every layer, their page faults cost half of the time."""
    if sys.platform == "linux":
        malloc = ctypes.CDLL(None)
        if hasattr(malloc, "mallopt"):
            malloc.mallopt(_M_MMAP_THRESHOLD, 1 << 30)
            malloc.mallopt(_M_TRIM_THRESHOLD, (1 << 31) - 1)
