"""Exact nearest neighbours by caption similarity, s(a, b) = t_a · t_b (METHOD.md 2), in blocks of rows."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import csr_array, csr_matrix
from sparse_dot_topn import sp_matmul_topn

if TYPE_CHECKING:
    from distributed import Client

Block = tuple[csr_matrix, np.ndarray]
Neighbours = tuple[np.ndarray, np.ndarray]

BLOCK_ROWS = 512
SLACK = 8  # columns kept beyond k, so that few rows have to be computed again in full


def neighbour_count(images: int, most: int = 32) -> int:
    """Return k = min(most, max(1, ⌊(n − 1)/4⌋)) for n captioned training images (METHOD.md 2)."""
    return min(most, max(1, (images - 1) // 4))


def nearest_neighbours(
    tfidf_csr: csr_array,
    k: int,
    *,
    copies: np.ndarray | None = None,
    client: "Client | None" = None,
    block_rows: int = BLOCK_ROWS,
    on_step: Callable[[int], None] = lambda _: None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return (index_NK, similarity_NK): for each row the k rows with the largest s > 0, best first, ties by row order.

    A row is never its own neighbour, nor is a row with the same number in `copies` (byte copies of an image). Rows with
    fewer than k neighbours are padded with −1 and 0. The result does not depend on the block size or the client, and
    the N × N matrix is never in memory.
    """
    groups_N = np.arange(tfidf_csr.shape[0]) if copies is None else np.asarray(copies)
    tfidf_NV = csr_matrix(tfidf_csr)
    transposed_VN = csr_matrix(tfidf_NV.T)
    starts = range(0, tfidf_NV.shape[0], block_rows)
    blocks = ((tfidf_NV[start : start + block_rows], groups_N[start : start + block_rows]) for start in starts)
    index_NK = np.full((tfidf_csr.shape[0], k), -1, np.int64)
    similarity_NK = np.zeros((tfidf_csr.shape[0], k))
    compute = _compute_locally if client is None else partial(_compute_on_cluster, client)
    results = compute(blocks, transposed_VN, groups_N, k)
    for start, (index_BK, similarity_BK) in zip(starts, results, strict=True):
        index_NK[start : start + len(index_BK)] = index_BK
        similarity_NK[start : start + len(index_BK)] = similarity_BK
        on_step(len(index_BK))
    return index_NK, similarity_NK


def neighbours_of_block(
    block_BV: csr_matrix, groups_B: np.ndarray, transposed_VN: csr_matrix, groups_N: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return (index_BK, similarity_BK) of one block of rows; see `nearest_neighbours`."""
    index_BK = np.full((block_BV.shape[0], k), -1, np.int64)
    similarity_BK = np.zeros((block_BV.shape[0], k))
    top = k + SLACK
    similarity_BN = sp_matmul_topn(block_BV, transposed_VN, top_n=top, threshold=0.0)
    for row, group in enumerate(groups_B):
        columns, values = _allowed(similarity_BN, row, groups_N, group)
        cut_short = np.diff(similarity_BN.indptr[row : row + 2]) == top
        if cut_short and (len(values) < k or np.partition(values, -k)[-k] == values.min()):
            # Copies or ties reach past the cut, so the first k are not among the kept columns for certain.
            columns, values = _allowed(block_BV[[row]] @ transposed_VN, 0, groups_N, group)
        best = np.lexsort((columns, -values))[:k]
        index_BK[row, : len(best)] = columns[best]
        similarity_BK[row, : len(best)] = values[best]
    return index_BK, similarity_BK


def _allowed(similarity: csr_matrix, row: int, groups_N: np.ndarray, group: int) -> tuple[np.ndarray, np.ndarray]:
    part = slice(similarity.indptr[row], similarity.indptr[row + 1])
    columns, values = similarity.indices[part], similarity.data[part]
    allowed = (groups_N[columns] != group) & (values > 0)
    return columns[allowed], values[allowed]


def _compute_locally(
    blocks: Iterable[Block], transposed_VN: csr_matrix, groups_N: np.ndarray, k: int
) -> Iterator[Neighbours]:
    for block_BV, groups_B in blocks:
        yield neighbours_of_block(block_BV, groups_B, transposed_VN, groups_N, k)


def _compute_on_cluster(
    client: "Client", blocks: Iterable[Block], transposed_VN: csr_matrix, groups_N: np.ndarray, k: int
) -> Iterator[Neighbours]:
    """Send the matrix to every worker once and each block to a free one; yield results in the order of the blocks.

    With hash=False the matrix gets a unique key, so that an earlier run releasing equal data cannot remove it.
    """
    scattered = client.scatter([transposed_VN, groups_N], broadcast=True, hash=False)
    futures = deque(client.submit(neighbours_of_block, *block, *scattered, k, pure=False) for block in blocks)
    while futures:
        yield futures.popleft().result()


def neighbour_table(image_ids: pa.ChunkedArray, index_NK: np.ndarray, similarity_NK: np.ndarray) -> pa.Table:
    """Return a table of image_id, neighbours list<string> and similarities list<float>, best first."""
    found_NK = index_NK >= 0
    offsets = pa.array(np.concatenate([[0], np.cumsum(found_NK.sum(1))]), pa.int32())
    return pa.table(
        {
            "image_id": image_ids,
            "neighbours": pa.ListArray.from_arrays(offsets, image_ids.combine_chunks().take(index_NK[found_NK])),
            "similarities": pa.ListArray.from_arrays(offsets, pa.array(similarity_NK[found_NK], pa.float32())),
        }
    )


def neighbours_from(table: pa.Table) -> np.ndarray:
    """Return index_NK of a table made by `neighbour_table`, padded with −1 to its longest list."""
    lists = table["neighbours"].combine_chunks()
    count_N = lists.value_lengths().to_numpy()
    k = max(1, int(count_N.max()))
    index_NK = np.full((table.num_rows, k), -1, np.int64)
    indices = pc.index_in(lists.flatten(), table["image_id"].combine_chunks())
    index_NK[np.arange(k) < count_N[:, None]] = indices.to_numpy()
    return index_NK
