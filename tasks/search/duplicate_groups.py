"""Groups of near-duplicate images of an index, computed exactly, one block of pairs at a time."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tasks.search.ranking import Vectors, exact_scores, float32_scores

BLOCK_ROWS = 2048  # 16 MB of scores
PAIRS = 2**20  # collected before they are merged into groups

Pairs = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Duplicates:
    """Groups of rows that near-duplicate pairs connect, the largest first, equally large ones by their first row.

    For each row, `first_N` has the first row with the same bytes and `nearest_N` the most similar row that it forms a
    pair with: an exact copy if there is one, the first of equally similar rows, −1 if there is none. `score_N` has the
    cosine of the two.
    """

    groups: tuple[np.ndarray, ...]
    first_N: np.ndarray
    nearest_N: np.ndarray
    score_N: np.ndarray


def find_duplicates(
    embedding_ND: Vectors,
    digests_N: Sequence[str],
    threshold: float,
    on_step: Callable[[int], None] = lambda _: None,
) -> Duplicates:
    """Group images whose cosine is at least `threshold` or whose digests are equal.

    `embedding_ND`, of unit length, may be float16. Memory does not grow with the number of pairs.
    """
    count = len(embedding_ND)
    seen: dict[str, int] = {}
    first_N = np.array([seen.setdefault(digest, row) for row, digest in enumerate(digests_N)], np.int64)
    nearest_N, score_N = np.full(count, -1), np.full(count, -np.inf, np.float32)
    group_N, pending = first_N, 0
    left: list[np.ndarray] = []
    right: list[np.ndarray] = []
    for row_P, other_P, score_P in near_pairs(embedding_ND, first_N == np.arange(count), threshold, on_step):
        _keep_nearest(nearest_N, score_N, np.r_[row_P, other_P], np.r_[other_P, row_P], np.r_[score_P, score_P])
        left.append(row_P)
        right.append(other_P)
        pending += len(row_P)
        if pending >= PAIRS:
            group_N, left, right, pending = _merge_groups(group_N, left, right), [], [], 0
    group_N = _merge_groups(group_N, left, right)
    _assign_copies(nearest_N, score_N, first_N)
    return Duplicates(_groups(group_N), first_N, nearest_N, score_N)


def near_pairs(
    embedding_ND: Vectors, include_N: np.ndarray, threshold: float, on_step: Callable[[int], None]
) -> Iterator[Pairs]:
    """Yield (row_P, other_P, score_P), row < other, of pairs in `include_N` with a cosine of at least `threshold`."""
    for start in range(0, len(embedding_ND), BLOCK_ROWS):
        block_BD = embedding_ND[start : start + BLOCK_ROWS].astype(np.float32)
        for after in range(start, len(embedding_ND), BLOCK_ROWS):
            other_RD = embedding_ND[after : after + BLOCK_ROWS]
            rough_BR, error_B = float32_scores(block_BD, other_RD)
            rough_BR[:, ~include_N[after : after + BLOCK_ROWS]] = -np.inf
            near = np.flatnonzero(rough_BR >= threshold - error_B[:, None])
            row_C, other_C = np.divmod(near, len(other_RD))
            wanted_C = include_N[start + row_C] & (start + row_C < after + other_C)
            row_C, other_C = row_C[wanted_C], other_C[wanted_C]
            score_C = exact_scores(block_BD, other_RD, row_C, other_C)
            found_C = score_C >= np.float32(threshold)
            if found_C.any():
                yield start + row_C[found_C], after + other_C[found_C], score_C[found_C]
        on_step(len(block_BD))


def _keep_nearest(
    nearest_N: np.ndarray, score_N: np.ndarray, row_P: np.ndarray, other_P: np.ndarray, score_P: np.ndarray
) -> None:
    order = np.lexsort((other_P, -score_P, row_P))
    rows, starts = np.unique(row_P[order], return_index=True)
    others, scores = other_P[order][starts], score_P[order][starts]
    better = (scores > score_N[rows]) | ((scores == score_N[rows]) & (others < nearest_N[rows]))
    nearest_N[rows[better]], score_N[rows[better]] = others[better], scores[better]


def _merge_groups(group_N: np.ndarray, left: Sequence[np.ndarray], right: Sequence[np.ndarray]) -> np.ndarray:
    """Label each row with the first row of its connected component; its former label counts as a pair with it."""
    count = len(group_N)
    ends = np.concatenate([np.arange(count), *left]), np.concatenate([group_N, *right])
    labels_N: np.ndarray = connected_components(coo_array((np.ones(len(ends[0]), bool), ends), (count, count)), False)[
        1
    ]
    _, firsts_G, group_of_N = np.unique(labels_N, return_index=True, return_inverse=True)
    first_rows_N: np.ndarray = firsts_G[group_of_N]
    return first_rows_N


def _assign_copies(nearest_N: np.ndarray, score_N: np.ndarray, first_N: np.ndarray) -> None:
    """Link each copy to its first occurrence, and that to its first copy; cosine 1."""
    copies_C = np.flatnonzero(first_N != np.arange(len(first_N)))[::-1]
    nearest_N[copies_C], score_N[copies_C] = first_N[copies_C], 1
    nearest_N[first_N[copies_C]], score_N[first_N[copies_C]] = copies_C, 1  # written last: the first copy


def _groups(group_N: np.ndarray) -> tuple[np.ndarray, ...]:
    order = np.argsort(group_N, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(group_N[order])) + 1)
    return tuple(sorted((rows for rows in parts if len(rows) > 1), key=lambda rows: (-len(rows), rows[0])))
