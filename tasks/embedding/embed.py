"""Images to embeddings, streamed."""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from tasks.images.loader import Refusal, load_batches
from tasks.model.inference import accelerate
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
    """(rows, embedding_BD) for batches of the paths, or a Refusal by row; every path comes once."""
    backbone = accelerate(model.backbone, device, len(paths))
    model = SceneModel(model.config, backbone, model.head).to(device).eval()
    preprocessing = model.config.preprocessing
    for batch in load_batches(paths, read, preprocessing, batch_size=batch_size, workers=workers):
        if isinstance(batch, Refusal):
            yield batch
            continue
        with (
            torch.inference_mode(),
            torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"),
        ):
            yield batch.rows, model(batch.pixels_BHWC.to(device)).float().cpu()
