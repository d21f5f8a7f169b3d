"""How the triplet loop gets embeddings of train images: from features at hand, or through the whole network."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor

from tasks.features.descriptors import Descriptors
from tasks.images.loader import load_pixels
from tasks.model.head import Head
from tasks.model.scene_model import SceneModel

Embed = Callable[[np.ndarray], Tensor]  # rows of train images → embedding_BD, through which gradients flow


def through_head(head: Head, descriptors: Descriptors) -> Embed:
    """The backbone is frozen: its descriptors are projected."""
    return lambda rows: head(*descriptors.take(rows))


def through_network(
    model: SceneModel,
    paths: Sequence[str],
    read: Callable[[str], bytes],
    *,
    device: torch.device,
    workers: int,
) -> Embed:
    """The backbone is trained too: images are decoded and go through all of it, those of one shape together."""

    def embed(rows: np.ndarray) -> Tensor:
        with ThreadPoolExecutor(workers) as pool:
            pixels = list(pool.map(lambda row: load_pixels(paths[row], read, model.config.preprocessing), rows))
        shapes = sorted({tuple(image.shape) for image in pixels})
        places = [[place for place, image in enumerate(pixels) if tuple(image.shape) == shape] for shape in shapes]
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            parts = [model(torch.stack([pixels[place] for place in part]).to(device)) for part in places]
        order = torch.tensor([place for part in places for place in part]).argsort()
        return torch.cat(parts).float()[order.to(device)]

    return embed
