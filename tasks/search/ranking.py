"""Exact nearest neighbours: cheap products select the candidates, exact products rank them."""

import os
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from threading import Barrier, Lock
from typing import Any, Protocol

import numpy as np
import torch

QUERIES, BLOCK_ROWS = 1024, 2048  # per block: 8 MB of scores fit into a cache
FEW, FEW_ROWS = 8, 2**20  # for so few queries, float16 products of larger blocks are faster than casting to float32
FILE_ROWS = 8192  # the same where vectors are read from a file
GROUP = 16  # scores represented by their maximum
LONGEST = 1.01  # upper bound of a stored vector's length: unit length, rounded to float16
VALUES = 2**18  # of candidates per step: the allocator keeps and reuses small arrays


_POOLS: dict[tuple[int, int], ThreadPoolExecutor] = {}  # by process and number of threads
_POOL_LOCK = Lock()


class Vectors(Protocol):
    """embedding_ND: an array, or a file of which rows are read when needed."""

    @property
    def dtype(self) -> Any:
        """float16 or float32."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any, /) -> Any: ...


def rank(query_BD: np.ndarray, embedding_ND: Vectors, top: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (row_BT, score_BT) of the largest cosines, best first, ties by row; T = min(top, N).

    A score is the product in float64, rounded to float32, so it depends only on the two vectors, never on other
    queries, blocks or threads. `embedding_ND`, of unit length, is read once per 1,024 queries, one block at a
    time.
    """
    top, threads = min(top, len(embedding_ND)), torch.get_num_threads()
    size = min(QUERIES, max(1, -(-len(query_BD) // threads)))
    groups = [query_BD[start : start + size] for start in range(0, max(1, len(query_BD)), size)]
    # Threads with their own queries never wait for one another, unlike threads that share a product.
    rank_group = partial(_rank, embedding_ND=embedding_ND, top=top)
    rows, scores = zip(*_pool(threads).map(rank_group, groups), strict=True)
    return np.concatenate(rows), np.concatenate(scores)


def _pool(threads: int) -> ThreadPoolExecutor:
    """Return the process's pool of single-threaded workers.

    A worker that limits torch to one thread also changes the default of later threads, which is restored here.
    """
    with _POOL_LOCK:
        if (os.getpid(), threads) not in _POOLS:
            pool, all_limited = ThreadPoolExecutor(threads, "rank"), Barrier(threads)

            def limit() -> None:
                torch.get_num_threads()  # reads the default now, so that no later operation does
                torch.set_num_threads(1)
                all_limited.wait()

            wait([pool.submit(limit) for _ in range(threads)])
            torch.set_num_threads(threads)
            _POOLS[os.getpid(), threads] = pool
        return _POOLS[os.getpid(), threads]


def _rank(query_BD: np.ndarray, embedding_ND: Vectors, top: int) -> tuple[np.ndarray, np.ndarray]:
    row_BT, score_BT = np.empty((len(query_BD), 0), np.int64), np.empty((len(query_BD), 0), np.float32)
    few = 0 < len(query_BD) <= FEW and embedding_ND.dtype == np.float16
    few_rows = FEW_ROWS if isinstance(embedding_ND, np.ndarray) else FILE_ROWS
    rows, rough_scores = (few_rows, float16_scores) if few else (BLOCK_ROWS, float32_scores)
    for start in range(0, len(embedding_ND) if top else 0, rows):
        block_RD = embedding_ND[start : start + rows]
        rough_BR, error_B = rough_scores(query_BD, block_RD)
        # The best so far have exact scores; those of the block's best are off by at most the error.
        least_B = np.maximum(_last_of(score_BT, top), _last_of(_maxima(rough_BR, top), top) - error_B)
        near = np.flatnonzero(rough_BR >= (least_B - error_B)[:, None])  # ten times faster than nonzero
        query_C, row_C = np.divmod(near, len(block_RD))
        score_C = exact_scores(query_BD, block_RD, query_C, row_C)
        row_BT, score_BT = _merge(row_BT, score_BT, query_C, row_C + start, score_C, top)
    return row_BT, score_BT


def float32_scores(query_BD: np.ndarray, block_RD: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (score_BR, error_B), the products and an upper bound of their error.

    A sum of D products in float32 is off by less than D · 2⁻²³ times both lengths, in any order of summation.
    """
    score_BR = torch.from_numpy(query_BD) @ torch.from_numpy(block_RD).float().T
    return score_BR.numpy(), _summing_error(query_BD)


def float16_scores(query_BD: np.ndarray, block_RD: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the same with queries and scores rounded to float16, by at most 2⁻¹¹; sums are still float32."""
    half_BD, block = torch.from_numpy(query_BD).half(), torch.from_numpy(block_RD)
    score_BR = torch.stack([torch.mv(block, half_D) for half_D in half_BD])
    rounded_B = np.linalg.norm(query_BD - half_BD.float().numpy(), axis=1)
    error_B = _summing_error(query_BD) + LONGEST * (rounded_B + 2.0**-11 * np.linalg.norm(query_BD, axis=1))
    return score_BR.float().numpy(), error_B


def _summing_error(query_BD: np.ndarray) -> np.ndarray:
    error_B: np.ndarray = LONGEST * (query_BD.shape[1] + 8) * 2.0**-23 * np.linalg.norm(query_BD, axis=1)
    return error_B


def _maxima(score_BR: np.ndarray, top: int) -> np.ndarray:
    """Return the maxima of groups of 16 scores, whose `top`-th best is never better than that of all scores."""
    width = score_BR.shape[1] // GROUP
    if width < top:
        return score_BR
    groups = torch.from_numpy(score_BR[:, : width * GROUP]).reshape(len(score_BR), GROUP, width)
    maxima_BG: np.ndarray = groups.amax(dim=1).numpy()
    return maxima_BG


def _last_of(score_BR: np.ndarray, top: int) -> np.ndarray:
    """Return the `top`-th best score of each query, −∞ if there are fewer."""
    if score_BR.shape[1] < top:
        return np.full(len(score_BR), -np.inf, np.float32)
    last_B: np.ndarray = np.partition(score_BR, -top, axis=1)[:, -top]
    return last_B


def exact_scores(query_BD: np.ndarray, block_RD: np.ndarray, query_C: np.ndarray, row_C: np.ndarray) -> np.ndarray:
    """Compute score_C of pairs of a query and a row: the product in float64, rounded to float32."""
    score_C = np.empty(len(row_C), np.float32)
    step = max(1, VALUES // max(1, query_BD.shape[1]))
    for start in range(0, len(row_C), step):
        part = slice(start, start + step)
        row_cD = torch.from_numpy(block_RD[row_C[part]]).double().numpy()  # numpy casts float16 slowly
        score_C[part] = np.vecdot(query_BD[query_C[part]].astype(np.float64), row_cD)
    return score_C


def _merge(
    row_BT: np.ndarray, score_BT: np.ndarray, query_C: np.ndarray, row_C: np.ndarray, score_C: np.ndarray, top: int
) -> tuple[np.ndarray, np.ndarray]:
    """Keep the best of the results so far and the candidates, which follow them in row order."""
    count, had = score_BT.shape
    queries = np.concatenate([np.repeat(np.arange(count), had), query_C])
    rows, scores = np.concatenate([row_BT.reshape(-1), row_C]), np.concatenate([score_BT.reshape(-1), score_C])
    order = np.lexsort((-scores, queries))  # stable: ties stay sorted by row
    first_B, end_B = np.searchsorted(queries[order], [np.arange(count), np.arange(count) + 1])
    width = min(top, int((end_B - first_B).min(initial=top)))
    best_BT = order[first_B[:, None] + np.arange(width)]
    return rows[best_BT], scores[best_BT]
