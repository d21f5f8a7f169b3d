"""The closed-form head: linear ridge from average-pooled features to the truncated SVD of tf-idf (METHOD.md 9)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import csr_array, csr_matrix
from sklearn.utils.extmath import randomized_svd
from torch import Tensor

from tasks.model.head import Projection


@dataclass(frozen=True)
class RidgeFit:
    """The best head with its penalty and the validation score of every penalty tried."""

    head: Projection
    penalty: float
    scores: dict[float, float]


def fit_ridge(
    descriptor_NC: Tensor,
    target_ND: np.ndarray,
    penalties: Sequence[float],
    score: Callable[[Projection], float],
) -> RidgeFit:
    """Ridge of targets on centred descriptors in units of their rms norm, for each penalty; the best by `score` stays.

    One eigendecomposition serves all penalties: W = V (Λ + λ)⁻¹ Vᵀ Xᵀ Y.
    """
    value_NC = descriptor_NC.double()
    shift_C = value_NC.mean(0)
    centred_NC = value_NC - shift_C
    unit = float(centred_NC.square().sum(1).mean().sqrt().clamp(min=1e-12))
    scaled_NC = centred_NC / unit
    eigenvalue_C, vector_CC = torch.linalg.eigh(scaled_NC.T @ scaled_NC)
    rotated_CD = vector_CC.T @ (scaled_NC.T @ torch.from_numpy(target_ND).double())
    heads, scores = {}, {}
    for penalty in penalties:
        weight_CD = vector_CC @ (rotated_CD / (eigenvalue_C.clamp(min=0) + penalty)[:, None])
        heads[penalty] = Projection(shift_C.float(), (weight_CD / unit).float())
        scores[penalty] = score(heads[penalty])
    best = max(penalties, key=lambda penalty: scores[penalty])
    return RidgeFit(heads[best], best, scores)


def caption_targets(tfidf_NV: csr_array, dimension: int, seed: int) -> np.ndarray:
    """target_ND: the truncated SVD U Σ of tf-idf, largest first, less its mean; D is cut to what N and V allow.

    Centring after the decomposition keeps the matrix sparse, and moved validation NDCG AUC on Flickr8k by under 0.1
    against decomposing the centred matrix.
    """
    kept = min(dimension, *tfidf_NV.shape)
    left_ND, scale_D, _ = randomized_svd(csr_matrix(tfidf_NV), kept, n_iter=5, random_state=seed)
    target_ND: np.ndarray = left_ND * scale_D
    target_ND -= target_ND.mean(0)
    return target_ND
