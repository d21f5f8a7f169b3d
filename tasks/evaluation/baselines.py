"""The untrained baselines: embeddings straight from the backbone's features (METHOD.md 6)."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from tasks.features.descriptors import project
from tasks.model.config import PoolingConfig
from tasks.model.head import Head
from tasks.training.untrained import Features, untrained_heads


def baseline_embeddings(
    train: Features, split: Features, block_channels: Sequence[int], *, seed: int
) -> dict[str, Callable[[], np.ndarray]]:
    """Return functions that compute embedding_ND of a split's images for each baseline, fitted on training images.

    `block_channels` are the widths of the blocks of the `blocks` pooling.
    """

    def embed(pooling: PoolingConfig, head: Head) -> np.ndarray:
        embedding_ND: np.ndarray = project(head, split(pooling)).numpy()
        return embedding_ND

    heads = untrained_heads(train, block_channels, seed=seed)
    return {name: partial(embed, pooling, head) for name, pooling, head in heads}
