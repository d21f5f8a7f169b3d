import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.captions.vocabulary import Vocabulary, build_vocabulary, vocabulary_from, vocabulary_table
from tests.shared import DATA, with_shared

CAPTIONS = [
    ["A dog runs", "two dogs running on grass"],
    ["the dogs ran away", "dogs bark"],
    ["Grass & a red ball"],
    [],
]


@pytest.fixture
def vocabulary() -> Vocabulary:
    return build_vocabulary(CAPTIONS, "english")


def frequency(vocabulary: Vocabulary, stem: str) -> int:
    return int(vocabulary.document_frequency_V[vocabulary.index[stem]])


def test_document_frequency_counts_images_not_captions(vocabulary: Vocabulary) -> None:
    assert vocabulary.documents == 4
    assert [frequency(vocabulary, stem) for stem in ("dog", "run", "grass", "ball", "a")] == [2, 1, 2, 1, 2]


def test_stems_are_sorted_and_indexed(vocabulary: Vocabulary) -> None:
    assert list(vocabulary.stems) == sorted(set(vocabulary.stems))
    assert [vocabulary.index[stem] for stem in vocabulary.stems] == list(range(len(vocabulary.stems)))


def test_the_word_of_a_stem_is_its_most_frequent_form(vocabulary: Vocabulary) -> None:
    shown = dict(zip(vocabulary.stems, vocabulary.words, strict=True))
    assert shown["dog"] == "dogs"
    assert shown["run"] == "running"  # as often as "runs", and before it


def test_idf_is_the_logarithm_of_images_per_image_with_the_stem(vocabulary: Vocabulary) -> None:
    for stem, idf in zip(vocabulary.stems, vocabulary.idf_V, strict=True):
        assert math.isclose(idf, math.log(4 / frequency(vocabulary, stem)))


@pytest.mark.parametrize("captions", [CAPTIONS, [[]], []])
def test_the_table_gives_the_vocabulary_back(captions: list[list[str]], tmp_path: Path) -> None:
    vocabulary = build_vocabulary(captions, "english")
    pq.write_table(vocabulary_table(vocabulary), tmp_path / "vocabulary.parquet")
    again = vocabulary_from(pq.read_table(tmp_path / "vocabulary.parquet"))
    for name in ("language", "documents", "stems", "words"):
        assert getattr(again, name) == getattr(vocabulary, name)
    np.testing.assert_array_equal(again.document_frequency_V, vocabulary.document_frequency_V)
    np.testing.assert_array_equal(again.idf_V, vocabulary.idf_V)


def test_the_table_says_what_the_contract_says(vocabulary: Vocabulary) -> None:
    table = vocabulary_table(vocabulary)
    assert table.schema.names == ["stem", "word", "index", "document_frequency", "idf"]
    assert table["index"].type == pa.int32()
    assert table["index"].to_pylist() == list(range(table.num_rows))


@with_shared
def test_flickr8k_has_5048_stems() -> None:
    folder = DATA / "flickr8k"
    train = (folder / "Flickr_8k.trainImages.txt").read_text().split()
    captions: dict[str, list[str]] = {name: [] for name in train}
    for line in (folder / "Flickr8k.token.txt").read_text(encoding="utf-8").splitlines():
        name, _, text = line.partition("\t")
        captions.get(name.rpartition("#")[0], []).append(text)
    vocabulary = build_vocabulary([captions[name] for name in train], "english")
    assert (vocabulary.documents, len(vocabulary.stems)) == (6000, 5048)
