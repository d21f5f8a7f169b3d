"""The choice of the device to compute on."""

import ctypes
import sys
from functools import cache

import torch

from tasks.errors import InputError
from tasks.model.config import Precision

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h


def choose_device(name: str, *precisions: Precision) -> torch.device:
    """Return the named device; `auto` prefers CUDA, then MPS, then the CPU.

    Raises InputError if the device is not available or does not compute in these precisions.
    """
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    kind = next(kind for kind, found in available.items() if found) if name == "auto" else name
    if not available.get(kind, False):
        usable = ", ".join(kind for kind, found in available.items() if found)
        raise InputError(f"Device {name!r} is not available; set runtime.device to one of: auto, {usable}.")
    if "bfloat16" in precisions and kind == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False):
        raise InputError("This GPU does not compute in bfloat16; set backbone.precision to float32.")
    if kind == "cpu":
        _keep_freed_memory()
    return torch.device(kind)


@cache
def _keep_freed_memory() -> None:
    """Make glibc keep large freed blocks: returning them after every layer costs half of the time in page faults."""
    if sys.platform == "linux":
        malloc = ctypes.CDLL(None)
        if hasattr(malloc, "mallopt"):
            malloc.mallopt(_M_MMAP_THRESHOLD, 1 << 30)
            malloc.mallopt(_M_TRIM_THRESHOLD, (1 << 31) - 1)
