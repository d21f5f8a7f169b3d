import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tasks.search import ranking
from tasks.search.ranking import rank

RoughScores = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def sorted_by_hand(query_D: np.ndarray, embedding_ND: np.ndarray, top: int) -> list[int]:
    """Rows by falling score in float32, equal ones by row."""
    scores = [float(query_D @ row_D.astype(np.float32)) for row_D in embedding_ND]
    return sorted(range(len(scores)), key=lambda row: (-scores[row], row))[:top]


# Quarters make many ties, and sums of them are exact in any order.
quarters = st.integers(-4, 4).map(lambda value: value / 4)


@given(
    query_BD=arrays(np.float32, st.tuples(st.integers(0, 3), st.just(3)), elements=quarters),
    embedding_ND=arrays(np.float16, st.tuples(st.integers(0, 60), st.just(3)), elements=quarters),
    top=st.integers(0, 40),
    block=st.integers(1, 60),
    few=st.sampled_from([0, 8]),
)
def test_rows_come_best_first_and_equal_ones_by_row(
    query_BD: np.ndarray, embedding_ND: np.ndarray, top: int, block: int, few: int
) -> None:
    with small_blocks(block, few):
        row_BT, score_BT = rank(query_BD, embedding_ND, top)
    assert row_BT.shape == score_BT.shape == (len(query_BD), min(top, len(embedding_ND)))
    for query_D, row_T, score_T in zip(query_BD, row_BT, score_BT, strict=True):
        assert list(row_T) == sorted_by_hand(query_D, embedding_ND, top)
        assert list(score_T) == [float(query_D @ embedding_ND[row].astype(np.float32)) for row in row_T]


@contextmanager
def small_blocks(rows: int, few: int, queries: int = 2) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"BLOCK_ROWS": rows, "FEW_ROWS": rows, "FEW": few, "QUERIES": queries, "VALUES": 7}.items():
            patch.setattr(ranking, name, value)
        yield


def unit(random: np.random.Generator, rows: int, dimension: int) -> np.ndarray:
    values_ND = random.normal(size=(rows, dimension)).astype(np.float32)
    return values_ND / np.linalg.norm(values_ND, axis=1, keepdims=True)


def crowded(random: np.random.Generator, rows: int, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Queries and stored vectors, all so near one another that only exact scores tell their order."""
    all_D = unit(random, rows + 3, dimension) * 1e-3 + unit(random, 1, dimension)
    all_D /= np.linalg.norm(all_D, axis=1, keepdims=True)
    return all_D[:3], all_D[3:].astype(np.float16)


@pytest.mark.parametrize("few", [0, 8])
@pytest.mark.parametrize("dimension", [16, 513])
def test_where_rough_scores_cannot_tell_exact_ones_do(dimension: int, few: int) -> None:
    query_BD, embedding_ND = crowded(np.random.default_rng(3), 700, dimension)
    score_BN = (query_BD.astype(np.float64) @ embedding_ND.T.astype(np.float64)).astype(np.float32)
    with small_blocks(96, few):
        row_BT, score_BT = rank(query_BD, embedding_ND, 20)
    np.testing.assert_array_equal(row_BT, np.argsort(-score_BN, axis=1, kind="stable")[:, :20])
    np.testing.assert_array_equal(score_BT, np.take_along_axis(score_BN, row_BT, axis=1))


@pytest.mark.parametrize("rough", [ranking.float16_scores, ranking.float32_scores])
@pytest.mark.parametrize("dimension", [1, 64, 2048])
def test_rough_scores_are_no_farther_off_than_said(dimension: int, rough: RoughScores) -> None:
    random = np.random.default_rng(4)
    query_BD = np.concatenate([unit(random, 3, dimension), crowded(random, 1, dimension)[0]])
    embedding_ND = np.concatenate([unit(random, 200, dimension), query_BD, -query_BD]).astype(np.float16)
    score_BN, error_B = rough(query_BD, embedding_ND)
    exact_BN = query_BD.astype(np.float64) @ embedding_ND.T.astype(np.float64)
    assert (np.abs(score_BN - exact_BN) <= error_B[:, None]).all()
    assert (error_B < 2e-3).all()


def test_an_answer_depends_on_nothing_but_the_query() -> None:
    query_BD, embedding_ND = crowded(np.random.default_rng(5), 500, 48)
    together = rank(query_BD, embedding_ND, 30)
    for rows, few, queries in ((7, 8, 1), (64, 0, 2), (499, 1, 3)):
        with small_blocks(rows, few, queries):
            for ours, theirs in zip(rank(query_BD, embedding_ND, 30), together, strict=True):
                np.testing.assert_array_equal(ours, theirs)


def test_among_many_copies_the_first_come() -> None:
    embedding_ND = np.tile(unit(np.random.default_rng(6), 1, 8), (300, 1)).astype(np.float16)
    with small_blocks(32, 8):
        row_BT, _ = rank(embedding_ND[:2].astype(np.float32), embedding_ND, 5)
    np.testing.assert_array_equal(row_BT, [range(5)] * 2)


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
        assert (score_1T[0] == score_BT[number]).all()


def test_a_memory_map_serves_as_it_is(tmp_path: Path) -> None:
    embedding_ND = np.random.default_rng(2).normal(size=(40, 4)).astype(np.float16)
    embedding_ND.tofile(tmp_path / "vectors")
    mapped_ND = np.memmap(tmp_path / "vectors", np.float16, "c", shape=(40, 4))
    query_BD = np.ones((1, 4), np.float32)
    for ours, theirs in zip(rank(query_BD, mapped_ND, 7), rank(query_BD, embedding_ND, 7), strict=True):
        assert (ours == theirs).all()


def test_searching_leaves_the_number_of_threads_to_other_threads() -> None:
    """A worker that limited itself made one thread the default: a server's network then ran on one core."""
    script = """
from concurrent.futures import ThreadPoolExecutor
import numpy as np, torch
from tasks.search.ranking import rank

torch.set_num_threads(3)
embedding_ND = np.eye(4, dtype=np.float16)
for queries in (1, 4):
    rank(np.eye(4, dtype=np.float32)[:queries], embedding_ND, 2)
print(torch.get_num_threads(), ThreadPoolExecutor(1).submit(torch.get_num_threads).result())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["3", "3"]
