"""From images to embeddings by a model."""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from tasks.images.loader import Refusal
from tasks.model.batches import run_in_batches
from tasks.model.inference import optimise_for_inference
from tasks.model.scene_model import SceneModel


def embed_images(
    model: SceneModel,
    paths: Sequence[str],
    read: Callable[[str], bytes],
    *,
    device: torch.device,
    batch_size: int,
    workers: int,
) -> Iterator[tuple[tuple[int, ...], Tensor] | Refusal]:
    """Yield (rows, embedding_BD) for batches of the paths, or a Refusal for a row; every path occurs once."""
    if not paths:
        return
    backbones = [optimise_for_inference(backbone, device) for backbone in model.backbones]
    model = SceneModel(model.config, backbones, model.head).to(device).eval()

    batches = run_in_batches(
        model, paths, read, model.config.preprocessings, device=device, batch_size=batch_size, workers=workers
    )
    for batch in batches:
        if isinstance(batch, Refusal):
            yield batch
        else:
            rows, embedding_BD = batch
            yield rows, embedding_BD.float().cpu()
