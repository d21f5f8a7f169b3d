"""The first results of every query by each method: all that metrics and their intervals are computed from."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array

from tasks.metrics.curves import NDCG_AT, PCC_AT, cut_ranks
from tasks.metrics.ndcg import expected_gain
from tasks.metrics.ranked import Floats, drop_self

DEPTH = 160  # results kept per query: without a few of them, 128 are left
RANDOM_RUNS = 5
VALUES_PER_BLOCK = 4_000_000
_CONSTANT = 16 * np.finfo(np.float32).eps  # relative spread of values that are equal up to rounding


@dataclass(frozen=True)
class Ranking:
    """A method's first K results of each query: rows of the images, scores, relevance s, and gain.

    The gain is the relevance averaged over all results with the same score.
    """

    row_QK: np.ndarray
    score_QK: np.ndarray
    relevance_QK: np.ndarray
    gain_QK: np.ndarray


@dataclass(frozen=True)
class Rankings:
    """Rankings of `images` images by the images query_Q, by method; several runs of a method stand side by side.

    `ideal` sorts by relevance; each query ranks `ranked` images.
    """

    images: int
    ranked: int
    query_Q: np.ndarray
    ideal: Ranking
    runs: Mapping[str, Sequence[Ranking]]

    @property
    def ndcg_at(self) -> tuple[int, ...]:
        """The ranks R of NDCG@R that the ranked images reach."""
        return cut_ranks(NDCG_AT, self.ranked)

    @property
    def cut_ranks(self) -> tuple[int, ...]:
        """The standard ranks that exceed the number of ranked images and are not measured."""
        return tuple(rank for rank in NDCG_AT if rank > self.ranked)

    @property
    def pcc_at(self) -> tuple[int, ...]:
        """The ranks R of PCC@R that the ranked images reach."""
        return cut_ranks(PCC_AT, self.ranked)


@dataclass
class RankingBuilder:
    """Collects rankings, one block of queries at a time."""

    blocks: list[Ranking] = field(default_factory=list)

    def add(self, relevance_BM: Floats, score_BM: Floats, row_BM: np.ndarray) -> None:
        """Rank the columns of a block, equal scores in column order."""
        order_BM = np.argsort(-score_BM, axis=1, kind="stable")
        score_BM, relevance_BM = (np.take_along_axis(each, order_BM, 1) for each in (score_BM, relevance_BM))
        gain_BM = expected_gain(relevance_BM, score_BM)
        row_BK = np.take_along_axis(row_BM, order_BM[:, :DEPTH], 1)
        kept = (np.ascontiguousarray(each[:, :DEPTH], np.float32) for each in (score_BM, relevance_BM, gain_BM))
        self.blocks.append(Ranking(row_BK.astype(np.int32), *kept))

    def build(self) -> Ranking:
        """Join the blocks."""
        parts = zip(*(vars(block).values() for block in self.blocks), strict=True)
        return Ranking(*(np.concatenate(part) for part in parts))


def rank_images(
    tfidf_NV: csr_array,
    query_Q: np.ndarray,
    embeddings: Mapping[str, np.ndarray],
    queries: Mapping[str, np.ndarray],
    *,
    seed: int,
    references: bool = True,
) -> Rankings:
    """Rank all other images for each query by each embedding_ND, and as references in random order and by relevance.

    `queries` has the query_ND of the methods that embed an image differently as a query. Memory is bounded: only one
    method's embeddings are used at a time, and scores are computed for a block of queries.
    """
    generators = [np.random.default_rng([seed, run]) for run in range(RANDOM_RUNS if references else 0)]
    ideal, random_runs = RankingBuilder(), [RankingBuilder() for _ in generators]
    for _, relevance_BM, row_BM in relevance_blocks(tfidf_NV, query_Q):
        ideal.add(relevance_BM, relevance_BM, row_BM)
        for builder, random in zip(random_runs, generators, strict=True):
            builder.add(relevance_BM, random.random(relevance_BM.shape), row_BM)
    images, best = tfidf_NV.shape[0], ideal.build()
    runs = {"random": [builder.build() for builder in random_runs], "captions": [best]} if references else {}
    runs |= {name: [_rank(tfidf_NV, query_Q, embeddings[name], queries.get(name))] for name in embeddings}
    return Rankings(images, images - 1, query_Q, best, runs)


def _rank(tfidf_NV: csr_array, query_Q: np.ndarray, embedding_ND: np.ndarray, query_ND: np.ndarray | None) -> Ranking:
    query_QD = (embedding_ND if query_ND is None else query_ND)[query_Q]
    builder, start = RankingBuilder(), 0
    for rows_B, relevance_BM, row_BM in relevance_blocks(tfidf_NV, query_Q):
        score_BN = query_QD[start : start + len(rows_B)] @ embedding_ND.T
        start += len(rows_B)
        builder.add(relevance_BM, drop_self(score_BN, rows_B), row_BM)
    return builder.build()


def relevance_blocks(tfidf_NV: csr_array, query_Q: np.ndarray) -> Iterator[tuple[np.ndarray, Floats, np.ndarray]]:
    """Yield (rows_B, relevance_BM, row_BM) for blocks of queries: s to all other images, M = N − 1, and their rows."""
    images = tfidf_NV.shape[0]
    step = max(1, VALUES_PER_BLOCK // images)
    for start in range(0, len(query_Q), step):
        rows_B = query_Q[start : start + step]
        relevance_BM = drop_self((tfidf_NV[rows_B] @ tfidf_NV.T).toarray(), rows_B)
        column_M = np.arange(images - 1)
        yield rows_B, relevance_BM, column_M + (column_M >= rows_B[:, None])


def measure(rankings: Rankings, ranking: Ranking, kept_N: np.ndarray | None = None) -> tuple[Floats, Floats]:
    """Compute (ndcg_QR, pcc_QR) of a ranking, NaN where undefined (METHOD.md 6); with kept_N, of those images only."""
    kept_N = np.ones(rankings.images, bool) if kept_N is None else kept_N
    depth = max((*rankings.ndcg_at, *rankings.pcc_at), default=0)
    place_QD, filled_QD = _first(kept_N[ranking.row_QK], depth)
    ideal_place_QD, ideal_filled_QD = _first(kept_N[rankings.ideal.row_QK], depth)
    gain_QD = _take(ranking.gain_QK, place_QD, filled_QD)
    ideal_QD = _take(rankings.ideal.relevance_QK, ideal_place_QD, ideal_filled_QD)
    score_QD, relevance_QD = (_take(each, place_QD, filled_QD) for each in (ranking.score_QK, ranking.relevance_QK))
    return _ndcg(gain_QD, ideal_QD, rankings.ndcg_at), _pcc(score_QD, relevance_QD, filled_QD, rankings.pcc_at)


def _first(kept_QK: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """Find the first results that are kept → (place_QD, filled_QD): their flat places, and whether there is one."""
    count_Q = kept_QK.sum(axis=1)
    place = np.append(np.flatnonzero(kept_QK), 0)
    place_QD = (np.cumsum(count_Q) - count_Q)[:, None] + np.arange(depth)
    return place[np.minimum(place_QD, len(place) - 1)], np.arange(depth) < count_Q[:, None]


def _take(value_QK: np.ndarray, place_QD: np.ndarray, filled_QD: np.ndarray) -> Floats:
    return np.where(filled_QD, value_QK.ravel()[place_QD], 0.0).astype(np.float64)


def _ndcg(gain_QD: Floats, ideal_QD: Floats, at: Sequence[int]) -> Floats:
    discount_D = 1 / np.log2(np.arange(gain_QD.shape[1]) + 2)
    dcg_QR, ideal_QR = (_sums(each * discount_D, at) for each in (gain_QD, ideal_QD))
    return np.divide(dcg_QR, ideal_QR, out=np.full_like(dcg_QR, np.nan), where=ideal_QR > 0)


def _pcc(score_QD: Floats, relevance_QD: Floats, filled_QD: np.ndarray, at: Sequence[int]) -> Floats:
    count_QR = np.maximum(_sums(filled_QD.astype(np.float64), at), 1)
    count_Q1 = np.maximum(filled_QD.sum(axis=1, keepdims=True), 1)
    x_QD, y_QD = (
        np.where(filled_QD, each - each.sum(axis=1, keepdims=True) / count_Q1, 0) for each in (score_QD, relevance_QD)
    )
    sum_x_QR, sum_y_QR = _sums(x_QD, at), _sums(y_QD, at)

    def spread(value_QD: Floats, centred_QD: Floats, sum_QR: Floats) -> Floats:
        square_QR = _sums(centred_QD**2, at) - sum_QR**2 / count_QR
        largest_Q1 = np.abs(value_QD).max(axis=1, keepdims=True)
        constant_QR = square_QR <= (_CONSTANT * largest_Q1) ** 2 * count_QR
        return np.where(constant_QR, np.nan, np.sqrt(np.maximum(square_QR, 0)))

    product_QR = _sums(x_QD * y_QD, at) - sum_x_QR * sum_y_QR / count_QR
    correlation_QR: Floats = product_QR / (spread(score_QD, x_QD, sum_x_QR) * spread(relevance_QD, y_QD, sum_y_QR))
    return np.clip(correlation_QR, -1, 1)


def _sums(value_QD: Floats, at: Sequence[int]) -> Floats:
    """Sum the first R values for each R in `at`, ascending → sum_QR."""
    if not at:
        return np.empty((len(value_QD), 0))
    segments_QR = np.add.reduceat(value_QD[:, : at[-1]], [0, *at[:-1]], axis=1)
    return np.cumsum(segments_QR, axis=1)
