"""Hard triplets of a pool of images (METHOD.md 5)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class Relevance:
    """The k nearest train images of each train image by caption similarity, and which images share the same bytes.

    index_NK is padded with −1; copy_N numbers byte copies alike.
    """

    index_NK: np.ndarray
    copy_N: np.ndarray

    def queries(self) -> np.ndarray:
        """The images that have any relevant one."""
        queries: np.ndarray = np.flatnonzero(self.index_NK[:, 0] >= 0)
        return queries


@dataclass(frozen=True)
class Pool:
    """Some queries with some relevant images each (−1 padded), and all of them together as the pool's rows."""

    query_Q: np.ndarray
    relevant_QR: np.ndarray
    row_P: np.ndarray


def sample_pool(relevance: Relevance, queries: int, relevant: int, limit: int, random: np.random.Generator) -> Pool:
    """Random queries with random relevant images, together at most `limit` images: queries past it are left out."""
    candidates = relevance.queries()
    query_Q = random.permutation(candidates)[:queries]
    order = random.random((len(query_Q), relevance.index_NK.shape[1]))
    order[relevance.index_NK[query_Q] < 0] = 2  # padding comes last
    picked = np.argsort(order, axis=1, kind="stable")[:, :relevant]
    relevant_QR = np.take_along_axis(relevance.index_NK[query_Q], picked, axis=1)
    rows = np.concatenate([query_Q[:, None], relevant_QR], axis=1)
    row_U, first_seen = np.unique(rows, return_index=True)
    new_Q = np.bincount(first_seen[row_U >= 0] // rows.shape[1], minlength=len(rows))
    kept = max(1, int(np.searchsorted(np.cumsum(new_Q), limit, side="right")))
    row_P = np.unique(rows[:kept])
    return Pool(query_Q[:kept], relevant_QR[:kept], row_P[row_P >= 0])


@dataclass(frozen=True)
class Triplets:
    """All triplets of a pool whose loss is above 0, without listing them.

    For pair (q, r) they are the first active_QR[q, r] of hardest_QH[q], the non-relevant images by falling score.
    """

    query_Q: np.ndarray
    relevant_QR: np.ndarray
    hardest_QH: np.ndarray
    active_QR: np.ndarray
    considered: int

    @property
    def count(self) -> int:
        """How many have loss > 0."""
        return int(self.active_QR.sum())

    @property
    def active_share(self) -> float:
        """Their share of the triplets looked at."""
        return self.count / max(1, self.considered)

    def batches(self, batches: int, size: int, random: np.random.Generator) -> Iterator[np.ndarray]:
        """triplet_T3 (query, relevant, non-relevant) in batches, drawn evenly, each triplet at most once."""
        drawn = random.choice(self.count, min(self.count, batches * size), replace=False)
        ends = np.cumsum(self.active_QR.ravel())
        pair = np.searchsorted(ends, drawn, side="right")
        nth = drawn - (ends[pair] - self.active_QR.ravel()[pair])
        query = pair // self.active_QR.shape[1]
        triplet_T3 = np.stack(
            [self.query_Q[query], self.relevant_QR.ravel()[pair], self.hardest_QH[query, nth]], axis=1
        )
        for start in range(0, len(triplet_T3), size):
            yield triplet_T3[start : start + size]


def mine(pool: Pool, embedding_PD: Tensor, relevance: Relevance, hardest: int, margin: float) -> Triplets:
    """For each (query, relevant) pair the `hardest` non-relevant images of the pool with the largest loss above 0.

    For a fixed query the loss grows with the non-relevant image's score alone: one top-H a query serves all its pairs.
    """
    place_N = np.full(len(relevance.index_NK), -1)
    place_N[pool.row_P] = np.arange(len(pool.row_P))
    score_QP = embedding_PD[torch.from_numpy(place_N[pool.query_Q])] @ embedding_PD.T
    positive_QR = score_QP.gather(1, torch.from_numpy(np.maximum(place_N[pool.relevant_QR], 0)).to(score_QP.device))
    negative_QP = score_QP.masked_fill(_related(pool, relevance, place_N).to(score_QP.device), -torch.inf)
    hard_QH, place_QH = negative_QP.topk(min(hardest, len(pool.row_P)), dim=1)
    # margin − positive + negative > 0  ⇔  −negative < margin − positive, over rising −negative
    active_QR = torch.searchsorted(-hard_QH, (margin - positive_QR).contiguous(), side="left").cpu().numpy()
    return Triplets(
        query_Q=pool.query_Q,
        relevant_QR=pool.relevant_QR,
        hardest_QH=pool.row_P[place_QH.cpu().numpy()],
        active_QR=np.where(pool.relevant_QR >= 0, active_QR, 0),
        considered=int(((pool.relevant_QR >= 0).sum(1) * torch.isfinite(hard_QH).sum(1).cpu().numpy()).sum()),
    )


def _related(pool: Pool, relevance: Relevance, place_N: np.ndarray) -> Tensor:
    """related_QP: pool images that are the query itself, one of its relevant images, or a byte copy of it."""
    related_QP = relevance.copy_N[pool.query_Q][:, None] == relevance.copy_N[pool.row_P][None, :]
    place_QK = np.where(relevance.index_NK[pool.query_Q] >= 0, place_N[relevance.index_NK[pool.query_Q]], -1)
    query, nth = np.nonzero(place_QK >= 0)
    related_QP[query, place_QK[query, nth]] = True
    return torch.from_numpy(related_QP)
