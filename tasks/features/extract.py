"""Frozen backbone to descriptors, a batch at a time."""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from tasks.images.config import Preprocessing
from tasks.images.loader import Refusal, load_batches
from tasks.images.preprocess import normalise
from tasks.model.backbone import Backbone
from tasks.model.config import PoolingConfig
from tasks.model.inference import accelerate
from tasks.model.pooling import describe


def extract(
    backbone: Backbone,
    poolings: Sequence[PoolingConfig],
    paths: Sequence[str],
    read: Callable[[str], bytes],
    preprocessing: Preprocessing,
    *,
    device: torch.device,
    batch_size: int,
    workers: int,
) -> Iterator[tuple[tuple[int, ...], list[Tensor]] | Refusal]:
    """(rows, descriptor_BRC of each pooling) for batches of the paths, or a Refusal by row; every path comes once."""
    backbone = accelerate(backbone, device, len(paths))
    for batch in load_batches(paths, read, preprocessing, batch_size=batch_size, workers=workers):
        if isinstance(batch, Refusal):
            yield batch
            continue
        with (
            torch.inference_mode(),
            torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"),
        ):
            outputs = backbone.outputs(normalise(batch.pixels_BHWC.to(device), preprocessing))
            yield batch.rows, [describe(outputs, pooling) for pooling in poolings]
