"""The nearest images of a query, exactly."""

import numpy as np

BLOCK_ROWS = 16_384


def rank(query_BD: np.ndarray, embedding_ND: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
    """(row_BT, score_BT): the rows with the largest cosine, best first, equal scores by row; T = min(top, N).

    `embedding_ND` may be a float16 memory map: it is read once, a block at a time, and computed with in float32.
    """
    top = min(top, len(embedding_ND))
    score_BN = np.empty((len(query_BD), len(embedding_ND)), np.float32)
    for start in range(0, len(embedding_ND), BLOCK_ROWS):
        block_RD = embedding_ND[start : start + BLOCK_ROWS].astype(np.float32)
        score_BN[:, start : start + BLOCK_ROWS] = query_BD @ block_RD.T
    row_BT = np.stack([_best(score_N, top) for score_N in score_BN])
    return row_BT, np.take_along_axis(score_BN, row_BT, axis=1)


def _best(score_N: np.ndarray, top: int) -> np.ndarray:
    """Rows of the best scores, equal ones by row: whatever ties with the last that fits is looked at."""
    if top == 0:
        return np.empty(0, np.int64)
    least = np.partition(score_N, -top)[-top]
    rows = np.flatnonzero(score_N >= least)
    best: np.ndarray = rows[np.argsort(-score_N[rows], kind="stable")][:top]
    return best
