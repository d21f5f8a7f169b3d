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
from tasks.images.loader import load_inputs, stack
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
        images = list(pool.map(lambda row: load_inputs(paths[row], read, model.config.preprocessings), rows))
        shapes_of = [tuple(tuple(pixels_HWC.shape) for pixels_HWC in inputs) for inputs in images]
        places = [[place for place, each in enumerate(shapes_of) if each == shapes] for shapes in sorted({*shapes_of})]
        chunks = [part[start : start + chunk] for part in places for start in range(0, len(part), chunk)]
        forward = model if len(chunks) == 1 else partial(checkpoint, model, use_reentrant=False)
        batches = [stack([images[place] for place in part]) for part in chunks]
        parts = [forward(tuple(pixels_BHWC.to(device) for pixels_BHWC in inputs)) for inputs in batches]
        order = torch.tensor([place for part in chunks for place in part]).argsort()
        return torch.cat(parts).float()[order.to(device)]

    return embed
