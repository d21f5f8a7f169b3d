"""The nearest images of a query, exactly: cheap products tell which may be among the best, exact ones decide."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import torch

QUERIES, BLOCK_ROWS = 1024, 2048  # at a time: 8 MB of scores stay in a cache
FEW, FEW_ROWS = 8, 2**20  # up to so many queries float16 products, of more rows, are quicker than casting to float32
GROUP = 16  # scores of which the best stands for all
LONGEST = 1.01  # no stored vector is longer: unit length, in float16
VALUES = 2**18  # of candidates at a time: small arrays are not given back to the system


def rank(query_BD: np.ndarray, embedding_ND: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
    """(row_BT, score_BT): the rows with the largest cosine, best first, equal scores by row; T = min(top, N).

    A score is the product in float64, rounded to float32: it depends on the two vectors alone, not on the other
    queries, the blocks or the threads. `embedding_ND`, of unit length, may be a float16 memory map: it is read once
    for every 1,024 queries, a block at a time.
    """
    top, threads = min(top, len(embedding_ND)), torch.get_num_threads()
    size = min(QUERIES, max(1, -(-len(query_BD) // threads)))
    groups = [query_BD[start : start + size] for start in range(0, max(1, len(query_BD)), size)]
    # Threads with queries of their own never wait for one another, as those that share a product do.
    with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        rows, scores = zip(*pool.map(partial(_rank, embedding_ND=embedding_ND, top=top), groups), strict=True)
    return np.concatenate(rows), np.concatenate(scores)


def _rank(query_BD: np.ndarray, embedding_ND: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
    row_BT, score_BT = np.empty((len(query_BD), 0), np.int64), np.empty((len(query_BD), 0), np.float32)
    few = 0 < len(query_BD) <= FEW and embedding_ND.dtype == np.float16
    rows, rough_scores = (FEW_ROWS, float16_scores) if few else (BLOCK_ROWS, float32_scores)
    for start in range(0, len(embedding_ND) if top else 0, rows):
        block_RD = embedding_ND[start : start + rows]
        rough_BR, error_B = rough_scores(query_BD, block_RD)
        # The best so far have exact scores; of the block's own best the rough ones are this far off at most.
        least_B = np.maximum(_last_of(score_BT, top), _last_of(_maxima(rough_BR, top), top) - error_B)
        near = np.flatnonzero(rough_BR >= (least_B - error_B)[:, None])  # ten times as quick as nonzero
        query_C, row_C = np.divmod(near, len(block_RD))
        score_C = exact_scores(query_BD, block_RD, query_C, row_C)
        row_BT, score_BT = _merge(row_BT, score_BT, query_C, row_C + start, score_C, top)
    return row_BT, score_BT


def float32_scores(query_BD: np.ndarray, block_RD: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(score_BR, error_B): products, and how far at most each is from the exact one.

    A sum of D products in float32 is off by less than D · 2⁻²³ of both lengths, in whichever order it is taken.
    """
    score_BR = torch.from_numpy(query_BD) @ torch.from_numpy(block_RD).float().T
    return score_BR.numpy(), _summing_error(query_BD)


def float16_scores(query_BD: np.ndarray, block_RD: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same of queries rounded to float16 and scores rounded to it, by 2⁻¹¹ at most; sums are still float32."""
    half_BD, block = torch.from_numpy(query_BD).half(), torch.from_numpy(block_RD)
    score_BR = torch.stack([torch.mv(block, half_D) for half_D in half_BD])
    rounded_B = np.linalg.norm(query_BD - half_BD.float().numpy(), axis=1)
    error_B = _summing_error(query_BD) + LONGEST * (rounded_B + 2.0**-11 * np.linalg.norm(query_BD, axis=1))
    return score_BR.float().numpy(), error_B


def _summing_error(query_BD: np.ndarray) -> np.ndarray:
    error_B: np.ndarray = LONGEST * (query_BD.shape[1] + 8) * 2.0**-23 * np.linalg.norm(query_BD, axis=1)
    return error_B


def _maxima(score_BR: np.ndarray, top: int) -> np.ndarray:
    """Scores of which the `top`-th best is no better than the `top`-th best of all: the best of every 16."""
    width = score_BR.shape[1] // GROUP
    if width < top:
        return score_BR
    groups = torch.from_numpy(score_BR[:, : width * GROUP]).reshape(len(score_BR), GROUP, width)
    maxima_BG: np.ndarray = groups.amax(dim=1).numpy()
    return maxima_BG


def _last_of(score_BR: np.ndarray, top: int) -> np.ndarray:
    """The `top`-th best of each query, −∞ where there are fewer."""
    if score_BR.shape[1] < top:
        return np.full(len(score_BR), -np.inf, np.float32)
    last_B: np.ndarray = np.partition(score_BR, -top, axis=1)[:, -top]
    return last_B


def exact_scores(query_BD: np.ndarray, block_RD: np.ndarray, query_C: np.ndarray, row_C: np.ndarray) -> np.ndarray:
    """score_C of pairs of a query and a row: the product in float64, rounded to float32."""
    score_C = np.empty(len(row_C), np.float32)
    step = max(1, VALUES // max(1, query_BD.shape[1]))
    for start in range(0, len(row_C), step):
        part = slice(start, start + step)
        row_cD = torch.from_numpy(block_RD[row_C[part]]).double().numpy()  # numpy casts halves slowly
        score_C[part] = np.vecdot(query_BD[query_C[part]].astype(np.float64), row_cD)
    return score_C


def _merge(
    row_BT: np.ndarray, score_BT: np.ndarray, query_C: np.ndarray, row_C: np.ndarray, score_C: np.ndarray, top: int
) -> tuple[np.ndarray, np.ndarray]:
    """The best of those so far and of the candidates, which come after them in row order."""
    count, had = score_BT.shape
    queries = np.concatenate([np.repeat(np.arange(count), had), query_C])
    rows, scores = np.concatenate([row_BT.reshape(-1), row_C]), np.concatenate([score_BT.reshape(-1), score_C])
    order = np.lexsort((-scores, queries))  # stable: equal scores stay by row
    first_B, end_B = np.searchsorted(queries[order], [np.arange(count), np.arange(count) + 1])
    width = min(top, int((end_B - first_B).min(initial=top)))
    best_BT = order[first_B[:, None] + np.arange(width)]
    return rows[best_BT], scores[best_BT]
