import gc
import weakref
from collections.abc import Callable

import numpy as np
import pytest
from scipy.sparse import csr_array

from tasks.evaluation.embeddings import Embeddings
from tasks.evaluation.rankings import rank_images

NAMES = ("one", "other", "third")


def test_they_are_a_mapping_that_keeps_nothing() -> None:
    embeddings = Embeddings({name: (lambda place=place: np.full(2, place)) for place, name in enumerate(NAMES)})
    assert (list(embeddings), len(embeddings)) == (list(NAMES), 3)
    assert embeddings["other"].tolist() == [1, 1]
    assert embeddings["other"] is not embeddings["other"]
    assert embeddings.get("none") is None
    with pytest.raises(KeyError):
        embeddings["none"]


def test_methods_are_ranked_one_at_a_time() -> None:
    """All of them together took gigabytes in large splits."""
    random = np.random.default_rng(0)
    values = {name: random.normal(size=(30, 4)).astype(np.float32) for name in NAMES}
    living: list[weakref.ref[np.ndarray]] = []

    def loader(name: str) -> Callable[[], np.ndarray]:
        def load() -> np.ndarray:
            gc.collect()
            assert all(each() is None for each in living)
            embedding_ND = values[name].copy()
            living.append(weakref.ref(embedding_ND))
            return embedding_ND

        return load

    tfidf_NV = csr_array(random.random((30, 5)))
    lazy, whole = (
        rank_images(tfidf_NV, np.arange(30), embeddings, {}, seed=0)
        for embeddings in (Embeddings({name: loader(name) for name in NAMES}), values)
    )
    assert len(living) == 3
    for name in NAMES:
        np.testing.assert_array_equal(lazy.runs[name][0].row_QK, whole.runs[name][0].row_QK)
