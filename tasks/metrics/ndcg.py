"""NDCG@R of rankings by score, with real-valued relevance."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tasks.metrics.ranked import Floats, ranked_blocks


def ndcg(relevance_QN: Floats, score_QN: Floats, at: Sequence[int]) -> npt.NDArray[np.float64]:
    """Compute NDCG@R with linear gain for each query and each rank in `at` → value_QR in 0–1 (METHOD.md 6).

    Columns are the ranked images in id order, the query's own already removed. Equal scores take the expected
    gain over their orders; a rank past N takes the whole list. NaN where the ideal gain is 0. Raises ValueError if
    shapes differ, a rank is below 1 or a value is not finite.
    """
    rank_R = np.asarray(at, dtype=np.intp)
    value_QR = np.full((len(score_QN), len(rank_R)), np.nan)
    for rows, relevance_BN, score_BN in ranked_blocks(relevance_QN, score_QN, at):
        gain_BR = _discounted(expected_gain(relevance_BN, score_BN), rank_R)
        ideal_BR = _discounted(np.sort(relevance_BN.astype(np.float64), axis=1)[:, ::-1], rank_R)
        np.divide(gain_BR, ideal_BR, out=value_QR[rows], where=ideal_BR > 0)
    return value_QR


def expected_gain(relevance_BN: Floats, score_BN: Floats) -> Floats:
    """Replace each gain by the mean over equal scores, its expectation over their orders; columns best first."""
    first_BN = np.ones(score_BN.shape, dtype=bool)
    first_BN[:, 1:] = score_BN[:, 1:] != score_BN[:, :-1]
    start_G = np.flatnonzero(first_BN)
    size_G = np.diff(start_G, append=first_BN.size)
    mean_G = np.add.reduceat(relevance_BN.ravel().astype(np.float64), start_G) / size_G
    return np.repeat(mean_G, size_G).reshape(score_BN.shape)


def _discounted(gain_BN: Floats, rank_R: npt.NDArray[np.intp]) -> Floats:
    """Discounted cumulative gain at each rank: Σ_{r≤R} gain_r / log2(1 + r)."""
    depth = min(int(rank_R.max(initial=0)), gain_BN.shape[1])
    discount_N = 1 / np.log2(np.arange(depth) + 2)
    total_BN = np.cumsum(gain_BN[:, :depth] * discount_N, axis=1)
    return np.pad(total_BN, ((0, 0), (1, 0)))[:, np.minimum(rank_R, depth)]
