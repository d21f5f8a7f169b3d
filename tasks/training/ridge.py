"""Closed-form heads: ridge regression from features to the truncated SVD of tf-idf (METHOD.md 9)."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.linalg.lapack import dtrtri
from scipy.sparse import csr_array, csr_matrix
from sklearn.utils.extmath import randomized_svd
from torch import Tensor

from tasks.features.descriptors import spread_scale
from tasks.model.head import Kernel, Projection, gaussian

BLOCK = 2048  # rows of the kernel in memory at a time, if landmarks approximate it
JITTER = 1e-6  # added to the diagonal of the landmarks' kernel, which near copies make singular
CPU = torch.device("cpu")
PATIENCE = 2  # penalties worse than the best, after which larger ones are not tried
AnyHead = TypeVar("AnyHead", Kernel, Projection)
SPREAD_POWER = 1.5  # of train images' coordinates; chosen on Flickr8k's validation split
TEXT_CERTAINTY = 0.6  # the certainty of texts; chosen on Flickr8k's validation split


@dataclass(frozen=True)
class RidgeFit(Generic[AnyHead]):
    """The best head, its penalty, and the validation score of each penalty tried."""

    head: AnyHead
    penalty: float
    scores: dict[float, float]


def best_of(heads: Iterator[tuple[float, AnyHead]], score: Callable[[AnyHead], float]) -> RidgeFit[AnyHead]:
    """Return the head that scores best; ties go to the first.

    Penalties must be ascending: scores are assumed to rise to a maximum and to fall after it, so the search ends after
    PATIENCE worse ones.
    """
    best: tuple[float, AnyHead] | None = None
    scores: dict[float, float] = {}
    worse = 0
    for penalty, head in heads:
        scores[penalty] = score(head)
        if best is None or scores[penalty] > scores[best[0]]:
            best, worse = (penalty, head), 0
        elif scores[penalty] < scores[best[0]]:
            worse += 1
        if worse == PATIENCE:
            break
    assert best is not None
    return RidgeFit(best[1], best[0], scores)


def linear_heads(
    descriptor_NC: Tensor, target_NT: np.ndarray, penalties: Sequence[float]
) -> Iterator[tuple[float, Projection]]:
    """Yield for each penalty, ascending, the ridge of targets on centred descriptors divided by their rms norm.

    One eigendecomposition serves all penalties: W = V (Λ + λ)⁻¹ Vᵀ Xᵀ Y.
    """
    value_NC = descriptor_NC.double()
    shift_C = value_NC.mean(0)
    centred_NC = value_NC - shift_C
    unit = float(centred_NC.square().sum(1).mean().sqrt().clamp(min=1e-12))
    scaled_NC = centred_NC / unit
    eigenvalue_C, vector_CC = torch.linalg.eigh(scaled_NC.T @ scaled_NC)
    rotated_CT = vector_CC.T @ (scaled_NC.T @ torch.from_numpy(target_NT).double())
    for penalty in sorted(penalties):
        weight_CT = vector_CC @ (rotated_CT / (eigenvalue_C.clamp(min=0) + penalty)[:, None])
        yield penalty, Projection(shift_C.float(), (weight_CT / unit).float())


@dataclass(frozen=True)
class KernelRidge:
    """Ridge of targets with a Gaussian kernel: (K + λ) W = Y.

    With landmarks, Nyström: (K_MN K_NM + λ K_MM) W = K_MN Y. Otherwise M = N and left_MM is None. Memory is needed for
    two float64 matrices of N × N without landmarks, for three of M × M with them.
    """

    scale_C: Tensor
    landmark_MC: Tensor
    target_MT: Tensor
    kernel_MM: Tensor
    left_MM: Tensor | None
    right_MT: Tensor

    def heads(self, penalties: Sequence[float]) -> Iterator[tuple[float, Kernel]]:
        """Yield the head for each penalty, ascending."""
        for penalty in sorted(penalties):
            weight = cho_solve((self._factor(penalty), True), self.right_MT.numpy(), check_finite=False)
            yield penalty, Kernel(self.scale_C, self.landmark_MC, torch.from_numpy(weight))

    def treat_as_unseen(self, penalty: float, head: Kernel) -> None:
        """Set the head's unseen_length_M and unseen_scale_T, so that it treats train images like unseen ones."""
        fitted_MT, unseen_MT = self.predictions(penalty, head)
        spread_T, unseen_spread_T = (
            F.normalize(each_MT, dim=1).square().mean(0).clamp(min=1e-24).sqrt() for each_MT in (fitted_MT, unseen_MT)
        )
        head.unseen_length_M.copy_(unseen_MT.norm(dim=1))
        head.unseen_scale_T.copy_((unseen_spread_T / spread_T) ** SPREAD_POWER)

    def predictions(self, penalty: float, head: Kernel) -> tuple[Tensor, Tensor]:
        """Compute each landmark's prediction, and that by weights fitted without it → (fitted_MT, unseen_MT).

        Without landmarks the latter is y − w / (K + λ)⁻¹ᵢᵢ; with them (f − h y) / (1 − h), h the leverage.
        """
        factor_MM, weight_MT = self._factor(penalty), head.weight_MT.double()
        if self.left_MM is None:
            unseen_MT = self.target_MT - weight_MT / torch.from_numpy(_diagonal_of_inverse(factor_MM))[:, None]
            return self.target_MT - penalty * weight_MT, unseen_MT
        root_MM = solve_triangular(factor_MM, self.kernel_MM.numpy(), lower=True, check_finite=False)
        leverage_M1 = torch.from_numpy(np.square(root_MM).sum(0))[:, None]
        fitted_MT = self.kernel_MM @ weight_MT
        return fitted_MT, (fitted_MT - leverage_M1 * self.target_MT) / (1 - leverage_M1)

    def _factor(self, penalty: float) -> np.ndarray:
        """Return the lower Cholesky factor of the system; torch would need memory for two more copies."""
        if self.left_MM is None:
            system_MM = self.kernel_MM.clone()
            system_MM.diagonal().add_(penalty)
        else:
            system_MM = self.left_MM.add(self.kernel_MM, alpha=penalty)
        factor: np.ndarray = cho_factor(system_MM.numpy().T, lower=True, overwrite_a=True, check_finite=False)[0]
        return factor


def kernel_ridge(
    descriptor_NC: Tensor,
    target_NT: np.ndarray,
    *,
    block_channels: Sequence[int],
    bandwidth: float,
    landmarks: int | None,
    seed: int,
    device: torch.device = CPU,
) -> KernelRidge:
    """Set up the equations for all training images, or for a seeded choice of landmarks.

    `device` computes the kernel.
    """
    scale_C = spread_scale(descriptor_NC, block_channels) * math.sqrt(bandwidth)
    scaled_NC = descriptor_NC * scale_C
    target = torch.from_numpy(target_NT).double()
    if landmarks is None:
        kernel_NN = _compute_on(device, gaussian, scaled_NC, scaled_NC).double()
        return KernelRidge(scale_C, descriptor_NC, target, kernel_NN, None, target)
    rows = len(descriptor_NC)
    chosen_M = torch.randperm(rows, generator=torch.Generator().manual_seed(seed))[:landmarks].sort().values
    landmark_MC = scaled_NC[chosen_M]
    kernel_MM = gaussian(landmark_MC, landmark_MC).double()
    kernel_MM.diagonal().add_(JITTER)
    left_MM = torch.zeros_like(kernel_MM)
    right_MT = torch.zeros(landmarks, target.shape[1], dtype=torch.float64)
    for start in range(0, rows, BLOCK):
        kernel_BM = _compute_on(device, gaussian, scaled_NC[start : start + BLOCK], landmark_MC)
        left_MM += _compute_on(device, torch.mm, kernel_BM.T, kernel_BM).double()
        right_MT += kernel_BM.T.double() @ target[start : start + BLOCK]
    return KernelRidge(scale_C, descriptor_NC[chosen_M], target[chosen_M], kernel_MM, left_MM, right_MT)


def _compute_on(device: torch.device, function: Callable[..., Tensor], *tensors: Tensor) -> Tensor:
    """Compute a function of tensors on a device, or on the CPU if the device's memory does not suffice → on the CPU."""
    try:
        return function(*(tensor.to(device) for tensor in tensors)).cpu()
    except torch.OutOfMemoryError:
        return function(*tensors)


def _diagonal_of_inverse(factor_MM: np.ndarray) -> np.ndarray:
    """Return the diagonal of (L Lᵀ)⁻¹ = L⁻ᵀ L⁻¹, overwriting L with its inverse."""
    inverse_MM, _ = dtrtri(factor_MM, lower=1, overwrite_c=1)
    columns = range(0, len(inverse_MM), BLOCK)
    blocks = (np.tril(inverse_MM[start:, start : start + BLOCK]) for start in columns)  # above is not zero
    return np.concatenate([np.square(block).sum(0) for block in blocks])


@dataclass(frozen=True)
class CaptionSpace:
    """The truncated SVD of tf-idf: target_NT of the images, and text_VT, which maps any tf-idf vector to that space."""

    target_NT: np.ndarray
    text_VT: np.ndarray


def caption_space(tfidf_NV: csr_array, topics: int, seed: int) -> CaptionSpace:
    """Compute targets U Σ, largest first, minus their mean, and the map of texts V Σ^½ (METHOD.md 9).

    T is `topics`, limited by N and V. The root of Σ gives weight to words that occur together: on Flickr8k's validation
    split, 0.5 to 0.7 points more of the first ten results have an added word than with V alone. Centring after the
    decomposition keeps the matrix sparse; compared with decomposing the centred matrix, validation NDCG AUC on Flickr8k
    changed by less than 0.1.
    """
    kept = min(topics, *tfidf_NV.shape)
    left_NT, scale_T, right_TV = randomized_svd(csr_matrix(tfidf_NV), kept, n_iter=5, random_state=seed)
    target_NT = left_NT * scale_T
    return CaptionSpace(target_NT - target_NT.mean(0), right_TV.T * np.sqrt(scale_T / scale_T[0]))
