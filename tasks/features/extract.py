"""From images to descriptors by the frozen backbone."""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from tasks.images.config import Preprocessing
from tasks.images.loader import Refusal
from tasks.images.preprocess import Inputs, normalise
from tasks.model.backbone import Backbone
from tasks.model.batches import run_in_batches
from tasks.model.config import PoolingConfig
from tasks.model.inference import optimise_for_inference
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
    """Yield (rows, descriptor_BRC of each pooling) for batches of the paths, or a Refusal for a row."""
    if not paths:
        return
    backbone = optimise_for_inference(backbone, device)

    def compute(inputs: Inputs) -> list[Tensor]:
        outputs = backbone.outputs(normalise(inputs[0], preprocessing))
        return [describe([outputs], pooling) for pooling in poolings]

    yield from run_in_batches(
        compute, paths, read, [preprocessing], device=device, batch_size=batch_size, workers=workers
    )
