"""How the triplet loop gets embeddings of train images: from features at hand, or through the whole network."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from tasks.features.descriptors import Descriptors
from tasks.images.loader import load_pixels
from tasks.model.head import Head
from tasks.model.scene_model import SceneModel
from tasks.training.text_embedding import TextEmbedding

Embed = Callable[[np.ndarray], Tensor]  # rows of train images → embedding_BD, through which gradients flow


def through_head(head: Head, descriptors: Descriptors) -> Embed:
    """The backbone is frozen: its descriptors are projected."""
    return lambda rows: head(*descriptors.take(rows))


def through_text(text: TextEmbedding, tfidf_NV: csr_array) -> Embed:
    """Captions are embedded: each image's bag by its tf-idf."""
    return lambda rows: text(tfidf_NV[rows])


def through_network(
    model: SceneModel,
    paths: Sequence[str],
    read: Callable[[str], bytes],
    *,
    device: torch.device,
    workers: int,
    chunk: int,
) -> Embed:
    """The backbone is trained too: images are decoded and go through all of it, those of one shape together.

    Memory holds the layers' outputs of `chunk` images at a time: those of a larger batch are computed once more in the
    backward pass, which gives the same gradients for a third more work.
    """

    def embed(rows: np.ndarray) -> Tensor:
        with ThreadPoolExecutor(workers) as pool:
            pixels = list(pool.map(lambda row: load_pixels(paths[row], read, model.config.preprocessing), rows))
        shapes = sorted({tuple(image.shape) for image in pixels})
        places = [[place for place, image in enumerate(pixels) if tuple(image.shape) == shape] for shape in shapes]
        chunks = [part[start : start + chunk] for part in places for start in range(0, len(part), chunk)]
        forward = model if len(chunks) == 1 else partial(checkpoint, model, use_reentrant=False)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            parts = [forward(torch.stack([pixels[place] for place in part]).to(device)) for part in chunks]
        order = torch.tensor([place for part in chunks for place in part]).argsort()
        return torch.cat(parts).float()[order.to(device)]

    return embed
