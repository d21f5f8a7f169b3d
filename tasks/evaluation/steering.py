"""How well an added word steers a search: do results show it and stay similar to the query (METHOD.md 6)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from pydantic import BaseModel, ConfigDict
from scipy.sparse import csr_array
from scipy.stats import t as student

from tasks.evaluation.jackknife import GROUPS, draw_groups, jackknife_variance
from tasks.evaluation.rankings import VALUES_PER_BLOCK
from tasks.metrics.ranked import Floats
from tasks.search.modifiers import steer_queries

ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 8.0)
FREQUENCY = (0.02, 0.10)  # share of images with the word: distinctive, yet with enough images to find
PAIRS, TOP = 1000, 10
DEPTH = 30  # results kept per search: without a few of them, TOP are left


@dataclass(frozen=True)
class SteeredResults:
    """The first K results of each pair at each α: their rows, whether they have the word, and their s to the query."""

    row_PAK: np.ndarray
    has_word_PAK: np.ndarray
    similarity_PAK: np.ndarray

    def top(self, kept_PAK: np.ndarray | None = None) -> tuple[Floats, Floats]:
        """Average the first TOP results → (share_PA with the word, similarity_PA); with kept_PAK, of those kept."""
        kept_PAK = np.ones(self.row_PAK.shape, bool) if kept_PAK is None else kept_PAK
        first_PAK = kept_PAK & (np.cumsum(kept_PAK, axis=2) <= TOP)
        count_PA = np.maximum(first_PAK.sum(axis=2), 1)
        share_PA, similarity_PA = (
            np.where(first_PAK, each_PAK, 0).sum(axis=2) / count_PA
            for each_PAK in (self.has_word_PAK, self.similarity_PAK)
        )
        return share_PA, similarity_PA


class SteeringPoint(BaseModel):
    """One α: the share of results with the word, and the share of the unsteered similarity that is kept, both 0–1."""

    model_config = ConfigDict(frozen=True)

    alpha: float
    share: float
    kept: float


class WordMetrics(BaseModel):
    """The share of the top 10 with an added word, 0–1: before adding it, and keeping 90 and 80% of the similarity."""

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
    """Return word_W, the columns of words that 2–10% of the images have and that have an embedding."""
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
    `tfidf_NV` gives s. Scores are computed for a block of pairs at a time.
    """
    images = len(embedding_ND)
    has_word_VN = model_tfidf_NV.T.tocsr()
    step = max(1, VALUES_PER_BLOCK // images)
    depth = min(DEPTH, images - 1)
    shape = len(query_P), len(alphas), depth
    row_PAK, has_word_PAK = np.empty(shape, np.int32), np.empty(shape, bool)
    similarity_PAK = np.empty(shape, np.float32)
    for start in range(0, len(query_P), step):
        block = slice(start, start + step)
        query_B, word_B = query_P[block], word_P[block]
        has_word_BN = has_word_VN[word_B].toarray() > 0
        similarity_BN = (tfidf_NV[query_B] @ tfidf_NV.T).toarray()
        for place, alpha in enumerate(alphas):
            score_BN = steer_queries(embedding_ND[query_B], theta_VD[word_B], alpha) @ embedding_ND.T
            score_BN[np.arange(len(query_B)), query_B] = -np.inf
            row_BK = _first_columns(score_BN, depth)
            row_PAK[block, place] = row_BK
            has_word_PAK[block, place] = np.take_along_axis(has_word_BN, row_BK, axis=1)
            similarity_PAK[block, place] = np.take_along_axis(similarity_BN, row_BK, axis=1)
    return SteeredResults(row_PAK, has_word_PAK, similarity_PAK)


def _first_columns(score_BN: np.ndarray, count: int) -> np.ndarray:
    """Return the columns of the `count` highest scores of each row, best first."""
    column_BK = np.argpartition(-score_BN, count - 1, axis=1)[:, :count]
    order_BK = np.argsort(-np.take_along_axis(score_BN, column_BK, axis=1), axis=1, kind="stable")
    return np.take_along_axis(column_BK, order_BK, axis=1)


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
    embedding_ND: np.ndarray,
    theta_VD: np.ndarray,
    model_tfidf_NV: csr_array,
    tfidf_NV: csr_array,
    *,
    seed: int,
    pairs: int = PAIRS,
) -> WordMetrics | None:
    """Add a word that the query lacks, with rising α, for seeded pairs of query and word (METHOD.md 6).

    `model_tfidf_NV` and `tfidf_NV` are those of `steer_pairs`. None if no pair can be drawn, or if no result shares a
    word with its query.
    """
    query_P, word_P = draw_pairs(model_tfidf_NV, steering_words(model_tfidf_NV, theta_VD), seed=seed, pairs=pairs)
    if not len(query_P) or len(embedding_ND) < 2:
        return None
    steered = steer_pairs(embedding_ND, theta_VD, model_tfidf_NV, tfidf_NV, query_P, word_P)
    share_PA, similarity_PA = steered.top()
    share_A, similarity_A = share_PA.mean(axis=0), similarity_PA.mean(axis=0)
    if similarity_A[0] <= 0:
        return None
    without, at_90, at_80 = _shares(share_PA, similarity_PA)
    margin_3 = _margins(steered, query_P, word_P, len(embedding_ND), seed)
    intervals = [
        (max(0.0, value - margin), min(1.0, value + margin))
        for value, margin in zip((without, at_90, at_80), margin_3, strict=True)
    ]
    return WordMetrics(
        pairs=len(query_P),
        without=without,
        without_interval=intervals[0],
        at_90=at_90,
        at_90_interval=intervals[1],
        at_80=at_80,
        at_80_interval=intervals[2],
        curve=tuple(
            SteeringPoint(alpha=alpha, share=share, kept=kept)
            for alpha, share, kept in zip(ALPHAS, share_A, similarity_A / similarity_A[0], strict=True)
        ),
    )


def _shares(share_PA: Floats, similarity_PA: Floats) -> tuple[float, float, float]:
    """Average pairs → the share without the word, and keeping 90 and 80% of the similarity."""
    share_A, similarity_A = share_PA.mean(axis=0), similarity_PA.mean(axis=0)
    return float(share_A[0]), share_at(share_A, similarity_A, 0.9), share_at(share_A, similarity_A, 0.8)


def _margins(steered: SteeredResults, query_P: np.ndarray, word_P: np.ndarray, images: int, seed: int) -> np.ndarray:
    """Compute the half-widths of the 95% intervals of `_shares`, by the jackknife over images and over words.

    Images are left out as queries and as results, words with all their pairs. What varies with an image and a word, or
    with a query and a result, would count with each of them: it is taken off, and what varies with all three added.
    """
    words, word_index_P = np.unique(word_P, return_inverse=True)
    row_PAK = steered.row_PAK
    query_PAK, word_PAK = (np.broadcast_to(each_P[:, None, None], row_PAK.shape) for each_P in (query_P, word_index_P))
    pair_PAK = np.minimum(query_PAK, row_PAK).astype(np.int64) * images + np.maximum(query_PAK, row_PAK)
    image_N, word_W = draw_groups(images, seed), draw_groups(len(words), seed)
    variance = partial(_variance, steered)
    by_image = variance(image_N[query_P], image_N[row_PAK])
    by_word = variance(word_W[word_index_P], None)
    by_image_and_word = variance(_cell_groups(query_P, word_index_P), _cell_groups(row_PAK, word_PAK))
    by_pair = variance(None, _cell_groups(pair_PAK))
    by_all = variance(None, _cell_groups(pair_PAK, word_PAK))
    total_3 = by_image + by_word - by_image_and_word - by_pair + by_all
    total_3 = np.maximum(total_3, np.maximum(by_image, by_word) / 2)  # differences of estimates can be too small
    freedom = max(1, min(GROUPS, images, len(words)) - 1)
    margin_3: np.ndarray = student.ppf(0.975, freedom) * np.sqrt(total_3)
    return margin_3


def _cell_groups(*index: np.ndarray) -> np.ndarray:
    """Draw one of 50 groups for each combination of indices, as a hash of them."""
    mixed = np.zeros(index[0].shape, np.uint64)
    for each in index:
        mixed = (mixed ^ each.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    group: np.ndarray = (mixed % np.uint64(GROUPS)).astype(np.int64)
    return group


def _variance(steered: SteeredResults, group_P: np.ndarray | None, group_PAK: np.ndarray | None) -> np.ndarray:
    """Estimate the variance of `_shares` by leaving out each group's pairs and results."""
    count = 1 + max(int(group.max()) for group in (group_P, group_PAK) if group is not None)
    left_out = []
    for group in range(count):
        share_PA, similarity_PA = steered.top(None if group_PAK is None else group_PAK != group)
        kept_P = np.ones(len(share_PA), bool) if group_P is None else group_P != group
        if kept_P.any():
            left_out.append(_shares(share_PA[kept_P], similarity_PA[kept_P]))
    if len(left_out) < 2:
        return np.full(3, np.nan)
    return np.array([jackknife_variance(column[~np.isnan(column)]) for column in np.array(left_out).T])
