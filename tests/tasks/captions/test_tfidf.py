import math
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from tasks.captions.stems import stem, tokenise
from tasks.captions.tfidf import tfidf, tfidf_from, tfidf_table
from tasks.captions.vocabulary import build_vocabulary

bags = st.lists(
    st.lists(
        st.lists(st.sampled_from(["dog", "dogs", "run", "ball", "the", "zebra", "?"])).map(" ".join),
        max_size=3,
    ),
    min_size=1,
    max_size=6,
)
CAPTIONS = [["the dog runs", "a dog"], ["the ball"], ["the the the"], [], ["zebra dog ball the"]]


def slow_tfidf(captions_N: list[list[str]], train_N: list[list[str]]) -> list[dict[str, float]]:
    """Stem → weight of each image, from METHOD.md 2 word by word."""
    train_stems = [{stem(word, "english") for text in texts for word in tokenise(text)} for texts in train_N]
    frequency = Counter(name for stems in train_stems for name in stems)
    rows = []
    for texts in captions_N:
        counts = Counter(stem(word, "english") for text in texts for word in tokenise(text))
        row = {name: n * math.log(len(train_N) / frequency[name]) for name, n in counts.items() if name in frequency}
        length = math.sqrt(sum(weight**2 for weight in row.values()))
        rows.append({name: weight / length for name, weight in row.items() if weight > 0})
    return rows


@given(bags, bags)
def test_equals_the_formula(captions: list[list[str]], train: list[list[str]]) -> None:
    vocabulary = build_vocabulary(train, "english")
    dense_NV = tfidf(captions, vocabulary).toarray()
    for row, expected in zip(dense_NV, slow_tfidf(captions, train), strict=True):
        found = {name: weight for name, weight in zip(vocabulary.stems, row, strict=True) if weight}
        assert found.keys() == expected.keys()
        np.testing.assert_allclose([found[name] for name in expected], list(expected.values()), rtol=1e-12)


@given(bags)
def test_rows_have_unit_length_or_are_empty(captions: list[list[str]]) -> None:
    tfidf_NV = tfidf(captions, build_vocabulary(captions, "english"))
    length_N = np.sqrt(tfidf_NV.multiply(tfidf_NV).sum(1))
    np.testing.assert_allclose(length_N, np.diff(tfidf_NV.indptr) > 0)
    assert np.isfinite(tfidf_NV.data).all()


def test_images_without_a_weighted_stem_are_empty_rows() -> None:
    train = [["a dog"], ["a ball"]]
    tfidf_NV = tfidf([["a"], [], ["unheard words"], ["???"], ["a dog"]], build_vocabulary(train, "english"))
    assert np.diff(tfidf_NV.indptr).tolist() == [0, 0, 0, 0, 1]
    assert tfidf_NV.dtype == np.float64


def test_columns_rise_within_a_row() -> None:
    tfidf_NV = tfidf(CAPTIONS, build_vocabulary(CAPTIONS, "english"))
    assert tfidf_NV.has_sorted_indices


def test_the_table_gives_the_matrix_back(tmp_path: Path) -> None:
    tfidf_NV = tfidf(CAPTIONS, build_vocabulary(CAPTIONS, "english"))
    table = tfidf_table([f"image {row}" for row in range(len(CAPTIONS))], tfidf_NV)
    pq.write_table(table, tmp_path / "tfidf.parquet")
    again = pq.read_table(tmp_path / "tfidf.parquet")
    assert again["image_id"].to_pylist()[0] == "image 0"
    np.testing.assert_array_equal(tfidf_from(again).toarray(), tfidf_NV.toarray())
    np.testing.assert_array_equal(tfidf_from(again.slice(1, 3)).toarray(), tfidf_NV.toarray()[1:4])


def test_an_empty_table_gives_no_rows(tmp_path: Path) -> None:
    pq.write_table(tfidf_table([], tfidf([], build_vocabulary(CAPTIONS, "english"))), tmp_path / "tfidf.parquet")
    assert tfidf_from(pq.read_table(tmp_path / "tfidf.parquet")).shape[0] == 0
