"""Checkpoints of trainings, on disk complete or not at all."""

import io
from pathlib import Path
from typing import Any

import torch


def save_checkpoint(values: dict[str, Any], path: Path) -> None:
    """Write a checkpoint. Raises OSError if the disk is full; torch would hide the reason."""
    stream = io.BytesIO()
    torch.save(values, stream)
    temporary = path.with_suffix(".tmp")
    temporary.write_bytes(stream.getbuffer())
    temporary.replace(path)


def load_checkpoint(path: Path) -> dict[str, Any] | None:
    """Read a checkpoint onto the CPU; None if there is none or it is damaged, so that training starts again."""
    try:
        values: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except Exception:  # of any kind: a damaged file may contain anything
        return None
    return values
