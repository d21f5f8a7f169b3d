import numpy as np
import pytest
from PIL import Image

from tasks.captions.tfidf import tfidf
from tasks.captions.vocabulary import Vocabulary, build_vocabulary
from tasks.evaluation.examples import Gallery, make_examples, make_steered_examples
from tasks.model.text_model import TextModel

WORDS = ("dog", "cat", "beach", "snow", "ball", "tree", "boat", "lake", "road", "moon")
RARE = tuple(f"thing{number}" for number in range(20))
IMAGES = 40
QUERY_Q = np.arange(0, IMAGES, 2)


@pytest.fixture(scope="module")
def captions() -> dict[str, list[str]]:
    """By id, in id order: of three in four images one word in twenty, of all two frequent ones."""
    random = np.random.default_rng(0)
    return {
        f"{number:02}.jpg": [" ".join(random.permutation(WORDS)[:2]), RARE[number % 20] if number % 4 else "a moon"]
        for number in range(IMAGES)
    }


@pytest.fixture(scope="module")
def vocabulary(captions: dict[str, list[str]]) -> Vocabulary:
    return build_vocabulary(list(captions.values()), "english")


@pytest.fixture
def asked() -> list[str]:
    """The images that were read."""
    return []


@pytest.fixture
def gallery(captions: dict[str, list[str]], vocabulary: Vocabulary, asked: list[str]) -> Gallery:
    def read_image(image_id: str) -> Image.Image:
        asked.append(image_id)
        return Image.new("RGB", (30, 20), "green")

    return Gallery(captions, tfidf(list(captions.values()), vocabulary), read_image)


@pytest.fixture(scope="module")
def embedding_ND() -> np.ndarray:
    value_ND = np.random.default_rng(1).normal(size=(IMAGES, 5))
    return value_ND / np.linalg.norm(value_ND, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def text(vocabulary: Vocabulary) -> TextModel:
    text_VD = np.random.default_rng(2).normal(size=(len(vocabulary.stems), 5)).astype(np.float32)
    return TextModel(vocabulary, text_VD)


def found(ids: list[str], score_N: np.ndarray, query: str, top: int) -> list[str]:
    """The first hits, slowly."""
    return [ids[n] for n in np.argsort(-score_N, kind="stable") if ids[n] != query][:top]


def test_examples_are_seeded_queries_with_each_methods_first_hits(
    gallery: Gallery, embedding_ND: np.ndarray, asked: list[str]
) -> None:
    embeddings = {"baseline": embedding_ND, "trained": embedding_ND[:, ::-1] ** 3}
    examples = make_examples(gallery, QUERY_Q, embeddings, count=3, seed=0)
    ids = list(gallery.captions)
    queries = [ids[row] for row in np.random.default_rng(0).permutation(QUERY_Q)[:3]]
    assert [example.query_id for example in examples] == queries
    for example in examples:
        row = ids.index(example.query_id)
        assert example.captions == tuple(gallery.captions[example.query_id])
        for label, each_ND in embeddings.items():
            hits = example.hits[label]
            assert [hit.image_id for hit in hits] == found(ids, each_ND @ each_ND[row], example.query_id, 7)
            similarity_N = (gallery.tfidf_NV @ gallery.tfidf_NV[[row]].T).toarray().ravel()
            assert [hit.similarity for hit in hits] == pytest.approx(
                [similarity_N[ids.index(hit.image_id)] for hit in hits]
            )
    assert set(queries) <= set(asked) <= set(ids)


def test_there_are_no_more_examples_than_queries(gallery: Gallery, embedding_ND: np.ndarray) -> None:
    examples = make_examples(gallery, QUERY_Q, {"trained": embedding_ND}, count=99, seed=0)
    assert sorted(example.query_id for example in examples) == [list(gallery.captions)[row] for row in QUERY_Q]


def test_words_of_the_query_are_removed_and_others_added(
    gallery: Gallery, embedding_ND: np.ndarray, text: TextModel
) -> None:
    examples = make_steered_examples(gallery, QUERY_Q, embedding_ND, text, count=3, seed=0)
    assert examples == make_steered_examples(gallery, QUERY_Q, embedding_ND, text, count=3, seed=0)
    assert len(examples) == 3
    ids = list(gallery.captions)
    for example in examples:
        row = ids.index(example.query_id)
        alone, added, removed = example.hits
        assert alone == "image only"
        assert (added[:2], removed[:2]) == ("+ ", "- ")
        words = {word for caption in example.captions for word in caption.split()}
        assert added[2:] in set(RARE) - words
        assert removed[2:] in set(RARE) & words
        moves = {alone: 0.0, added: 1.0, removed: -0.5}
        for label, weight in moves.items():
            theta_D = 0 if label == alone else text.embed(label[2:])
            asked_D = embedding_ND[row] + weight * theta_D
            hits = [hit.image_id for hit in example.hits[label]]
            assert hits == found(ids, embedding_ND @ asked_D, example.query_id, 5)


def test_a_query_without_a_word_to_remove_is_passed_over(
    gallery: Gallery, embedding_ND: np.ndarray, text: TextModel
) -> None:
    examples = make_steered_examples(gallery, QUERY_Q, embedding_ND, text, count=99, seed=0)
    ids = list(gallery.captions)
    assert sorted(example.query_id for example in examples) == [ids[row] for row in QUERY_Q if row % 4]
    wordless = TextModel(text.vocabulary, 0 * text.text_VT)
    assert make_steered_examples(gallery, QUERY_Q, embedding_ND, wordless, count=3, seed=0) == []
