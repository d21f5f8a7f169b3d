from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tasks.search import ranking
from tasks.search.ranking import rank


def sorted_by_hand(query_D: np.ndarray, embedding_ND: np.ndarray, top: int) -> list[int]:
    """Rows by falling score in float32, equal ones by row."""
    scores = [float(query_D @ row_D.astype(np.float32)) for row_D in embedding_ND]
    return sorted(range(len(scores)), key=lambda row: (-scores[row], row))[:top]


# Quarters make many ties, and sums of them are exact in any order.
quarters = st.integers(-4, 4).map(lambda value: value / 4)


@given(
    query_BD=arrays(np.float32, st.tuples(st.integers(1, 3), st.just(3)), elements=quarters),
    embedding_ND=arrays(np.float16, st.tuples(st.integers(0, 30), st.just(3)), elements=quarters),
    top=st.integers(0, 40),
    block=st.integers(1, 12),
)
def test_rows_come_best_first_and_equal_ones_by_row(
    query_BD: np.ndarray, embedding_ND: np.ndarray, top: int, block: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "BLOCK_ROWS", block)
        row_BT, score_BT = rank(query_BD, embedding_ND, top)
    assert row_BT.shape == score_BT.shape == (len(query_BD), min(top, len(embedding_ND)))
    for query_D, row_T, score_T in zip(query_BD, row_BT, score_BT, strict=True):
        assert list(row_T) == sorted_by_hand(query_D, embedding_ND, top)
        assert list(score_T) == [float(query_D @ embedding_ND[row].astype(np.float32)) for row in row_T]


def test_an_image_finds_itself_first_with_a_score_of_one() -> None:
    random = np.random.default_rng(0)
    embedding_ND = random.normal(size=(500, 32))
    embedding_ND = (embedding_ND / np.linalg.norm(embedding_ND, axis=1, keepdims=True)).astype(np.float16)
    query_BD = embedding_ND[[0, 7, 499]].astype(np.float32)
    row_BT, score_BT = rank(query_BD, embedding_ND, 5)
    assert list(row_BT[:, 0]) == [0, 7, 499]
    np.testing.assert_allclose(score_BT[:, 0], 1, atol=2e-3)
    assert (np.diff(score_BT, axis=1) <= 0).all()
    assert score_BT.dtype == np.float32


def test_several_queries_are_answered_as_one_by_one() -> None:
    random = np.random.default_rng(1)
    query_BD = random.normal(size=(6, 8)).astype(np.float32)
    embedding_ND = random.normal(size=(100, 8)).astype(np.float16)
    row_BT, score_BT = rank(query_BD, embedding_ND, 10)
    for number, query_D in enumerate(query_BD):
        alone_1T, score_1T = rank(query_D[None], embedding_ND, 10)
        assert (alone_1T[0] == row_BT[number]).all()
        np.testing.assert_allclose(score_1T[0], score_BT[number], rtol=1e-6)


def test_a_memory_map_serves_as_it_is(tmp_path: Path) -> None:
    embedding_ND = np.random.default_rng(2).normal(size=(40, 4)).astype(np.float16)
    embedding_ND.tofile(tmp_path / "vectors")
    mapped_ND = np.memmap(tmp_path / "vectors", np.float16, "r", shape=(40, 4))
    query_BD = np.ones((1, 4), np.float32)
    for ours, theirs in zip(rank(query_BD, mapped_ND, 7), rank(query_BD, embedding_ND, 7), strict=True):
        assert (ours == theirs).all()
