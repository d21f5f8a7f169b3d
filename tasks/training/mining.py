"""Hard triplets of a pool of images (METHOD.md 5)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import csr_array
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
    query_Q = random.permutation(relevance.queries())[:queries]
    order = random.random((len(query_Q), relevance.index_NK.shape[1]))
    order[relevance.index_NK[query_Q] < 0] = 2  # padding comes last
    picked = np.argsort(order, axis=1, kind="stable")[:, :relevant]
    return _pool(query_Q, np.take_along_axis(relevance.index_NK[query_Q], picked, axis=1), limit)


def sample_any_pool(relevance: Relevance, queries: int, others: int, limit: int, random: np.random.Generator) -> Pool:
    """Random queries with any random images in the place of relevant ones: the sampler that failed (METHOD.md 5)."""
    query_Q = random.permutation(relevance.queries())[:queries]
    other_QR = random.integers(len(relevance.copy_N), size=(len(query_Q), others))
    other_QR[relevance.copy_N[other_QR] == relevance.copy_N[query_Q][:, None]] = -1
    return _pool(query_Q, other_QR, limit)


def _pool(query_Q: np.ndarray, relevant_QR: np.ndarray, limit: int) -> Pool:
    rows = np.concatenate([query_Q[:, None], relevant_QR], axis=1)
    row_U, first_seen = np.unique(rows, return_index=True)
    new_Q = np.bincount(first_seen[row_U >= 0] // rows.shape[1], minlength=len(rows))
    kept = max(1, int(np.searchsorted(np.cumsum(new_Q), limit, side="right")))
    row_P = np.unique(rows[:kept])
    return Pool(query_Q[:kept], relevant_QR[:kept], row_P[row_P >= 0])


@dataclass(frozen=True)
class Triplets:
    """All triplets of a pool whose loss is above 0, without listing them.

    For pair i, (query_I, relevant_I), they are the first active_I of hardest_LH[list_I], the non-relevant images by
    falling score. The pairs of a query follow one another.
    """

    query_I: np.ndarray
    relevant_I: np.ndarray
    list_I: np.ndarray
    active_I: np.ndarray
    hardest_LH: np.ndarray
    considered: int

    @property
    def count(self) -> int:
        """How many have loss > 0."""
        return int(self.active_I.sum())

    @property
    def active_share(self) -> float:
        """Their share of the triplets looked at."""
        return self.count / max(1, self.considered)

    def batches(self, batches: int, size: int, random: np.random.Generator, per_query: int = 1) -> Iterator[np.ndarray]:
        """triplet_T3 (query, relevant, non-relevant) in batches, drawn evenly, each triplet at most once.

        With `per_query` above 1 that many are drawn of each drawn triplet's query, so that they share images.
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
        """For each triplet drawn a group of `per_query` of its query, as far as that has them; by their places."""
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
    """For each (query, relevant) pair the `hardest` non-relevant images of the pool with the largest loss above 0.

    The pool's rows are embedded twice: as what queries, and as what is found (the same for images by images). For a
    fixed query the loss grows with the non-relevant image's score alone: one top-H a query serves all its pairs.
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


def mine_any(
    pool: Pool,
    query_PD: Tensor,
    found_PD: Tensor,
    relevance: Relevance,
    tfidf_NV: csr_array,
    hardest: int,
    margin: float,
) -> Triplets:
    """As `mine`, where every pool image with less caption similarity to the query than the other is non-relevant."""
    place_N = _places(pool, relevance)
    score_QP = query_PD[torch.from_numpy(place_N[pool.query_Q])] @ found_PD.T
    similarity_QP = torch.from_numpy((tfidf_NV[pool.query_Q] @ tfidf_NV[pool.row_P].T).toarray()).to(score_QP)
    similarity_QP[_copies(pool, relevance).to(score_QP.device)] = torch.inf  # more similar than any other
    positive_QR = _scores_of(score_QP, place_N, pool.relevant_QR)
    similarity_QR = _scores_of(similarity_QP, place_N, pool.relevant_QR)
    query, nth = np.nonzero(pool.relevant_QR >= 0)
    hard_IH, place_IH = _topk_below(score_QP[query], similarity_QP[query], similarity_QR[query, nth], hardest)
    needed_I = (margin - positive_QR[query, nth])[:, None].contiguous()
    return Triplets(
        query_I=pool.query_Q[query],
        relevant_I=pool.relevant_QR[query, nth],
        list_I=np.arange(len(query)),
        active_I=torch.searchsorted(-hard_IH, needed_I, side="left")[:, 0].cpu().numpy(),
        hardest_LH=pool.row_P[place_IH.cpu().numpy()],
        considered=int(torch.isfinite(hard_IH).sum()),
    )


def _topk_below(score_IP: Tensor, similarity_IP: Tensor, bound_I: Tensor, hardest: int) -> tuple[Tensor, Tensor]:
    below_IP = similarity_IP < bound_I[:, None]
    return score_IP.masked_fill(~below_IP, -torch.inf).topk(min(hardest, score_IP.shape[1]), dim=1)


def _places(pool: Pool, relevance: Relevance) -> np.ndarray:
    """place_N: where in the pool each train image is, −1 outside it."""
    place_N = np.full(len(relevance.index_NK), -1)
    place_N[pool.row_P] = np.arange(len(pool.row_P))
    return place_N


def _scores_of(score_QP: Tensor, place_N: np.ndarray, row_QR: np.ndarray) -> Tensor:
    """score_QR of images by their train rows; padding gets that of the first."""
    return score_QP.gather(1, torch.from_numpy(np.maximum(place_N[row_QR], 0)).to(score_QP.device))


def _copies(pool: Pool, relevance: Relevance) -> Tensor:
    """copy_QP: pool images that are the query itself or a byte copy of it."""
    return torch.from_numpy(relevance.copy_N[pool.query_Q][:, None] == relevance.copy_N[pool.row_P][None, :])


def _related(pool: Pool, relevance: Relevance, place_N: np.ndarray) -> Tensor:
    """related_QP: pool images that are the query itself, one of its relevant images, or a byte copy of it."""
    related_QP = _copies(pool, relevance)
    place_QK = np.where(relevance.index_NK[pool.query_Q] >= 0, place_N[relevance.index_NK[pool.query_Q]], -1)
    query, nth = np.nonzero(place_QK >= 0)
    related_QP[query, place_QK[query, nth]] = True
    return related_QP
