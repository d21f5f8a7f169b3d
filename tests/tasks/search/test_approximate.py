from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tasks.errors import InputError
from tasks.search import approximate
from tasks.search.approximate import build, load, measure_recall, rank_approximately, save
from tasks.search.ranking import rank

ROWS, DIMENSION = 3000, 32


@pytest.fixture(scope="module")
def embedding_ND() -> np.ndarray:
    """Images in groups, and copies of some."""
    random = np.random.default_rng(0)
    centre_GD = random.normal(size=(30, DIMENSION))
    value_ND = centre_GD[random.integers(30, size=ROWS)] + random.normal(size=(ROWS, DIMENSION))
    value_ND[-50:] = value_ND[100]
    return (value_ND / np.linalg.norm(value_ND, axis=1, keepdims=True)).astype(np.float16)


@pytest.fixture(scope="module")
def index(embedding_ND: np.ndarray) -> Any:
    return build(embedding_ND)


@pytest.fixture(scope="module")
def query_BD() -> np.ndarray:
    """No images of the index."""
    query_BD = np.random.default_rng(1).normal(size=(20, DIMENSION)).astype(np.float32)
    return query_BD / np.linalg.norm(query_BD, axis=1, keepdims=True)


def test_looking_into_all_lists_is_exact_search(index: Any, embedding_ND: np.ndarray, query_BD: np.ndarray) -> None:
    row_BT, score_BT = rank_approximately(index, query_BD, embedding_ND, 10, index.nlist)
    exact_row_BT, exact_score_BT = rank(query_BD, embedding_ND, 10)
    np.testing.assert_array_equal(row_BT, exact_row_BT)
    np.testing.assert_allclose(score_BT, exact_score_BT, atol=1e-6)


@pytest.mark.parametrize("probes", [1, 4])
def test_scores_are_exact_and_best_come_first(
    probes: int, index: Any, embedding_ND: np.ndarray, query_BD: np.ndarray
) -> None:
    row_BT, score_BT = rank_approximately(index, query_BD, embedding_ND, 10, probes)
    own_BT = np.einsum("btd,bd->bt", embedding_ND[row_BT].astype(np.float32), query_BD)
    np.testing.assert_allclose(score_BT, own_BT, atol=1e-6)
    assert (np.diff(score_BT, axis=1) <= 0).all()
    assert all(len(set(row_T)) == 10 for row_T in row_BT)


def test_equal_scores_come_by_row(index: Any, embedding_ND: np.ndarray) -> None:
    row_BT, score_BT = rank_approximately(index, embedding_ND[100:101].astype(np.float32), embedding_ND, 20, 2)
    assert np.ptp(score_BT) < 1e-6
    assert row_BT[0].tolist() == [100, *range(ROWS - 50, ROWS - 31)]


def test_a_query_whose_lists_hold_too_little_is_ranked_exactly(
    index: Any, embedding_ND: np.ndarray, query_BD: np.ndarray
) -> None:
    for top in (ROWS, 2 * ROWS):
        row_BT, score_BT = rank_approximately(index, query_BD, embedding_ND, top, 1)
        np.testing.assert_allclose(score_BT, rank(query_BD, embedding_ND, ROWS)[1], atol=1e-6)
        assert (np.sort(row_BT, axis=1) == np.arange(ROWS)).all()


def slow_recall(index: Any, embedding_ND: np.ndarray, depth: int, probes: int) -> float:
    """By the definition, image by image."""
    sample = np.sort(np.random.default_rng(1).permutation(ROWS)[: approximate.QUERIES])
    shares = []
    for row in sample:
        query_D = embedding_ND[row].astype(np.float32)
        exact_N = np.sort(embedding_ND.astype(np.float32) @ query_D)[::-1]
        found_T = rank_approximately(index, query_D[None], embedding_ND, depth + 1, probes)[1][0]
        shares.append(np.mean(found_T[1:] >= exact_N[depth] - 1e-6))
    return float(np.mean(shares))


def test_recall_is_the_share_of_the_nearest_that_is_found(index: Any, embedding_ND: np.ndarray) -> None:
    recall = measure_recall(index, embedding_ND)
    assert recall == measure_recall(index, embedding_ND)
    assert list(recall) == [10, 100]
    for depth, by_probes in recall.items():
        assert list(by_probes) == [2**power for power in range(len(by_probes))]
        assert max(by_probes) <= index.nlist // 4
        for probes, share in by_probes.items():
            assert share == pytest.approx(slow_recall(index, embedding_ND, depth, probes))
    assert recall[10][max(recall[10])] > recall[10][1] > 0.3


def test_vectors_beyond_memory_are_held_as_codes_and_scored_exactly(
    embedding_ND: np.ndarray, query_BD: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(approximate, "FLAT_ROWS", 100)
    monkeypatch.setattr(approximate, "BLOCK_ROWS", 700)
    index = build(embedding_ND)
    assert (type(index).__name__, index.ntotal) == ("IndexIVFPQ", ROWS)
    row_BT, score_BT = rank_approximately(index, query_BD, embedding_ND, 10, index.nlist)
    exact_row_BT, exact_score_BT = rank(query_BD, embedding_ND, 10)
    assert np.mean([len({*found} & {*exact}) / 10 for found, exact in zip(row_BT, exact_row_BT, strict=True)]) > 0.9
    own_BT = np.einsum("btd,bd->bt", embedding_ND[row_BT].astype(np.float32), query_BD)
    np.testing.assert_allclose(score_BT, own_BT, atol=1e-6)
    assert exact_score_BT.mean() - score_BT.mean() < 0.01


def test_what_is_saved_answers_the_same(
    index: Any, embedding_ND: np.ndarray, query_BD: np.ndarray, tmp_path: Path
) -> None:
    save(index, tmp_path / "index")
    before = rank_approximately(index, query_BD, embedding_ND, 10, 3)
    after = rank_approximately(load(tmp_path / "index"), query_BD, embedding_ND, 10, 3)
    np.testing.assert_array_equal(before[0], after[0])
    with pytest.raises(InputError, match=r"Cannot write .*none/index"):
        save(index, tmp_path / "none" / "index")


@pytest.mark.parametrize(("rows", "dimension"), [(1, 5), (2, 1), (41, 7)])
def test_few_rows_of_any_width_are_no_trouble(rows: int, dimension: int) -> None:
    value_ND = np.random.default_rng(2).normal(size=(rows, dimension))
    embedding_ND = (value_ND / np.linalg.norm(value_ND, axis=1, keepdims=True)).astype(np.float16)
    index = build(embedding_ND)
    assert measure_recall(index, embedding_ND) == {10: {}, 100: {}}
    row_BT, _ = rank_approximately(index, embedding_ND.astype(np.float32), embedding_ND, rows, 1)
    np.testing.assert_array_equal(row_BT, rank(embedding_ND.astype(np.float32), embedding_ND, rows)[0])
