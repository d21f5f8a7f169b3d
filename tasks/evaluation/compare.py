"""Compare methods on one split."""

from collections.abc import Mapping, Sequence

import numpy as np

from tasks.evaluation.summary import MethodSummary, best_of, summarise
from tasks.metrics.ranked import Floats
from tasks.metrics.truth import Truth

RANDOM_RUNS = 5


def compare(
    truth: Truth, embeddings: Mapping[str, np.ndarray], queries: Mapping[str, np.ndarray], *, seed: int
) -> dict[str, MethodSummary]:
    """Measure random order, the caption oracle and each method's embedding_ND, images in id order (METHOD.md 6).

    `queries` has the query_ND of the methods that embed an image differently as a query.
    """
    random = np.random.default_rng(seed)
    scores: dict[str, Floats | Sequence[Floats]] = {
        "random": [random.random(truth.relevance_QM.shape) for _ in range(RANDOM_RUNS)],
        "captions": truth.relevance_QM,
    }
    scores |= {name: truth.scores(embedding_ND, queries.get(name)) for name, embedding_ND in embeddings.items()}
    return summarise(truth.relevance_QM, scores, seed=seed)


def best_methods(methods: Mapping[str, MethodSummary]) -> list[str]:
    """Return the best untrained baseline and the best trained method, which the report shows in detail."""
    best = best_of(methods, "untrained"), best_of(methods, "trained")
    return [name for name in best if name is not None]
