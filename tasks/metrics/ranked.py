"""Rankings by score, a block of rows at a time so that memory stays bounded."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating[Any]]

_VALUES_PER_BLOCK = 2_000_000


def drop_self(matrix_QN: Floats, column_Q: npt.NDArray[np.integer]) -> Floats:
    """Remove from each row the column of its own query: (Q, N) → (Q, N − 1) (METHOD.md 6)."""
    count, width = matrix_QN.shape
    kept: Floats = matrix_QN[np.arange(width) != column_Q[:, None]]
    return kept.reshape(count, width - 1)


def ranked_blocks(relevance_QN: Floats, score_QN: Floats, at: Sequence[int]) -> Iterator[tuple[slice, Floats, Floats]]:
    """Yield (rows, relevance_BN, score_BN) in blocks, columns by descending score, equal scores in column order.

    Raises ValueError if shapes differ, a rank in `at` is below 1 or a value is not finite.
    """
    if relevance_QN.ndim != 2 or relevance_QN.shape != score_QN.shape:
        raise ValueError(f"Relevance {relevance_QN.shape} and scores {score_QN.shape} must be matrices of equal shape.")
    count, width = score_QN.shape
    if too_low := [rank for rank in at if rank < 1]:
        raise ValueError(f"Ranks start at 1; got {too_low[0]}.")
    step = max(1, _VALUES_PER_BLOCK // max(1, width))
    for start in range(0, count if width else 0, step):
        rows = slice(start, start + step)
        relevance_BN, score_BN = _floats(relevance_QN[rows]), _floats(score_QN[rows])
        order_BN = np.argsort(-score_BN, axis=1, kind="stable")
        yield rows, np.take_along_axis(relevance_BN, order_BN, 1), np.take_along_axis(score_BN, order_BN, 1)


def _floats(value_BN: Floats) -> Floats:
    """Convert to floats of at least 32 bits, and check that they are finite."""
    value_BN = value_BN.astype(np.result_type(value_BN, np.float32), copy=False)
    if not np.isfinite(value_BN).all():
        raise ValueError("Similarities must be finite; some are NaN or infinite.")
    return value_BN
