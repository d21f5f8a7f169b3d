import numpy as np
import pytest
from scipy.sparse import csr_array

from tasks.captions.tfidf import tfidf
from tasks.captions.vocabulary import build_vocabulary
from tasks.evaluation import rankings as module
from tasks.evaluation.rankings import DEPTH, RANDOM_RUNS, measure, rank_images
from tasks.evaluation.summary import summarise
from tasks.metrics.curves import NDCG_AT, PCC_AT
from tasks.metrics.ndcg import ndcg
from tasks.metrics.pcc import pcc
from tasks.metrics.truth import Truth, draw_queries, make_truth
from tests.tasks.evaluation.making import rankings

WORDS = ("dog", "cat", "beach", "snow", "ball", "tree")
IMAGES = 40


@pytest.fixture(scope="module")
def tfidf_NV() -> csr_array:
    """Captions of two or three words, in id order."""
    random = np.random.default_rng(0)
    captions = [[" ".join(random.permutation(WORDS)[: 2 + number % 2])] for number in range(IMAGES)]
    return tfidf(captions, build_vocabulary(captions, "english"))


@pytest.fixture(scope="module")
def query_Q(tfidf_NV: csr_array) -> np.ndarray:
    return draw_queries(tfidf_NV, seed=0, queries=30)[0]


@pytest.fixture(scope="module")
def truth(tfidf_NV: csr_array) -> Truth:
    return make_truth(tfidf_NV, seed=0, queries=30)


@pytest.fixture(scope="module")
def embeddings(tfidf_NV: csr_array) -> dict[str, np.ndarray]:
    """Captions' own vectors with more or less noise: the order of the methods is known."""
    noise_NV = np.random.default_rng(1).normal(size=tfidf_NV.shape)

    def noisy(noise: float) -> np.ndarray:
        value_NV = tfidf_NV.toarray() + noise * noise_NV
        return (value_NV / np.linalg.norm(value_NV, axis=1, keepdims=True)).astype(np.float32)

    return {
        "baseline_gap": noisy(2.0),
        "baseline_gap_centred": noisy(0.6),
        "v_v": noisy(0.3),
        "regression": noisy(0.1),
    }


def test_all_methods_are_measured_between_random_order_and_the_captions(
    tfidf_NV: csr_array, query_Q: np.ndarray, truth: Truth, embeddings: dict[str, np.ndarray]
) -> None:
    ranked = rank_images(tfidf_NV, query_Q, embeddings, {}, seed=0)
    methods = summarise(ranked)
    assert (ranked.images, ranked.ranked) == (IMAGES, IMAGES - 1)
    assert list(methods) == ["random", "captions", *embeddings]
    aucs = [methods[name].ndcg_auc or 0 for name in ("random", *embeddings, "captions")]
    assert aucs == sorted(aucs)
    assert methods["captions"].ndcg_auc == pytest.approx(100)
    assert methods["captions"].pcc_auc == pytest.approx(100)
    assert abs(methods["random"].pcc_auc or 0) < 10
    assert methods["v_v"].ndcg_auc == pytest.approx(truth.ndcg_auc(embeddings["v_v"]), abs=1e-4)


def test_queries_never_rank_themselves_and_rows_are_those_of_the_images(
    tfidf_NV: csr_array, query_Q: np.ndarray, embeddings: dict[str, np.ndarray]
) -> None:
    (ranking,) = rank_images(tfidf_NV, query_Q, embeddings, {}, seed=0).runs["v_v"]
    relevance_NN = (tfidf_NV @ tfidf_NV.T).toarray()
    for place, query in enumerate(query_Q):
        assert sorted(ranking.row_QK[place]) == [row for row in range(IMAGES) if row != query]
        score_N = embeddings["v_v"] @ embeddings["v_v"][query]
        np.testing.assert_allclose(ranking.score_QK[place], score_N[ranking.row_QK[place]], atol=1e-6)
        np.testing.assert_allclose(ranking.relevance_QK[place], relevance_NN[query, ranking.row_QK[place]], atol=1e-6)


def test_blocks_change_nothing(
    tfidf_NV: csr_array,
    query_Q: np.ndarray,
    embeddings: dict[str, np.ndarray],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = summarise(rank_images(tfidf_NV, query_Q, embeddings, {}, seed=0))
    monkeypatch.setattr(module, "VALUES_PER_BLOCK", 7 * IMAGES)
    assert summarise(rank_images(tfidf_NV, query_Q, embeddings, {}, seed=0)) == whole


def test_random_order_has_seeded_runs(tfidf_NV: csr_array, query_Q: np.ndarray) -> None:
    first, again, other = (rank_images(tfidf_NV, query_Q, {}, {}, seed=seed).runs["random"] for seed in (3, 3, 4))
    assert len(first) == RANDOM_RUNS
    np.testing.assert_array_equal(first[0].row_QK, again[0].row_QK)
    assert (first[0].row_QK != other[0].row_QK).any()
    assert (first[0].row_QK != first[1].row_QK).any()


def test_a_method_may_embed_queries_differently(
    tfidf_NV: csr_array, query_Q: np.ndarray, truth: Truth, embeddings: dict[str, np.ndarray]
) -> None:
    both = embeddings | {"vt_vt": embeddings["v_v"]}
    ranked = rank_images(tfidf_NV, query_Q, both, {"vt_vt": tfidf_NV.toarray()}, seed=0)
    score_QM = truth.scores(embeddings["v_v"], tfidf_NV.toarray())
    ndcg_QR, _ = measure(ranked, ranked.runs["vt_vt"][0])
    np.testing.assert_allclose(ndcg_QR, ndcg(truth.relevance_QM, score_QM, ranked.ndcg_at), atol=1e-5)


@pytest.mark.parametrize(("width", "decimals"), [(300, 8), (300, 1), (300, 0), (20, 1), (1, 8)])
def test_values_are_those_of_the_metrics_on_whole_lists(width: int, decimals: int) -> None:
    random = np.random.default_rng(0)
    relevance_QN = random.random((12, width)) ** 4
    relevance_QN[0] = 0
    score_QN = (relevance_QN + random.random((12, width))).round(decimals)
    ranked = rankings(relevance_QN, {"v_v": score_QN})
    assert ranked.runs["v_v"][0].row_QK.shape == (12, min(width, DEPTH))
    ndcg_QR, pcc_QR = measure(ranked, ranked.runs["v_v"][0])
    assert (ranked.ndcg_at, ranked.pcc_at) == (
        tuple(rank for rank in NDCG_AT if rank <= width),
        tuple(rank for rank in PCC_AT if rank <= width),
    )
    np.testing.assert_allclose(ndcg_QR, ndcg(relevance_QN, score_QN, ranked.ndcg_at), atol=1e-5)
    np.testing.assert_allclose(pcc_QR, pcc(relevance_QN, score_QN, ranked.pcc_at), atol=1e-4)


def test_images_can_be_left_out() -> None:
    """The values are those of the list without them."""
    random = np.random.default_rng(0)
    relevance_QN, score_QN = random.random((8, 90)) ** 4, random.random((8, 90))
    ranked = rankings(relevance_QN, {"v_v": score_QN})
    kept_N = random.random(ranked.images) < 0.8
    column_M = np.flatnonzero(kept_N[:90])
    ndcg_QR, pcc_QR = measure(ranked, ranked.runs["v_v"][0], kept_N)
    lists = relevance_QN[:, column_M], score_QN[:, column_M]
    np.testing.assert_allclose(ndcg_QR, ndcg(*lists, ranked.ndcg_at), atol=1e-5)
    np.testing.assert_allclose(pcc_QR, pcc(*lists, ranked.pcc_at), atol=1e-4)
