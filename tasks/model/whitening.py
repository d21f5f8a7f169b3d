"""PCA-whitening of train regions, with which the projection starts (METHOD.md 3)."""

import numpy as np
import torch
from torch import Tensor

WHITENING_REGIONS = 30_000
EIGENVALUE_FLOOR = 1e-6  # of the largest: directions without variance are not blown up


def sample_regions(value_SC: Tensor, seed: int) -> Tensor:
    """A seeded sample of at most 30,000 regions: the covariance is known well enough by those."""
    order = np.random.default_rng(seed).permutation(len(value_SC))[:WHITENING_REGIONS]
    return value_SC[torch.from_numpy(order)]


def pca_whitening(descriptor_SC: Tensor, dimension: int, power: float) -> tuple[Tensor, Tensor]:
    """(shift_C, linear_CD): the mean, and the leading eigenvectors over eigenvalue^(power / 2).

    power 0 rotates only, 1 whitens fully. D is `dimension`, cut to what C and the number of regions allow.
    Every column's sign is fixed by its largest entry, so that the same regions give the same layer.
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
