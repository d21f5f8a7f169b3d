"""How well an added word steers a search: do the images found hold it, are they still like the query (METHOD.md 6)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from tasks.metrics.ranking import Floats

ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 8.0)
HELD_BY = (0.02, 0.10)  # of the images: words that tell them apart and still have enough to find
PAIRS, TOP = 1000, 10


@dataclass(frozen=True)
class Steered:
    """Of each pair's top at each α: share_PA of it that holds the word, similarity_PA, its mean s to the query."""

    share_PA: Floats
    similarity_PA: Floats


def moved(start_PD: np.ndarray, theta_PD: np.ndarray, alpha: float = 1.0) -> np.ndarray:
    """normalise(φ + α·θ) of each row, unit length; a row whose θ is 0 stays where it is (METHOD.md 9)."""
    sum_PD = start_PD + alpha * theta_PD
    unit_PD: np.ndarray = sum_PD / np.maximum(np.linalg.norm(sum_PD, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return unit_PD


def steering_words(held_NV: csr_array, theta_VD: np.ndarray) -> np.ndarray:
    """word_W: the columns of words that 2–10 % of the images hold and that have a place among the embeddings."""
    count_V = np.bincount(held_NV.indices, minlength=held_NV.shape[1])
    low, high = (bound * held_NV.shape[0] for bound in HELD_BY)
    return np.flatnonzero((count_V > 0) & (count_V >= low) & (count_V <= high) & theta_VD.any(axis=1))


def draw_pairs(
    held_NV: csr_array, word_W: np.ndarray, *, seed: int, pairs: int = PAIRS
) -> tuple[np.ndarray, np.ndarray]:
    """(query_P, word_P): seeded pairs, each once, of an image with captions and a word that these do not hold."""
    asking_Q = np.flatnonzero(np.diff(held_NV.indptr))
    possible = len(asking_Q) * len(word_W)
    drawn_P = np.random.default_rng(seed).choice(possible, min(pairs, possible), replace=False)
    query_P, word_P = asking_Q[drawn_P // max(1, len(word_W))], word_W[drawn_P % max(1, len(word_W))]
    lacks_P = np.array([word not in held_NV[[row]].indices for row, word in zip(query_P, word_P, strict=True)], bool)
    return query_P[lacks_P], word_P[lacks_P]


def steer_pairs(
    embedding_ND: np.ndarray,
    theta_VD: np.ndarray,
    held_NV: csr_array,
    tfidf_NV: csr_array,
    query_P: np.ndarray,
    word_P: np.ndarray,
    alphas: Sequence[float] = ALPHAS,
) -> Steered:
    """Search by normalise(φ_q + α·θ_word) for each pair, the query itself left out (METHOD.md 6).

    `held_NV` says which words an image's captions hold, in the columns of `theta_VD` (unit length); `tfidf_NV` gives s.
    """
    pair_P1 = np.arange(len(query_P))[:, None]
    holds_PN = held_NV.tocsc()[:, word_P].T.toarray() > 0
    similarity_PN = (tfidf_NV[query_P] @ tfidf_NV.T).toarray()
    top = min(TOP, len(embedding_ND) - 1)
    share, similarity = [], []
    for alpha in alphas:
        score_PN = moved(embedding_ND[query_P], theta_VD[word_P], alpha) @ embedding_ND.T
        score_PN[pair_P1, query_P[:, None]] = -np.inf
        top_PT = np.argpartition(-score_PN, top - 1, axis=1)[:, :top]
        share.append(holds_PN[pair_P1, top_PT].mean(axis=1))
        similarity.append(similarity_PN[pair_P1, top_PT].mean(axis=1))
    return Steered(np.stack(share, axis=1), np.stack(similarity, axis=1))


def share_at(share_A: Floats, similarity_A: Floats, kept: float) -> float:
    """The share where `kept` of the similarity at the first α is left, linear between the αs around it.

    Where so much is left at every α it is the last one's; NaN where there is no similarity to keep.
    """
    if similarity_A[0] <= 0:
        return np.nan
    kept_A = similarity_A / similarity_A[0]
    after = int(np.argmax(kept_A < kept))  # 0 where none is
    return float(np.interp(kept, kept_A[[after, after - 1]], share_A[[after, after - 1]]) if after else share_A[-1])
