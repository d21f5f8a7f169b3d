import numpy as np
import pytest
from scipy.sparse import csr_array

from tasks.errors import InputError
from tasks.metrics.truth import Truth, make_truth


def captions(images: int = 12, empty: tuple[int, ...] = (3, 7)) -> csr_array:
    """tfidf_NV of unit rows, some of them empty."""
    value_NV = np.random.default_rng(0).random((images, 5)) ** 4
    value_NV /= np.linalg.norm(value_NV, axis=1, keepdims=True)
    value_NV[list(empty)] = 0
    return csr_array(value_NV)


def slow_rows(first_ND: np.ndarray, query_Q: np.ndarray) -> list[list[float]]:
    """Dot products of each query with every image but itself."""
    return [[float(first_ND[q] @ first_ND[n]) for n in range(len(first_ND)) if n != q] for q in query_Q]


def test_relevance_is_caption_similarity_to_all_others() -> None:
    truth = make_truth(captions())
    np.testing.assert_allclose(truth.relevance_QM, slow_rows(captions().toarray(), truth.query_Q))


def test_images_without_a_weighted_stem_are_ranked_but_never_ask() -> None:
    truth = make_truth(captions())
    assert truth.query_Q.tolist() == [0, 1, 2, 4, 5, 6, 8, 9, 10, 11]
    assert truth.without_stems == 2
    assert truth.relevance_QM.shape == (10, 11)
    assert (truth.relevance_QM[0, [2, 6]] == 0).all()  # images 3 and 7, as image 0 itself is left out


def test_queries_are_a_seeded_sample_in_id_order() -> None:
    first, again, other = (make_truth(captions(60), seed=seed, queries=20).query_Q for seed in (1, 1, 2))
    assert first.tolist() == again.tolist() == sorted(set(first.tolist()))
    assert len(first) == 20
    assert first.tolist() != other.tolist()


def test_scores_leave_the_query_out_in_the_same_way() -> None:
    truth = make_truth(captions(), queries=4)
    embedding_ND = np.random.default_rng(1).normal(size=(12, 3))
    np.testing.assert_allclose(truth.scores(embedding_ND), slow_rows(embedding_ND, truth.query_Q))


def test_queries_may_be_embedded_otherwise_than_the_images_searched() -> None:
    truth = make_truth(captions(), queries=4)
    embedding_ND, as_query_ND = np.random.default_rng(1).normal(size=(2, 12, 3))
    expected = [[float(as_query_ND[q] @ embedding_ND[n]) for n in range(12) if n != q] for q in truth.query_Q]
    np.testing.assert_allclose(truth.scores(embedding_ND, as_query_ND), expected)


def test_the_captions_themselves_score_100_and_noise_less() -> None:
    truth = make_truth(captions())
    assert truth.ndcg_auc(captions().toarray()) == pytest.approx(100)
    assert truth.ndcg_auc(np.random.default_rng(1).normal(size=(12, 3))) < 95
    assert type(truth.ndcg_auc(captions().toarray())) is float


def test_captions_with_nothing_in_common_are_refused() -> None:
    for nothing in (np.eye(5), np.zeros((5, 2))):
        with pytest.raises(InputError, match="No two images of this split share a word"):
            make_truth(csr_array(nothing))


def test_scores_are_those_of_the_given_queries() -> None:
    truth = Truth(np.array([2]), np.zeros((1, 2)), 0)
    assert truth.scores(np.array([[1.0], [2.0], [10.0]])).tolist() == [[10.0, 20.0]]
