"""How the triplet loop embeds training images: from precomputed features, or through the whole network."""

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

Embed = Callable[[np.ndarray], Tensor]  # rows of training images → embedding_BD, through which gradients flow


def through_head(head: Head, descriptors: Descriptors) -> Embed:
    """Embed images by projecting the descriptors of a frozen backbone."""
    return lambda rows: head(*descriptors.take(rows))


def through_text(text: TextEmbedding, tfidf_NV: csr_array) -> Embed:
    """Embed the captions of images, each image's as one bag, by their tf-idf."""
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
    """Embed images by decoding them and passing those of one shape together through the whole network.

    The layers' outputs of only `chunk` images are in memory at a time. In a larger batch they are computed again by the
    backward pass, which gives the same gradients for a third more work.
    """

    pool = ThreadPoolExecutor(workers)

    def embed(rows: np.ndarray) -> Tensor:
        pixels = list(pool.map(lambda row: load_pixels(paths[row], read, model.config.preprocessing), rows))
        shapes = sorted({tuple(image.shape) for image in pixels})
        places = [[place for place, image in enumerate(pixels) if tuple(image.shape) == shape] for shape in shapes]
        chunks = [part[start : start + chunk] for part in places for start in range(0, len(part), chunk)]
        forward = model if len(chunks) == 1 else partial(checkpoint, model, use_reentrant=False)
        parts = [forward(torch.stack([pixels[place] for place in part]).to(device)) for part in chunks]
        order = torch.tensor([place for part in chunks for place in part]).argsort()
        return torch.cat(parts).float()[order.to(device)]

    return embed
