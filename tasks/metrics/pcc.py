"""PCC@R: the correlation between the scores and the true similarities of the top R images."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tasks.metrics.ranked import Floats, ranked_blocks

# Values are constant if their standard deviation is below this many rounding errors of the largest.
_ROUNDINGS = 16


def pcc(relevance_QN: Floats, score_QN: Floats, at: Sequence[int]) -> npt.NDArray[np.float64]:
    """Compute the Pearson correlation of score and relevance over each query's top R → value_QR in −1…1 (METHOD.md 6).

    Columns are the ranked images in id order, the query's own already removed; equal scores keep that order, and a
    rank past N takes the whole list. NaN where a side is constant. Raises ValueError if shapes differ, a rank is below
    1 or a value is not finite.
    """
    value_QR = np.full((len(score_QN), len(at)), np.nan)
    for rows, relevance_BN, score_BN in ranked_blocks(relevance_QN, score_QN, at):
        for column, rank in enumerate(at):
            value_QR[rows, column] = _pearson(relevance_BN[:, :rank], score_BN[:, :rank])
    return value_QR


def _pearson(a_BR: Floats, b_BR: Floats) -> Floats:
    correlation_B: Floats = (_standardise(a_BR) * _standardise(b_BR)).sum(axis=1)
    return np.clip(correlation_B, -1, 1)


def _standardise(value_BR: Floats) -> Floats:
    """Centre rows and scale them to unit length in float64; NaN for rows that are constant up to rounding."""
    rounding = _ROUNDINGS * np.finfo(value_BR.dtype).eps
    value_BR = value_BR.astype(np.float64)
    centred_BR = value_BR - value_BR.mean(axis=1, keepdims=True)
    length_B1 = np.linalg.norm(centred_BR, axis=1, keepdims=True)
    largest_B1 = np.abs(value_BR).max(axis=1, keepdims=True)
    constant_B1 = length_B1 <= rounding * largest_B1 * np.sqrt(value_BR.shape[1])
    length_B1[constant_B1] = np.nan
    unit_BR: Floats = centred_BR / length_B1
    return unit_BR
