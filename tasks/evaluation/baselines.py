"""The untrained baselines: embeddings straight from the backbone's features (METHOD.md 6)."""

import numpy as np
import torch.nn.functional as F
from torch import Tensor

from tasks.features.descriptors import Descriptors, project
from tasks.model.config import PoolingConfig
from tasks.model.head import Projection
from tasks.model.whitening import pca_whitening, sample_regions

GAP = PoolingConfig(kind="gap")
RMAC = PoolingConfig(kind="rmac_max", scales=2)


def baseline_embeddings(
    train_gap: Descriptors, train_rmac: Descriptors, gap: Descriptors, rmac: Descriptors, *, seed: int
) -> dict[str, np.ndarray]:
    """Return embedding_ND of a split's images for each baseline; centre and PCA are fitted on the train images."""
    whitening = Projection(
        *pca_whitening(sample_regions(train_rmac.value_SC, seed), train_rmac.value_SC.shape[1], power=1.0)
    )
    return {
        "baseline_gap": _unit(gap.single()),
        "baseline_gap_centred": _unit(gap.single() - train_gap.single().mean(0)),
        "baseline_rmac": _unit(rmac.summed()),
        "baseline_rmac_pca": project(whitening, rmac).numpy(),
    }


def _unit(value_ND: Tensor) -> np.ndarray:
    return F.normalize(value_ND, dim=-1).numpy()
