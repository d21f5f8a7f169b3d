import numpy as np
import pytest
from scipy.sparse import csr_array

from tasks.captions.tfidf import tfidf
from tasks.captions.vocabulary import build_vocabulary
from tasks.evaluation.compare import RANDOM_RUNS, best_methods, compare
from tasks.evaluation.summary import summarise
from tasks.metrics.truth import Truth, make_truth

WORDS = ("dog", "cat", "beach", "snow", "ball", "tree")
IMAGES = 40


@pytest.fixture(scope="module")
def captions() -> dict[str, list[str]]:
    """Captions of two or three words by id, in id order."""
    random = np.random.default_rng(0)
    return {f"{number:02}.jpg": [" ".join(random.permutation(WORDS)[: 2 + number % 2])] for number in range(IMAGES)}


@pytest.fixture(scope="module")
def tfidf_NV(captions: dict[str, list[str]]) -> csr_array:
    listed = list(captions.values())
    return tfidf(listed, build_vocabulary(listed, "english"))


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
    truth: Truth, embeddings: dict[str, np.ndarray]
) -> None:
    methods = compare(truth, embeddings, {}, seed=0)
    assert list(methods) == ["random", "captions", *embeddings]
    aucs = [methods[name].ndcg_auc or 0 for name in ("random", *embeddings, "captions")]
    assert aucs == sorted(aucs)
    assert methods["captions"].ndcg_auc == pytest.approx(100)
    assert methods["captions"].pcc_auc == pytest.approx(100)
    assert abs(methods["random"].pcc_auc or 0) < 10
    assert methods["v_v"].ndcg_auc == pytest.approx(truth.ndcg_auc(embeddings["v_v"]))
    assert compare(truth, embeddings, {}, seed=0) == methods


def test_random_order_is_the_mean_of_seeded_runs(truth: Truth) -> None:
    random = np.random.default_rng(3)
    runs = [random.random(truth.relevance_QM.shape) for _ in range(RANDOM_RUNS)]
    expected = summarise(truth.relevance_QM, {"random": runs}, seed=3)
    assert compare(truth, {}, {}, seed=3)["random"] == expected["random"]
    assert compare(truth, {}, {}, seed=4)["random"] != expected["random"]


def test_people_are_shown_the_best_of_each_kind(truth: Truth, embeddings: dict[str, np.ndarray]) -> None:
    assert best_methods(compare(truth, embeddings, {}, seed=0)) == ["baseline_gap_centred", "regression"]
    untrained = {"baseline_gap": embeddings["baseline_gap"]}
    assert best_methods(compare(truth, untrained, {}, seed=0)) == ["baseline_gap"]
    assert best_methods(compare(truth, {}, {}, seed=0)) == []


def test_a_method_may_ask_by_more_than_the_image(
    truth: Truth, tfidf_NV: csr_array, embeddings: dict[str, np.ndarray]
) -> None:
    both = embeddings | {"vt_vt": embeddings["v_v"]}
    methods = compare(truth, both, {"vt_vt": tfidf_NV.toarray()}, seed=0)
    asked = truth.scores(embeddings["v_v"], tfidf_NV.toarray())
    assert methods["vt_vt"].ndcg == summarise(truth.relevance_QM, {"vt_vt": asked})["vt_vt"].ndcg
    assert methods["v_v"] == compare(truth, embeddings, {}, seed=0)["v_v"]


def test_what_asks_by_captions_is_never_shown_as_the_best(
    truth: Truth, tfidf_NV: csr_array, embeddings: dict[str, np.ndarray]
) -> None:
    methods = compare(truth, embeddings | {"vt_vt": tfidf_NV.toarray()}, {}, seed=0)
    assert methods["vt_vt"].ndcg_auc == pytest.approx(100)
    assert best_methods(methods) == ["baseline_gap_centred", "regression"]
