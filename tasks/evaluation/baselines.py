"""The untrained baselines: embeddings straight from the backbone's features (METHOD.md 6)."""

from collections.abc import Iterator, Sequence

import numpy as np

from tasks.features.descriptors import project
from tasks.training.untrained import Features, untrained_heads


def baseline_embeddings(
    train: Features, split: Features, block_channels: Sequence[int], *, seed: int
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the name and embedding_ND of a split's images for each baseline, fitted on training images.

    `block_channels` are the widths of the blocks of the `blocks` pooling.
    """
    for name, pooling, head in untrained_heads(train, block_channels, seed=seed):
        yield name, project(head, split(pooling)).numpy()
