from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from tasks.captions.tfidf import tfidf
from tasks.captions.vocabulary import build_vocabulary, vocabulary_table
from tasks.errors import InputError
from tasks.model.persistence import VOCABULARY
from tasks.model.text_model import TEXT, TextModel, load_text, save_text

VOCABULARY_OF = build_vocabulary([["a dog runs"], ["a boat on a lake"], ["a dog on a boat"]], "english")


@pytest.fixture
def text() -> TextModel:
    rng = np.random.default_rng(0)
    return TextModel(VOCABULARY_OF, rng.normal(size=(len(VOCABULARY_OF.stems), 4)).astype(np.float32))


@pytest.fixture
def folder(text: TextModel, tmp_path: Path) -> Path:
    pq.write_table(vocabulary_table(VOCABULARY_OF), tmp_path / VOCABULARY)
    save_text(text.text_VT, tmp_path)
    return tmp_path


def test_a_phrase_by_the_formula(text: TextModel) -> None:
    expected_D = (tfidf([["a running dog"]], VOCABULARY_OF) @ text.text_VT)[0]
    np.testing.assert_allclose(text.embed("a running dog"), expected_D / np.linalg.norm(expected_D), rtol=1e-5)


def test_forms_of_a_word_are_one(text: TextModel) -> None:
    one, other = text.embed("DOGS running"), text.embed("dog run")
    assert one is not None
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("phrase", ["", "  ", "zeppelin", "🐶", "a"])  # `a` is in every caption: it has no weight
def test_a_phrase_that_says_nothing_is_nowhere(text: TextModel, phrase: str) -> None:
    assert text.embed(phrase) is None


def test_captions_of_an_image_are_one_bag(text: TextModel) -> None:
    embedding_ND = text.embed_bags([["a dog", "it runs"], ["a zeppelin"], [], ["a lake"]])
    np.testing.assert_array_equal(embedding_ND[0], text.embed("a dog it runs"))
    np.testing.assert_array_equal(embedding_ND[3], text.embed("a lake"))
    np.testing.assert_array_equal(embedding_ND[1:3], np.zeros((2, 4)))
    assert embedding_ND.dtype == np.float32


def test_words_ask_for_certainty_unless_they_are_unwanted(text: TextModel) -> None:
    plain_T, sure = text.embed("a dog"), replace(text, certainty=0.6)
    assert plain_T is not None
    theta_D = np.array([0.6, *plain_T]) / np.sqrt(1.36)
    np.testing.assert_allclose(sure.embed("a dog"), theta_D, rtol=1e-5)
    np.testing.assert_allclose(sure.embed("a dog", wanted=False), [0, *plain_T], rtol=1e-5)
    assert sure.embed("zeppelin") is sure.embed("zeppelin", wanted=False) is None


@pytest.mark.parametrize("certainty", [None, 0.6])
def test_each_stem_goes_where_its_word_goes(text: TextModel, certainty: float | None) -> None:
    text = replace(text, certainty=certainty)
    for stem, theta_D in zip(text.vocabulary.stems, text.stem_VD, strict=True):
        if (alone_D := text.embed(stem)) is not None:  # `a` has no weight
            np.testing.assert_allclose(theta_D, alone_D, rtol=1e-5)
    assert not replace(text, text_VT=0 * text.text_VT).stem_VD.any()


def test_unknown_words_are_named_with_known_ones_of_like_spelling(text: TextModel) -> None:
    assert text.unknown("a Zeppelin and dogs") == ["zeppelin", "and"]
    assert text.suggest("boats") == ["boat"]
    assert text.suggest("zeppelin") == []
    assert text.suggest("bat") == ["boat"]
    assert text.suggest("bonnet") == []  # too poor a guess for boat


@pytest.mark.parametrize("certainty", [None, 0.6])
def test_at_rest_it_stays_what_it_was(text: TextModel, folder: Path, certainty: float | None) -> None:
    save_text(text.text_VT, folder, certainty)
    loaded = load_text(folder)
    assert loaded is not None
    assert loaded.certainty == certainty
    assert loaded.vocabulary.stems == text.vocabulary.stems
    np.testing.assert_allclose(loaded.text_VT, text.text_VT, atol=2e-3)


def test_a_model_without_words_has_none(folder: Path) -> None:
    (folder / TEXT).unlink()
    assert load_text(folder) is None


def test_damage_is_said(folder: Path) -> None:
    (folder / TEXT).write_bytes((folder / TEXT).read_bytes()[:20])
    with pytest.raises(InputError, match="cannot be loaded"):
        load_text(folder)


def test_a_prefix_is_completed_by_what_tells_most(text: TextModel) -> None:
    assert text.complete("the B", 5) == [("boat", 2)]
    assert text.complete("", 5) == []
    frequency = dict(zip(VOCABULARY_OF.words, VOCABULARY_OF.document_frequency_V, strict=True))
    assert all(count == frequency[word] for word, count in text.complete("d", 5))
    assert text.complete("a", 5) == []  # it is in every caption


def test_what_completes_nothing_is_spelled_like_something(text: TextModel) -> None:
    assert text.complete("baot", 5) == [("boat", 2)]
    assert text.complete("zzz", 5) == []
    assert len(text.complete("o", 1)) == 1
