"""Running networks over many image files, a batch at a time."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import torch

from tasks.errors import InputError
from tasks.images.config import Preprocessing
from tasks.images.loader import Refusal, load_batches
from tasks.images.preprocess import Inputs

Computed = TypeVar("Computed")


def run_in_batches(
    compute: Callable[[Inputs], Computed],
    paths: Sequence[str],
    read: Callable[[str], bytes],
    preprocessings: Sequence[Preprocessing],
    *,
    device: torch.device,
    batch_size: int,
    workers: int,
) -> Iterator[tuple[tuple[int, ...], Computed] | Refusal]:
    """Yield (rows, compute(inputs)) for batches of the paths, or a Refusal for a row; every path occurs once.

    Images are decoded in `workers` threads ahead of the network, and the next batch is started before the results of
    one are yielded, so that a GPU does not wait for whoever uses them. A batch that does not fit into the device's
    memory is halved, and so are those after it. Raises InputError if a single image does not fit.
    """
    started: tuple[tuple[int, ...], Computed] | None = None
    largest = batch_size
    for batch in load_batches(paths, read, preprocessings, batch_size=batch_size, workers=workers):
        if isinstance(batch, Refusal):
            yield batch
            continue
        done = 0
        while done < len(batch.rows):
            rows = batch.rows[done : done + largest]
            try:
                part = tuple(pixels_BHWC[done : done + largest] for pixels_BHWC in batch.inputs)
                computed = _compute(compute, part, device)
            except torch.OutOfMemoryError as error:
                largest = len(rows) // 2
                if not largest:
                    raise InputError(
                        f"Out of memory on {device} with a single image; set runtime.device=cpu."
                    ) from error
                continue
            done += len(rows)
            if started is not None:
                yield started
            started = rows, computed
    if started is not None:
        yield started


def _compute(compute: Callable[[Inputs], Computed], inputs: Inputs, device: torch.device) -> Computed:
    if device.type == "cuda":  # pinned memory is copied while the GPU computes
        inputs = tuple(pixels_BHWC.pin_memory() for pixels_BHWC in inputs)
    with torch.inference_mode():
        return compute(tuple(pixels_BHWC.to(device, non_blocking=True) for pixels_BHWC in inputs))
