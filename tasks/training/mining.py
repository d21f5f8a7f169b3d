"""Mining of hard triplets in a pool of images (METHOD.md 5)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class Relevance:
    """The k nearest training images of each training image by caption similarity, and a number shared by byte copies.

    index_NK is padded with −1.
    """

    index_NK: np.ndarray
    copy_N: np.ndarray

    def queries(self) -> np.ndarray:
        """Return the images that have at least one relevant image."""
        queries: np.ndarray = np.flatnonzero(self.index_NK[:, 0] >= 0)
        return queries


@dataclass(frozen=True)
class Pool:
    """Queries with some relevant images each (padded with −1), and row_P, all of these images."""

    query_Q: np.ndarray
    relevant_QR: np.ndarray
    row_P: np.ndarray


def sample_pool(relevance: Relevance, queries: int, relevant: int, limit: int, random: np.random.Generator) -> Pool:
    """Sample queries and relevant images of each; queries that would exceed `limit` images in all are dropped."""
    query_Q = random.permutation(relevance.queries())[:queries]
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
    """All triplets of a pool whose loss is above 0, in compact form.

    Pair i, (query_I, relevant_I), forms triplets with the first active_I images of hardest_LH[list_I], the non-relevant
    images by descending score. The pairs of a query are contiguous.
    """

    query_I: np.ndarray
    relevant_I: np.ndarray
    list_I: np.ndarray
    active_I: np.ndarray
    hardest_LH: np.ndarray
    considered: int

    @property
    def count(self) -> int:
        """The number of triplets."""
        return int(self.active_I.sum())

    @property
    def active_share(self) -> float:
        """The share of all considered triplets whose loss is above 0."""
        return self.count / max(1, self.considered)

    def batches(self, batches: int, size: int, random: np.random.Generator, per_query: int = 1) -> Iterator[np.ndarray]:
        """Draw batches triplet_T3 (query, relevant, non-relevant), uniformly and without replacement.

        With `per_query` above 1, that many triplets of each drawn query follow one another, so that they share images.
        """
        wanted = min(self.count, batches * size)
        drawn = random.choice(self.count, -(-wanted // per_query), replace=False)
        ends = np.cumsum(self.active_I)
        if per_query > 1:
            drawn = self._of_their_queries(drawn, ends, per_query, random)[:wanted]
        pair = np.searchsorted(ends, drawn, side="right")
        nth = drawn - (ends[pair] - self.active_I[pair])
        nonrelevant = self.hardest_LH[self.list_I[pair], nth]
        triplet_T3 = np.stack([self.query_I[pair], self.relevant_I[pair], nonrelevant], axis=1)
        for start in range(0, len(triplet_T3), size):
            yield triplet_T3[start : start + size]

    def _of_their_queries(
        self, drawn: np.ndarray, end_I: np.ndarray, per_query: int, random: np.random.Generator
    ) -> np.ndarray:
        """Replace each drawn triplet by a group of up to `per_query` triplets of its query; returns their positions."""
        groups: list[np.ndarray] = []
        pair = np.searchsorted(end_I, drawn, side="right")
        for query, times in zip(*np.unique(self.query_I[pair], return_counts=True), strict=True):
            own = np.flatnonzero(self.query_I == query)
            start, end = end_I[own[0]] - self.active_I[own[0]], end_I[own[-1]]
            places = start + random.choice(end - start, min(times * per_query, end - start), replace=False)
            groups += np.split(places, range(per_query, len(places), per_query))
        order = random.permutation(len(groups))
        return np.concatenate([np.empty(0, int), *(groups[group] for group in order)])


def mine(pool: Pool, query_PD: Tensor, found_PD: Tensor, relevance: Relevance, hardest: int, margin: float) -> Triplets:
    """Find for each (query, relevant) pair the `hardest` non-relevant images of the pool with the largest loss > 0.

    The pool has two embeddings, as queries and as images to be found; they are the same for (V,V). For a fixed query
    the loss depends on the non-relevant image's score alone, so that one top-H per query serves all its pairs.
    """
    place_N = _places(pool, relevance)
    score_QP = query_PD[torch.from_numpy(place_N[pool.query_Q])] @ found_PD.T
    positive_QR = _scores_of(score_QP, place_N, pool.relevant_QR)
    score_QP.masked_fill_(_related(pool, relevance, place_N).to(score_QP.device), -torch.inf)
    hard_QH, place_QH = score_QP.topk(min(hardest, len(pool.row_P)), dim=1)
    query, nth = np.nonzero(pool.relevant_QR >= 0)
    # margin − positive + negative > 0  ⇔  −negative < margin − positive, over rising −negative
    active_QR = torch.searchsorted(-hard_QH, (margin - positive_QR).contiguous(), side="left").cpu().numpy()
    return Triplets(
        query_I=pool.query_Q[query],
        relevant_I=pool.relevant_QR[query, nth],
        list_I=query,
        active_I=active_QR[query, nth],
        hardest_LH=pool.row_P[place_QH.cpu().numpy()],
        considered=int(torch.isfinite(hard_QH).sum(1).cpu().numpy()[query].sum()),
    )


def _places(pool: Pool, relevance: Relevance) -> np.ndarray:
    """Return place_N: the position in the pool of each training image, −1 if it is not in the pool."""
    place_N = np.full(len(relevance.index_NK), -1)
    place_N[pool.row_P] = np.arange(len(pool.row_P))
    return place_N


def _scores_of(score_QP: Tensor, place_N: np.ndarray, row_QR: np.ndarray) -> Tensor:
    """Return score_QR of images given by their training rows; padding gets the first image's."""
    return score_QP.gather(1, torch.from_numpy(np.maximum(place_N[row_QR], 0)).to(score_QP.device))


def _related(pool: Pool, relevance: Relevance, place_N: np.ndarray) -> Tensor:
    """Return related_QP: whether a pool image is the query, a byte copy of it, or relevant to it."""
    related_QP = torch.from_numpy(relevance.copy_N[pool.query_Q][:, None] == relevance.copy_N[pool.row_P])
    place_QK = np.where(relevance.index_NK[pool.query_Q] >= 0, place_N[relevance.index_NK[pool.query_Q]], -1)
    query, nth = np.nonzero(place_QK >= 0)
    related_QP[query, place_QK[query, nth]] = True
    return related_QP
