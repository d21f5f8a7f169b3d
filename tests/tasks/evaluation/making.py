"""Rankings from matrices of scores, as the tests of evaluation need them."""

from collections.abc import Mapping, Sequence

import numpy as np

from tasks.evaluation.rankings import Ranking, RankingBuilder, Rankings

Scores = Mapping[str, np.ndarray | Sequence[np.ndarray]]


def ranking(relevance_QN: np.ndarray, score_QN: np.ndarray) -> Ranking:
    """The ranking of images 0 … N − 1."""
    builder = RankingBuilder()
    builder.add(relevance_QN, score_QN, np.broadcast_to(np.arange(relevance_QN.shape[1]), relevance_QN.shape))
    return builder.build()


def rankings(relevance_QN: np.ndarray, scores: Scores) -> Rankings:
    """Rankings of images 0 … N − 1 by the images N … N + Q − 1, which are no results."""
    queries, ranked = relevance_QN.shape
    runs = {
        name: [ranking(relevance_QN, run) for run in ([score] if isinstance(score, np.ndarray) else score)]
        for name, score in scores.items()
    }
    query_Q = ranked + np.arange(queries)
    return Rankings(ranked + queries, ranked, query_Q, ranking(relevance_QN, relevance_QN), runs)
