"""How well an added word steers a search: do the results show it, are they still like the query (METHOD.md 6)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel, ConfigDict
from scipy.sparse import csr_array

from tasks.evaluation.bootstrap import percentile_interval, resample_queries
from tasks.metrics.ranked import Floats
from tasks.search.modifiers import moved

ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 8.0)
HELD_BY = (0.02, 0.10)  # of the images: words that tell them apart and still have enough to find
PAIRS, TOP = 1000, 10


@dataclass(frozen=True)
class Steered:
    """Of each pair's top at each α: share_PA of it that holds the word, similarity_PA, its mean s to the query."""

    share_PA: Floats
    similarity_PA: Floats


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


class Step(BaseModel):
    """One α of the ladder: the share that holds the word, and what is kept of the similarity without it, 0–1."""

    model_config = ConfigDict(frozen=True)

    alpha: float
    share: float
    kept: float


class WordFigures(BaseModel):
    """The share of the top 10 that holds an added word, 0–1: without adding it, and at 90 and 80 % of similarity."""

    model_config = ConfigDict(frozen=True)

    pairs: int
    without: float
    without_interval: tuple[float, float]
    at_90: float
    at_90_interval: tuple[float, float]
    at_80: float
    at_80_interval: tuple[float, float]
    curve: tuple[Step, ...]


def measure_words(
    embedding_ND: np.ndarray, theta_VD: np.ndarray, held_NV: csr_array, tfidf_NV: csr_array, *, seed: int
) -> WordFigures | None:
    """Seeded pairs of a query and a word that it lacks, the word added by a ladder of α, METHOD.md 6.

    `held_NV` says which words an image's captions hold, in the columns of `theta_VD`; `tfidf_NV` gives s. Intervals
    are 95 % bootstraps over pairs. None where no pair can be drawn, or the images found share no word with the query.
    """
    query_P, word_P = draw_pairs(held_NV, steering_words(held_NV, theta_VD), seed=seed)
    steered = steer_pairs(embedding_ND, theta_VD, held_NV, tfidf_NV, query_P, word_P) if len(query_P) else None
    if steered is None or not steered.similarity_PA[:, 0].any():
        return None
    weight_BP = resample_queries(len(query_P), seed) / len(query_P)
    share_BA, similarity_BA = weight_BP @ steered.share_PA, weight_BP @ steered.similarity_PA
    share_A, similarity_A = steered.share_PA.mean(axis=0), steered.similarity_PA.mean(axis=0)

    def interval(kept: float) -> tuple[float, float]:
        pairs_B = zip(share_BA, similarity_BA, strict=True)
        return percentile_interval(np.array([share_at(*resample, kept) for resample in pairs_B]))

    kept_A: Floats = similarity_A / similarity_A[0]
    return WordFigures(
        pairs=len(query_P),
        without=share_A[0],
        without_interval=percentile_interval(share_BA[:, 0]),
        at_90=share_at(share_A, similarity_A, 0.9),
        at_90_interval=interval(0.9),
        at_80=share_at(share_A, similarity_A, 0.8),
        at_80_interval=interval(0.8),
        curve=tuple(
            Step(alpha=alpha, share=share, kept=kept)
            for alpha, share, kept in zip(ALPHAS, share_A, kept_A, strict=True)
        ),
    )
