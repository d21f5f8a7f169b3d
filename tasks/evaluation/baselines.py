"""The untrained baselines: embeddings straight from the backbone's features (METHOD.md 6)."""

from collections.abc import Callable, Sequence

import numpy as np
import torch.nn.functional as F
from torch import Tensor

from tasks.evaluation.config import BLOCKS, GAP, RMAC_MAX, RMAC_MEAN
from tasks.features.descriptors import Descriptors, project, spread_scale
from tasks.model.config import PoolingConfig
from tasks.model.head import Projection
from tasks.model.whitening import pca_whitening, sample_regions

Features = Callable[[PoolingConfig], Descriptors]


def baseline_embeddings(
    train: Features, split: Features, block_channels: Sequence[int], *, seed: int
) -> dict[str, np.ndarray]:
    """Return embedding_ND of a split's images for each baseline; centres, scales and PCA are fitted on training images.

    `block_channels` are the widths of the blocks of the `blocks` pooling.
    """
    train_gap_NC, gap_NC = train(GAP).single(), split(GAP).single()
    train_blocks_NC, blocks_NC = train(BLOCKS).single(), split(BLOCKS).single()
    return {
        "baseline_gap": _unit(gap_NC),
        "baseline_gap_centred": _unit(gap_NC - train_gap_NC.mean(0)),
        "baseline_blocks_centred": _unit(
            (blocks_NC - train_blocks_NC.mean(0)) * spread_scale(train_blocks_NC, block_channels)
        ),
        "baseline_rmac": _unit(split(RMAC_MAX).summed()),
        "baseline_rmac_pca": _whitened(train(RMAC_MAX), split(RMAC_MAX), seed),
        "baseline_rmac_mean_white": _whitened(train(RMAC_MEAN), split(RMAC_MEAN), seed),
    }


def _whitened(train: Descriptors, split: Descriptors, seed: int) -> np.ndarray:
    """Whiten regions fully by the PCA of train regions and sum them."""
    regions_SC = sample_regions(train.value_SC, seed)
    whitening = Projection(*pca_whitening(regions_SC, regions_SC.shape[1], power=1.0))
    embedding_ND: np.ndarray = project(whitening, split).numpy()
    return embedding_ND


def _unit(value_ND: Tensor) -> np.ndarray:
    return F.normalize(value_ND, dim=-1).numpy()
