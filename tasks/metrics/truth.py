"""The ground truth of a split: the caption similarities of its queries to all its other images (METHOD.md 2, 6)."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from tasks.errors import InputError
from tasks.metrics.curves import NDCG_AT, cut_ranks, log_auc, mean_curve
from tasks.metrics.ndcg import ndcg
from tasks.metrics.ranked import drop_self

QUERIES = 1000


@dataclass(frozen=True)
class Truth:
    """The rows query_Q of the queries, and relevance_QM, M = N − 1: s to the split's other images in id order."""

    query_Q: np.ndarray
    relevance_QM: np.ndarray
    without_stems: int  # images that cannot be queries because no stem of their captions has a weight

    def scores(self, embedding_ND: np.ndarray, as_query_ND: np.ndarray | None = None) -> np.ndarray:
        """Compute score_QM, the dot products of the queries' embeddings with those of the other images.

        `as_query_ND` are the images embedded as queries, if that differs from their embedding as search results.
        """
        as_query_ND = embedding_ND if as_query_ND is None else as_query_ND
        return drop_self(as_query_ND[self.query_Q] @ embedding_ND.T, self.query_Q)

    def ndcg_auc(self, embedding_ND: np.ndarray) -> float:
        """Compute the NDCG AUC, 0–100, of embeddings of the split's images in id order (METHOD.md 6)."""
        at = cut_ranks(NDCG_AT, self.relevance_QM.shape[1])
        return float(log_auc(mean_curve(ndcg(self.relevance_QM, self.scores(embedding_ND), at)), at))

    def query_aucs(self, embedding_ND: np.ndarray) -> np.ndarray:
        """Compute auc_Q, the NDCG AUC of each query, NaN without any relevant image; otherwise as `ndcg_auc`."""
        at = cut_ranks(NDCG_AT, self.relevance_QM.shape[1])
        return log_auc(ndcg(self.relevance_QM, self.scores(embedding_ND), at), at)


def make_truth(tfidf_NV: csr_array, *, seed: int = 0, queries: int = QUERIES) -> Truth:
    """Choose up to `queries` queries of a split by `seed`; images without any weighted stem cannot be queries.

    Raises InputError if no two images' captions share a stem.
    """
    query_Q, without_stems = draw_queries(tfidf_NV, seed=seed, queries=queries)
    relevance_QM = drop_self((tfidf_NV[query_Q] @ tfidf_NV.T).toarray(), query_Q)
    if not (relevance_QM > 0).any():
        raise InputError("No two images of this split share a word of the training captions; check the captions.")
    return Truth(query_Q, relevance_QM, without_stems)


def draw_queries(tfidf_NV: csr_array, *, seed: int = 0, queries: int = QUERIES) -> tuple[np.ndarray, int]:
    """Draw up to `queries` seeded images with a weighted stem → (query_Q, number of images without one)."""
    eligible = np.flatnonzero(np.diff(tfidf_NV.indptr) > 0)
    query_Q = np.sort(np.random.default_rng(seed).permutation(eligible)[:queries])
    return query_Q, tfidf_NV.shape[0] - len(eligible)
