"""Tests of how words steer."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from tasks.evaluation.steering import (
    ALPHAS,
    TOP,
    WordMetrics,
    draw_pairs,
    measure_words,
    share_at,
    steer_pairs,
    steering_words,
)
from tasks.search.modifiers import steer_queries
from tests.tasks.evaluation.test_jackknife import population

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
    share_PA, similarity_PA = steered.top()
    share_A, similarity_A = share_PA.mean(axis=0), similarity_PA.mean(axis=0)
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
    assert WordMetrics.model_validate_json(figures.model_dump_json()) == figures


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Images and words drawn from one population: the intervals hold the mean over all, and are not much too wide."""
    tfidf_NV, embedding_ND, _ = population(8000)
    theta_VD = tfidf_NV.T @ embedding_ND
    theta_VD /= np.linalg.norm(theta_VD, axis=1, keepdims=True)
    found = []
    for draw in range(50):
        random = np.random.default_rng(draw)
        rows = random.choice(len(tfidf_NV), 150, replace=False)
        words = random.choice(len(theta_VD), 100, replace=False)
        drawn_VD = np.zeros_like(theta_VD)
        drawn_VD[words] = theta_VD[words]
        drawn_NV = csr_array(tfidf_NV[rows])
        metrics = measure_words(embedding_ND[rows], drawn_VD, drawn_NV, drawn_NV, seed=draw, pairs=300)
        names = ("without", "at_90", "at_80")
        found.append([(getattr(metrics, name), *getattr(metrics, f"{name}_interval")) for name in names])
    value_D3, low_D3, high_D3 = np.moveaxis(np.array(found), 2, 0)
    truth_3 = value_D3.mean(axis=0)
    coverage_3 = ((low_D3 <= truth_3) & (truth_3 <= high_D3)).mean(axis=0)
    assert (coverage_3 >= 0.9).all()  # 95% within two standard errors of 50 draws
    assert coverage_3.mean() < 0.985
    half_width_3 = (high_D3 - low_D3).mean(axis=0) / 2
    assert (half_width_3 < 1.4 * 1.96 * value_D3.std(axis=0)).all()


def test_nothing_is_said_where_nothing_can_be_measured(tfidf_NV: csr_array) -> None:
    everywhere_NV = csr_array(np.ones((IMAGES, 2)) / 2**0.5)  # words that all images hold
    assert measure_words(np.eye(IMAGES), np.ones((2, IMAGES)), everywhere_NV, everywhere_NV, seed=0) is None
    theta_VD = np.ones((STEMS, 4))
    assert measure_words(np.ones((IMAGES, 4)), 0 * theta_VD, tfidf_NV, tfidf_NV, seed=0) is None
    apart_NV = csr_array((IMAGES, STEMS))  # no two images are alike
    assert measure_words(np.ones((IMAGES, 4)), theta_VD, tfidf_NV, apart_NV, seed=0) is None


IMAGES, STEMS, DIMENSION = 60, 30, 6


@pytest.fixture(scope="module")
def model_tfidf_NV() -> csr_array:
    """Unit rows over stems of all frequencies; the last two images hold none."""
    random = np.random.default_rng(0)
    value_NV = random.random((IMAGES, STEMS)) * (random.random((IMAGES, STEMS)) < np.linspace(0.01, 0.3, STEMS))
    value_NV[-2:] = 0
    return csr_array(value_NV / np.maximum(np.linalg.norm(value_NV, axis=1, keepdims=True), 1e-9))


@pytest.fixture(scope="module")
def theta_VD() -> np.ndarray:
    value_VD = np.random.default_rng(1).normal(size=(STEMS, DIMENSION))
    return value_VD / np.linalg.norm(value_VD, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def embedding_ND(model_tfidf_NV: csr_array, theta_VD: np.ndarray) -> np.ndarray:
    """Images near their words."""
    value_ND = model_tfidf_NV @ theta_VD + 0.3 * np.random.default_rng(2).normal(size=(IMAGES, DIMENSION))
    return value_ND / np.linalg.norm(value_ND, axis=1, keepdims=True)


def test_moving_is_a_sum_of_unit_length() -> None:
    start_PD, theta_PD = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [0.0, 0.0]])
    np.testing.assert_allclose(steer_queries(start_PD, theta_PD, 2.0), [[1 / 5**0.5, 2 / 5**0.5], [1, 0]])
    np.testing.assert_array_equal(steer_queries(theta_PD, theta_PD)[1], [0, 0])


def test_words_tell_images_apart_and_have_a_place(model_tfidf_NV: csr_array, theta_VD: np.ndarray) -> None:
    counts = [sum(model_tfidf_NV.toarray()[:, word] > 0) for word in range(STEMS)]
    expected = [word for word in range(STEMS) if counts[word] and 0.02 * IMAGES <= counts[word] <= 0.10 * IMAGES]
    assert 3 < len(expected) < STEMS
    assert steering_words(model_tfidf_NV, theta_VD).tolist() == expected
    placeless_VD = theta_VD.copy()
    placeless_VD[expected[0]] = 0
    assert steering_words(model_tfidf_NV, placeless_VD).tolist() == expected[1:]


def test_pairs_are_seeded_and_each_query_lacks_its_word(model_tfidf_NV: csr_array, theta_VD: np.ndarray) -> None:
    word_W = steering_words(model_tfidf_NV, theta_VD)
    every = list(zip(*draw_pairs(model_tfidf_NV, word_W, seed=0), strict=True))
    dense_NV = model_tfidf_NV.toarray()
    asking = range(IMAGES - 2)
    assert sorted(every) == sorted((row, word) for row in asking for word in word_W if not dense_NV[row, word])
    some, again, other = (draw_pairs(model_tfidf_NV, word_W, seed=seed, pairs=20) for seed in (1, 1, 2))
    assert 10 < len(some[0]) <= 20
    np.testing.assert_array_equal(some, again)
    assert some[0].tolist() != other[0].tolist()


def test_where_there_are_no_words_or_no_queries_there_are_no_pairs(model_tfidf_NV: csr_array) -> None:
    for held, words in ((model_tfidf_NV, []), (csr_array((3, STEMS)), [1, 2])):
        query_P, word_P = draw_pairs(held, np.array(words, np.int64), seed=0)
        assert len(query_P) == len(word_P) == 0


def test_a_steered_search_by_the_slow_formula(
    model_tfidf_NV: csr_array, theta_VD: np.ndarray, embedding_ND: np.ndarray
) -> None:
    query_P, word_P = draw_pairs(model_tfidf_NV, steering_words(model_tfidf_NV, theta_VD), seed=0, pairs=40)
    alphas = (0.0, 0.7, 3.0)
    steered = steer_pairs(embedding_ND, theta_VD, model_tfidf_NV, model_tfidf_NV, query_P, word_P, alphas)
    share_PA, similarity_PA = steered.top()
    dense_NV = model_tfidf_NV.toarray()
    for pair, (query, word) in enumerate(zip(query_P, word_P, strict=True)):
        for place, alpha in enumerate(alphas):
            asked_D = embedding_ND[query] + alpha * theta_VD[word]
            order = [n for n in np.argsort(-(embedding_ND @ asked_D)) if n != query][:TOP]
            share = np.mean([dense_NV[n, word] > 0 for n in order])
            similarity = np.mean([dense_NV[n] @ dense_NV[query] for n in order])
            assert share_PA[pair, place] == pytest.approx(share)
            assert similarity_PA[pair, place] == pytest.approx(similarity)
    share_PA, similarity_PA = steered.top()
    share_A, similarity_A = share_PA.mean(axis=0), similarity_PA.mean(axis=0)
    assert share_A[0] < share_A[1] < share_A[2]
    assert similarity_A[0] > similarity_A[2]


def test_fewer_images_than_the_top_are_all_found() -> None:
    model_tfidf_NV = csr_array(np.eye(3))
    steered = steer_pairs(
        np.eye(3), np.eye(3), model_tfidf_NV, model_tfidf_NV, np.array([0]), np.array([1]), (0.0, 1.0)
    )
    np.testing.assert_allclose(steered.top()[0], [[0.5, 0.5]])


@pytest.mark.parametrize(
    ("kept", "share"),
    [(1.0, 0.1), (0.95, 0.15), (0.9, 0.2), (0.8, 0.3), (0.75, 0.35), (0.1, 0.5)],
)
def test_the_share_at_a_similarity_kept(kept: float, share: float) -> None:
    similarity_A = 0.3 * np.array([1.0, 0.9, 0.7, 0.6])
    assert share_at(np.array([0.1, 0.2, 0.4, 0.5]), similarity_A, kept) == pytest.approx(share)


def test_the_first_fall_counts_and_nothing_to_keep_is_undefined() -> None:
    assert share_at(np.array([0.0, 0.2, 0.4]), np.array([1.0, 0.8, 1.0]), 0.9) == pytest.approx(0.1)
    assert np.isnan(share_at(np.array([0.0, 0.5]), np.zeros(2), 0.9))
