"""Methods side by side on one split: their figures, and which of them people are shown."""

from collections.abc import Mapping, Sequence

import numpy as np

from tasks.evaluation.summary import MethodSummary, best_of, summarise
from tasks.metrics.ranked import Floats
from tasks.metrics.truth import Truth

RANDOM_RUNS = 5


def compare(
    truth: Truth, embeddings: Mapping[str, np.ndarray], asking: Mapping[str, np.ndarray], *, seed: int
) -> dict[str, MethodSummary]:
    """Figures of random order, the caption oracle and each embedding_ND, images in id order (METHOD.md 6).

    `asking` has the images as queries, asking_ND, of the methods that embed these in another way.
    """
    random = np.random.default_rng(seed)
    scores: dict[str, Floats | Sequence[Floats]] = {
        "random": [random.random(truth.relevance_QM.shape) for _ in range(RANDOM_RUNS)],
        "captions": truth.relevance_QM,
    }
    scores |= {name: truth.scores(embedding_ND, asking.get(name)) for name, embedding_ND in embeddings.items()}
    return summarise(truth.relevance_QM, scores, seed=seed)


def shown_methods(methods: Mapping[str, MethodSummary]) -> list[str]:
    """The best untrained baseline and the best trained method, as people are shown them."""
    best = best_of(methods, "untrained"), best_of(methods, "trained")
    return [name for name in best if name is not None]
