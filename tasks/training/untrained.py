"""The untrained heads: embeddings straight from the backbone's features (METHOD.md 6)."""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from tasks.features.descriptors import Descriptors, spread_scale
from tasks.model.config import PoolingConfig
from tasks.model.head import Head, Projection, Scaling
from tasks.model.whitening import pca_whitening, sample_regions
from tasks.training.config import BLOCKS, GAP, RMAC_MAX, RMAC_MEAN

Features = Callable[[PoolingConfig], Descriptors]


def untrained_heads(
    train: Features, block_channels: Sequence[int], *, seed: int
) -> Iterator[tuple[str, PoolingConfig, Head]]:
    """Yield the name of each baseline, its pooling and its head; centres, scales and PCA are fitted on train images.

    `block_channels` are the widths of the blocks of the `blocks` pooling.
    """
    gap_NC = train(GAP).single()
    yield "baseline_gap", GAP, _unchanged(gap_NC)
    yield "baseline_gap_centred", GAP, Scaling(gap_NC.mean(0), torch.ones(gap_NC.shape[1]))
    blocks_NC = train(BLOCKS).single()
    yield "baseline_blocks_centred", BLOCKS, Scaling(blocks_NC.mean(0), spread_scale(blocks_NC, block_channels))
    del blocks_NC  # several times larger than the others
    regions_SC = train(RMAC_MAX).value_SC
    yield "baseline_rmac", RMAC_MAX, _unchanged(regions_SC)
    yield "baseline_rmac_pca", RMAC_MAX, _whitening(regions_SC, seed)
    yield "baseline_rmac_mean_white", RMAC_MEAN, _whitening(train(RMAC_MEAN).value_SC, seed)


def _unchanged(value_SC: Tensor) -> Scaling:
    channels = value_SC.shape[1]
    return Scaling(torch.zeros(channels), torch.ones(channels))


def _whitening(value_SC: Tensor, seed: int) -> Projection:
    """Whiten regions fully by the PCA of train regions."""
    return Projection(*pca_whitening(sample_regions(value_SC, seed), value_SC.shape[1], power=1.0))
