"""How well an added word steers a search: do results show it and stay similar to the query (METHOD.md 6)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel, ConfigDict
from scipy.sparse import csr_array

from tasks.evaluation.bootstrap import percentile_interval, resample_queries
from tasks.metrics.ranked import Floats
from tasks.search.modifiers import move_queries

ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 8.0)
FREQUENCY = (0.02, 0.10)  # share of images with the word: distinctive, yet with enough images to find
PAIRS, TOP = 1000, 10


@dataclass(frozen=True)
class SteeredResults:
    """The top results of each pair at each α: share_PA with the word, and similarity_PA, mean s to the query."""

    share_PA: Floats
    similarity_PA: Floats


class SteeringPoint(BaseModel):
    """One α: the share of results with the word, and the share of the unsteered similarity that is kept, both 0–1."""

    model_config = ConfigDict(frozen=True)

    alpha: float
    share: float
    kept: float


class WordMetrics(BaseModel):
    """The share of the top 10 with an added word, 0–1: before adding it, and keeping 90 and 80 % of the similarity."""

    model_config = ConfigDict(frozen=True)

    pairs: int
    without: float
    without_interval: tuple[float, float]
    at_90: float
    at_90_interval: tuple[float, float]
    at_80: float
    at_80_interval: tuple[float, float]
    curve: tuple[SteeringPoint, ...]


def steering_words(model_tfidf_NV: csr_array, theta_VD: np.ndarray) -> np.ndarray:
    """Return word_W, the columns of words that 2–10 % of the images have and that have an embedding."""
    count_V = np.bincount(model_tfidf_NV.indices, minlength=model_tfidf_NV.shape[1])
    low, high = (bound * model_tfidf_NV.shape[0] for bound in FREQUENCY)
    return np.flatnonzero((count_V > 0) & (count_V >= low) & (count_V <= high) & theta_VD.any(axis=1))


def draw_pairs(
    model_tfidf_NV: csr_array, word_W: np.ndarray, *, seed: int, pairs: int = PAIRS
) -> tuple[np.ndarray, np.ndarray]:
    """Draw distinct seeded pairs of an image with captions and a word not in them → (query_P, word_P)."""
    query_Q = np.flatnonzero(np.diff(model_tfidf_NV.indptr))
    possible = len(query_Q) * len(word_W)
    drawn_P = np.random.default_rng(seed).choice(possible, min(pairs, possible), replace=False)
    query_P, word_P = query_Q[drawn_P // max(1, len(word_W))], word_W[drawn_P % max(1, len(word_W))]
    drawn = zip(query_P, word_P, strict=True)
    lacks_P = np.array([word not in model_tfidf_NV[[row]].indices for row, word in drawn], bool)
    return query_P[lacks_P], word_P[lacks_P]


def steer_pairs(
    embedding_ND: np.ndarray,
    theta_VD: np.ndarray,
    model_tfidf_NV: csr_array,
    tfidf_NV: csr_array,
    query_P: np.ndarray,
    word_P: np.ndarray,
    alphas: Sequence[float] = ALPHAS,
) -> SteeredResults:
    """Search by normalise(φ_q + α·θ_word) for each pair, without the query itself (METHOD.md 6).

    `model_tfidf_NV` has the columns of `theta_VD` (unit length) and shows which words an image's captions have;
    `tfidf_NV` gives s.
    """
    pair_P1 = np.arange(len(query_P))[:, None]
    has_word_PN = model_tfidf_NV.tocsc()[:, word_P].T.toarray() > 0
    similarity_PN = (tfidf_NV[query_P] @ tfidf_NV.T).toarray()
    top = min(TOP, len(embedding_ND) - 1)
    share, similarity = [], []
    for alpha in alphas:
        score_PN = move_queries(embedding_ND[query_P], theta_VD[word_P], alpha) @ embedding_ND.T
        score_PN[pair_P1, query_P[:, None]] = -np.inf
        top_PT = np.argpartition(-score_PN, top - 1, axis=1)[:, :top]
        share.append(has_word_PN[pair_P1, top_PT].mean(axis=1))
        similarity.append(similarity_PN[pair_P1, top_PT].mean(axis=1))
    return SteeredResults(np.stack(share, axis=1), np.stack(similarity, axis=1))


def share_at(share_A: Floats, similarity_A: Floats, kept: float) -> float:
    """Interpolate the share linearly where `kept` of the similarity at the first α remains.

    If every α keeps that much, it is the share at the last α; NaN if the first similarity is 0.
    """
    if similarity_A[0] <= 0:
        return np.nan
    kept_A = similarity_A / similarity_A[0]
    after = int(np.argmax(kept_A < kept))  # 0 if none is
    return float(np.interp(kept, kept_A[[after, after - 1]], share_A[[after, after - 1]]) if after else share_A[-1])


def measure_words(
    embedding_ND: np.ndarray, theta_VD: np.ndarray, model_tfidf_NV: csr_array, tfidf_NV: csr_array, *, seed: int
) -> WordMetrics | None:
    """Add a word that the query lacks, with rising α, for seeded pairs of query and word (METHOD.md 6).

    `model_tfidf_NV` and `tfidf_NV` are those of `steer_pairs`. Intervals are 95 % bootstraps over pairs. None if no
    pair can be drawn, or if no result shares a word with its query.
    """
    query_P, word_P = draw_pairs(model_tfidf_NV, steering_words(model_tfidf_NV, theta_VD), seed=seed)
    steered = steer_pairs(embedding_ND, theta_VD, model_tfidf_NV, tfidf_NV, query_P, word_P) if len(query_P) else None
    if steered is None or not steered.similarity_PA[:, 0].any():
        return None
    weight_BP = resample_queries(len(query_P), seed) / len(query_P)
    share_BA, similarity_BA = weight_BP @ steered.share_PA, weight_BP @ steered.similarity_PA
    share_A, similarity_A = steered.share_PA.mean(axis=0), steered.similarity_PA.mean(axis=0)

    def interval(kept: float) -> tuple[float, float]:
        resamples = zip(share_BA, similarity_BA, strict=True)
        return percentile_interval(np.array([share_at(*resample, kept) for resample in resamples]))

    kept_A: Floats = similarity_A / similarity_A[0]
    return WordMetrics(
        pairs=len(query_P),
        without=share_A[0],
        without_interval=percentile_interval(share_BA[:, 0]),
        at_90=share_at(share_A, similarity_A, 0.9),
        at_90_interval=interval(0.9),
        at_80=share_at(share_A, similarity_A, 0.8),
        at_80_interval=interval(0.8),
        curve=tuple(
            SteeringPoint(alpha=alpha, share=share, kept=kept)
            for alpha, share, kept in zip(ALPHAS, share_A, kept_A, strict=True)
        ),
    )
