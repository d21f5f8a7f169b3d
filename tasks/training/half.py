"""Whether more captions would help: the regression compared with one that was fitted on half of the images."""

import numpy as np
from pydantic import BaseModel

CLEAR = 2.0  # standard errors
SMALL = 1.0  # points of NDCG AUC; a gain below this may not be worth the work of more captions


class HalfFit(BaseModel):
    """The validation NDCG AUC with half of the training images, and what the other half adds, with standard error.

    The vocabulary and the penalty are those of all images. The error is that over queries, of which 1 has none.
    """

    images: int
    ndcg_auc: float
    gain: float
    gain_error: float | None

    @property
    def is_clear_gain(self) -> bool:
        """Whether the other half helps more than chance may explain, so that still more images are likely to help."""
        return self.gain_error is not None and self.gain > CLEAR * self.gain_error

    @property
    def is_precise(self) -> bool:
        """Whether there were enough queries to recognise a gain that is not small."""
        return self.gain_error is not None and CLEAR * self.gain_error <= SMALL


def draw_half(images: int, seed: int) -> np.ndarray:
    """Draw half of the images' rows by `seed`, ascending."""
    return np.sort(np.random.default_rng(seed).permutation(images)[: images // 2])


def compare_with_half(auc_Q: np.ndarray, half_auc_Q: np.ndarray, images: int) -> HalfFit:
    """Compare the NDCG AUC of each query with that of the fit on half of the images, `images` many; NaN is left out."""
    gain_Q = (auc_Q - half_auc_Q)[~np.isnan(auc_Q)]
    error = float(gain_Q.std(ddof=1) / np.sqrt(len(gain_Q))) if len(gain_Q) > 1 else None
    return HalfFit(images=images, ndcg_auc=float(np.nanmean(half_auc_Q)), gain=float(gain_Q.mean()), gain_error=error)
