"""Methods side by side on one split: their figures, and example queries with what the best of them find."""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.sparse import csr_array

from tasks.evaluation.sheets import Example, ReadImage, first_hits, result_sheet
from tasks.evaluation.summary import MethodSummary, best_of, summarise
from tasks.metrics.ranking import Floats
from tasks.metrics.truth import Truth

RANDOM_RUNS = 5


def compare(truth: Truth, embeddings: Mapping[str, np.ndarray], *, seed: int) -> dict[str, MethodSummary]:
    """Figures of random order, the caption oracle and each embedding_ND, images in id order (METHOD.md 6)."""
    random = np.random.default_rng(seed)
    scores: dict[str, Floats | Sequence[Floats]] = {
        "random": [random.random(truth.relevance_QM.shape) for _ in range(RANDOM_RUNS)],
        "captions": truth.relevance_QM,
    }
    scores |= {name: truth.scores(embedding_ND) for name, embedding_ND in embeddings.items()}
    return summarise(truth.relevance_QM, scores, seed=seed)


def shown_methods(methods: Mapping[str, MethodSummary]) -> list[str]:
    """The best untrained baseline and the best trained method, as people are shown them."""
    best = best_of(methods, "untrained"), best_of(methods, "trained")
    return [name for name in best if name is not None]


def make_examples(
    truth: Truth,
    tfidf_NV: csr_array,
    captions: Mapping[str, Sequence[str]],
    embeddings: Mapping[str, np.ndarray],
    read_image: ReadImage,
    *,
    count: int,
    seed: int,
) -> list[Example]:
    """Seeded queries, not picked by result, and the first hits of each label's embedding; `captions` in id order."""
    image_ids = list(captions)
    examples = []
    for row in np.random.default_rng(seed).permutation(truth.query_Q)[:count]:
        hits = {
            label: first_hits(
                image_ids[row],
                image_ids=image_ids,
                score_N=embedding_ND @ embedding_ND[row],
                similarity_N=(tfidf_NV @ tfidf_NV[[row]].T).toarray().ravel(),
                captions=captions,
            )
            for label, embedding_ND in embeddings.items()
        }
        sheet = result_sheet(image_ids[row], hits, read_image)
        examples.append(
            Example(query_id=image_ids[row], captions=tuple(captions[image_ids[row]]), hits=hits, sheet=sheet)
        )
    return examples
