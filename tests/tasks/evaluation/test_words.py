import numpy as np
import pytest
from scipy.sparse import csr_array

from tasks.evaluation.words import WordFigures, measure_words
from tasks.metrics.steering import ALPHAS, draw_pairs, share_at, steer_pairs, steering_words

IMAGES, STEMS = 80, 40


@pytest.fixture(scope="module")
def tfidf_NV() -> csr_array:
    random = np.random.default_rng(0)
    value_NV = random.random((IMAGES, STEMS)) * (random.random((IMAGES, STEMS)) < 0.07)
    return csr_array(value_NV / np.maximum(np.linalg.norm(value_NV, axis=1, keepdims=True), 1e-9))


def test_figures_are_those_of_seeded_pairs_with_intervals_around_them(tfidf_NV: csr_array) -> None:
    theta_VD = np.random.default_rng(1).normal(size=(STEMS, 8))
    embedding_ND = tfidf_NV @ theta_VD
    figures = measure_words(embedding_ND, theta_VD, tfidf_NV, tfidf_NV, seed=3)
    assert figures == measure_words(embedding_ND, theta_VD, tfidf_NV, tfidf_NV, seed=3)
    assert figures != measure_words(embedding_ND, theta_VD, tfidf_NV, tfidf_NV, seed=4)
    assert figures is not None
    query_P, word_P = draw_pairs(tfidf_NV, steering_words(tfidf_NV, theta_VD), seed=3)
    steered = steer_pairs(embedding_ND, theta_VD, tfidf_NV, tfidf_NV, query_P, word_P)
    share_A, similarity_A = steered.share_PA.mean(axis=0), steered.similarity_PA.mean(axis=0)
    assert figures.pairs == len(query_P)
    assert (figures.without, figures.at_90, figures.at_80) == pytest.approx(
        (share_A[0], share_at(share_A, similarity_A, 0.9), share_at(share_A, similarity_A, 0.8))
    )
    assert figures.without < figures.at_90 < figures.at_80
    for name in ("without", "at_90", "at_80"):
        low, high = getattr(figures, f"{name}_interval")
        assert low < getattr(figures, name) < high
    assert [step.alpha for step in figures.curve] == list(ALPHAS)
    assert [step.kept for step in figures.curve] == pytest.approx(similarity_A / similarity_A[0])
    assert WordFigures.model_validate_json(figures.model_dump_json()) == figures


def test_nothing_is_said_where_nothing_can_be_measured(tfidf_NV: csr_array) -> None:
    everywhere_NV = csr_array(np.ones((IMAGES, 2)) / 2**0.5)  # words that all images hold
    assert measure_words(np.eye(IMAGES), np.ones((2, IMAGES)), everywhere_NV, everywhere_NV, seed=0) is None
    theta_VD = np.ones((STEMS, 4))
    assert measure_words(np.ones((IMAGES, 4)), 0 * theta_VD, tfidf_NV, tfidf_NV, seed=0) is None
    apart_NV = csr_array((IMAGES, STEMS))  # no two images are alike
    assert measure_words(np.ones((IMAGES, 4)), theta_VD, tfidf_NV, apart_NV, seed=0) is None
