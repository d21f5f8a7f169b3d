"""Where to compute."""

import torch

from tasks.errors import InputError


def choose_device(name: str) -> torch.device:
    """`auto` takes CUDA, else MPS, else the CPU; a named device has to be there. Raises InputError."""
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        return torch.device(next(kind for kind, available in there.items() if available))
    if not there.get(name, False):
        raise InputError(
            f"There is no device {name!r} here; set device to one of auto, {', '.join(k for k in there if there[k])}."
        )
    return torch.device(name)
