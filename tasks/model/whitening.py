"""PCA-whitening of train regions, the initial value of the projection (METHOD.md 3)."""

import numpy as np
import torch
from torch import Tensor

WHITENING_REGIONS = 30_000
EIGENVALUE_FLOOR = 1e-6  # relative to the largest: directions without variance are not amplified


def sample_regions(value_SC: Tensor, seed: int) -> Tensor:
    """Return a seeded sample of at most 30,000 regions, enough to estimate their covariance."""
    order = np.random.default_rng(seed).permutation(len(value_SC))[:WHITENING_REGIONS]
    return value_SC[torch.from_numpy(order)]


def pca_whitening(descriptor_SC: Tensor, dimension: int, power: float) -> tuple[Tensor, Tensor]:
    """Return (shift_C, linear_CD): the mean, and the leading eigenvectors divided by eigenvalue^(power / 2).

    Power 0 only rotates, power 1 whitens fully. D is `dimension`, limited by C and the number of regions. The largest
    entry of each column is positive, so that the same regions give the same layer.
    """
    shift_C = descriptor_SC.float().mean(0)
    centred_SC = descriptor_SC.float() - shift_C
    covariance_CC = (centred_SC.T @ centred_SC).double() / len(centred_SC)
    eigenvalue_C, vector_CC = torch.linalg.eigh(covariance_CC)
    kept = min(dimension, centred_SC.shape[1], max(1, len(centred_SC) - 1))
    eigenvalue_D, vector_CD = eigenvalue_C.flip(0)[:kept], vector_CC.flip(1)[:, :kept]
    largest_D = vector_CD.gather(0, vector_CD.abs().argmax(0, keepdim=True)).squeeze(0)
    scale_D = eigenvalue_D.clamp(min=float(eigenvalue_C[-1].clamp(min=1e-12)) * EIGENVALUE_FLOOR) ** (-power / 2)
    return shift_C, (vector_CD * largest_D.sign() * scale_D).float()
