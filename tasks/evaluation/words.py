"""How well words steer a joint model's searches, with intervals (METHOD.md 6)."""

import numpy as np
from pydantic import BaseModel, ConfigDict
from scipy.sparse import csr_array

from tasks.evaluation.bootstrap import percentile_interval, resample_queries
from tasks.metrics.ranking import Floats
from tasks.metrics.steering import ALPHAS, draw_pairs, share_at, steer_pairs, steering_words


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
