import numpy as np
import pytest
from PIL import Image
from scipy.sparse import csr_array

from tasks.captions.tfidf import tfidf
from tasks.captions.vocabulary import build_vocabulary
from tasks.evaluation.compare import RANDOM_RUNS, compare, make_examples, shown_methods
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
    methods = compare(truth, embeddings, seed=0)
    assert list(methods) == ["random", "captions", *embeddings]
    aucs = [methods[name].ndcg_auc or 0 for name in ("random", *embeddings, "captions")]
    assert aucs == sorted(aucs)
    assert methods["captions"].ndcg_auc == pytest.approx(100)
    assert methods["captions"].pcc_auc == pytest.approx(100)
    assert abs(methods["random"].pcc_auc or 0) < 10
    assert methods["v_v"].ndcg_auc == pytest.approx(truth.ndcg_auc(embeddings["v_v"]))
    assert compare(truth, embeddings, seed=0) == methods


def test_random_order_is_the_mean_of_seeded_runs(truth: Truth) -> None:
    random = np.random.default_rng(3)
    runs = [random.random(truth.relevance_QM.shape) for _ in range(RANDOM_RUNS)]
    expected = summarise(truth.relevance_QM, {"random": runs}, seed=3)
    assert compare(truth, {}, seed=3)["random"] == expected["random"]
    assert compare(truth, {}, seed=4)["random"] != expected["random"]


def test_people_are_shown_the_best_of_each_kind(truth: Truth, embeddings: dict[str, np.ndarray]) -> None:
    assert shown_methods(compare(truth, embeddings, seed=0)) == ["baseline_gap_centred", "regression"]
    untrained = {"baseline_gap": embeddings["baseline_gap"]}
    assert shown_methods(compare(truth, untrained, seed=0)) == ["baseline_gap"]
    assert shown_methods(compare(truth, {}, seed=0)) == []


def test_examples_are_seeded_queries_with_each_methods_first_hits(
    truth: Truth, tfidf_NV: csr_array, captions: dict[str, list[str]], embeddings: dict[str, np.ndarray]
) -> None:
    asked: list[str] = []

    def read_image(image_id: str) -> Image.Image:
        asked.append(image_id)
        return Image.new("RGB", (30, 20), "green")

    shown = {"baseline": embeddings["baseline_gap"], "trained": embeddings["regression"]}
    examples = make_examples(truth, tfidf_NV, captions, shown, read_image, count=3, seed=0)
    ids = list(captions)
    queries = [ids[row] for row in np.random.default_rng(0).permutation(truth.query_Q)[:3]]
    assert [example.query_id for example in examples] == queries
    for example in examples:
        row = ids.index(example.query_id)
        assert example.captions == tuple(captions[example.query_id])
        for label, embedding_ND in shown.items():
            score_N = embedding_ND @ embedding_ND[row]
            best = [ids[n] for n in np.argsort(-score_N, kind="stable") if n != row]
            hits = example.hits[label]
            assert [hit.image_id for hit in hits] == best[: len(hits)]
            assert len(hits) == 7
            similarity_N = (tfidf_NV @ tfidf_NV[[row]].T).toarray().ravel()
            assert [hit.similarity for hit in hits] == pytest.approx(
                [similarity_N[ids.index(h.image_id)] for h in hits]
            )
    assert set(queries) <= set(asked) <= set(ids)


def test_there_are_no_more_examples_than_queries(
    truth: Truth, tfidf_NV: csr_array, captions: dict[str, list[str]], embeddings: dict[str, np.ndarray]
) -> None:
    shown = {"trained": embeddings["regression"]}
    picture = Image.new("RGB", (8, 8))
    examples = make_examples(truth, tfidf_NV, captions, shown, lambda _: picture, count=99, seed=0)
    assert sorted(example.query_id for example in examples) == [list(captions)[row] for row in truth.query_Q]
