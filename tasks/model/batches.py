"""Running a network over many image files, a batch at a time."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from tasks.images.config import Preprocessing
from tasks.images.loader import Refusal, load_batches

Computed = TypeVar("Computed")


def run_in_batches(
    compute: Callable[[Tensor], Computed],
    paths: Sequence[str],
    read: Callable[[str], bytes],
    preprocessing: Preprocessing,
    *,
    device: torch.device,
    batch_size: int,
    workers: int,
) -> Iterator[tuple[tuple[int, ...], Computed] | Refusal]:
    """Yield (rows, compute(pixels_BHWC)) for batches of the paths, or a Refusal for a row; every path occurs once.

    Images are decoded in `workers` threads ahead of the network.
    """
    for batch in load_batches(paths, read, preprocessing, batch_size=batch_size, workers=workers):
        if isinstance(batch, Refusal):
            yield batch
            continue
        with torch.inference_mode():
            yield batch.rows, compute(batch.pixels_BHWC.to(device))
