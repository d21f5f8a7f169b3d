import numpy as np
import pytest
from scipy.sparse import csr_array

from tasks.evaluation.mixed import measure_mixed, measure_mixed_words
from tasks.metrics.truth import make_truth

SPLIT, TRAIN, STEMS = 60, 90, 40


def unit(value_ND: np.ndarray) -> np.ndarray:
    return value_ND / np.maximum(np.linalg.norm(value_ND, axis=1, keepdims=True), 1e-9)


@pytest.fixture(scope="module")
def tfidf_NV() -> np.ndarray:
    """The split's images, then those of train."""
    random = np.random.default_rng(0)
    return unit(random.random((SPLIT + TRAIN, STEMS)) * (random.random((SPLIT + TRAIN, STEMS)) < 0.07))


@pytest.fixture(scope="module")
def embedding_ND(tfidf_NV: np.ndarray) -> np.ndarray:
    return unit(tfidf_NV + 0.1 * np.random.default_rng(1).normal(size=tfidf_NV.shape))


def mixed_of(tfidf_NV: np.ndarray, embedding_ND: np.ndarray, query_Q: np.ndarray) -> tuple[float, float, float]:
    found = measure_mixed(
        embedding_ND[:SPLIT],
        embedding_ND[SPLIT:],
        csr_array(tfidf_NV[:SPLIT]),
        csr_array(tfidf_NV[SPLIT:]),
        query_Q,
        seed=0,
    )
    assert found.ndcg_auc is not None
    return found.ndcg_auc, found.train_share, found.train_share_expected


def test_shares_and_ndcg_are_those_of_the_images_together(tfidf_NV: np.ndarray, embedding_ND: np.ndarray) -> None:
    query_Q = np.arange(0, SPLIT, 2)
    ndcg_auc, share, expected = mixed_of(tfidf_NV, embedding_ND, query_Q)
    in_train = []
    for query in query_Q:
        order = [row for row in np.argsort(-(embedding_ND @ embedding_ND[query])) if row != query]
        in_train += [row >= SPLIT for row in order[:10]]
    assert share == pytest.approx(np.mean(in_train))
    assert expected == TRAIN / (SPLIT + TRAIN - 1)
    truth = make_truth(csr_array(tfidf_NV), queries=SPLIT + TRAIN)
    every, _, _ = mixed_of(tfidf_NV, embedding_ND, truth.query_Q[truth.query_Q < SPLIT])
    assert every == pytest.approx(ndcg_auc, abs=5)
    assert ndcg_auc == pytest.approx(truth.ndcg_auc(embedding_ND), abs=5)


def test_images_that_are_treated_alike_have_their_expected_share(tfidf_NV: np.ndarray) -> None:
    random_ND = unit(np.random.default_rng(2).normal(size=(SPLIT + TRAIN, 8)))
    _, share, expected = mixed_of(tfidf_NV, random_ND, np.arange(SPLIT))
    assert share == pytest.approx(expected, abs=0.05)


def test_favoured_training_images_show(tfidf_NV: np.ndarray, embedding_ND: np.ndarray) -> None:
    """A coordinate that words ask for and only training images have."""
    is_train_N1 = (np.arange(SPLIT + TRAIN) >= SPLIT)[:, None] * 0.5
    favoured_ND = unit(np.hstack([is_train_N1, embedding_ND]))
    theta_VD = unit(np.hstack([np.full((STEMS, 1), 0.6), np.eye(STEMS)]))
    model_tfidf_NV = csr_array(tfidf_NV[:SPLIT])
    found = measure_mixed_words(favoured_ND[:SPLIT], favoured_ND[SPLIT:], theta_VD, model_tfidf_NV, seed=0)
    plain_VD = unit(np.hstack([np.zeros((STEMS, 1)), np.eye(STEMS)]))
    plain = measure_mixed_words(favoured_ND[:SPLIT], favoured_ND[SPLIT:], plain_VD, model_tfidf_NV, seed=0)
    assert found.keys() == {"word_train_share", "image_and_word_train_share"}
    assert found["word_train_share"] > plain["word_train_share"] + 0.1
    assert found["word_train_share"] > TRAIN / (SPLIT + TRAIN)
    assert found["image_and_word_train_share"] > plain["image_and_word_train_share"]


def test_without_words_only_images_are_measured(embedding_ND: np.ndarray) -> None:
    everywhere_NV = csr_array(np.ones((SPLIT, STEMS)))  # no word tells images apart
    parts = embedding_ND[:SPLIT], embedding_ND[SPLIT:]
    assert measure_mixed_words(*parts, np.eye(STEMS), everywhere_NV, seed=0) == {}
