import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import Client, LocalCluster
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array, random_array

from tasks.surrogate.neighbours import (
    SLACK,
    nearest_neighbours,
    neighbour_count,
    neighbour_table,
    neighbours_from,
)

# Few columns and whole numbers: many equal similarities, and sums without rounding.
counts = st.integers(1, 40).flatmap(
    lambda rows: arrays(np.float64, (rows, 3), elements=st.sampled_from([0, 0, 1, 2, -1]))
)


def slow_neighbours(value_NV: np.ndarray, k: int, copies: np.ndarray) -> tuple[list[list[int]], list[list[float]]]:
    """From the whole matrix of similarities, sorted row by row."""
    index, similarity = [], []
    for row, scores in enumerate((value_NV @ value_NV.T).tolist()):
        others = [column for column, s in enumerate(scores) if s > 0 and copies[column] != copies[row]]
        best = sorted(others, key=lambda column: (-scores[column], column))[:k]
        index.append(best + [-1] * (k - len(best)))
        similarity.append([scores[column] for column in best] + [0.0] * (k - len(best)))
    return index, similarity


def generated(rows: int, stems: int = 500, seed: int = 0) -> csr_array:
    """Rows of unit length with some 20 weighted stems each."""
    rng = np.random.default_rng(seed)
    value_NV = random_array((rows, stems), density=20 / stems, format="csr", rng=rng)
    length_N = np.sqrt(value_NV.multiply(value_NV).sum(1))
    return csr_array(value_NV.multiply(1 / np.maximum(length_N, 1e-9)[:, None]))


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        yield client


@given(st.data(), counts, st.integers(1, 6), st.integers(1, 50))
def test_equals_the_sorted_rows_of_the_whole_matrix(
    data: st.DataObject, value_NV: np.ndarray, k: int, block_rows: int
) -> None:
    copies = data.draw(arrays(np.int64, len(value_NV), elements=st.integers(0, 9)) | st.none())
    index_NK, similarity_NK = nearest_neighbours(csr_array(value_NV), k, copies=copies, block_rows=block_rows)
    expected = slow_neighbours(value_NV, k, np.arange(len(value_NV)) if copies is None else copies)
    assert (index_NK.tolist(), similarity_NK.tolist()) == expected


def test_equal_similarities_past_the_cut_come_by_row_order() -> None:
    rows = 3 * (2 + SLACK)
    index_NK, similarity_NK = nearest_neighbours(csr_array(np.ones((rows, 1))), 2)
    assert index_NK[0].tolist() == [1, 2]
    assert index_NK[1].tolist() == [0, 2]
    assert (index_NK[2:] == [0, 1]).all()
    assert (similarity_NK == 1).all()


def test_many_copies_leave_the_others_to_be_found() -> None:
    copied = np.array([[3.0, 0.0]] * (2 * SLACK) + [[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    copies = np.array([0] * (2 * SLACK) + [1, 2, 3])
    index_NK, _ = nearest_neighbours(csr_array(copied), 3, copies=copies)
    assert index_NK[0].tolist() == [2 * SLACK, 2 * SLACK + 1, -1]


def test_a_row_without_stems_has_no_neighbour_and_is_none() -> None:
    index_NK, similarity_NK = nearest_neighbours(csr_array(np.array([[1.0], [0.0], [1.0]])), 4)
    assert index_NK.tolist() == [[2, -1, -1, -1], [-1] * 4, [0, -1, -1, -1]]
    assert similarity_NK.tolist() == [[1, 0, 0, 0], [0] * 4, [1, 0, 0, 0]]


def test_blocks_and_clients_change_nothing(client: Client) -> None:
    tfidf_NV, copies = generated(300), np.arange(300) // 2
    whole = nearest_neighbours(tfidf_NV, 5, copies=copies, block_rows=300)
    np.testing.assert_array_equal(whole[0], slow_neighbours(tfidf_NV.toarray(), 5, copies)[0])
    for block_rows, spread in [(1, None), (7, None), (64, client), (1000, client)]:
        answer = nearest_neighbours(tfidf_NV, 5, copies=copies, block_rows=block_rows, client=spread)
        for found, expected in zip(answer, whole, strict=True):
            np.testing.assert_array_equal(found, expected)


def test_progress_counts_rows() -> None:
    steps: list[int] = []
    nearest_neighbours(generated(20), 3, block_rows=8, on_step=steps.append)
    assert steps == [8, 8, 4]


def test_no_rows_give_no_neighbours() -> None:
    index_NK, similarity_NK = nearest_neighbours(csr_array((0, 5)), 3)
    assert index_NK.shape == similarity_NK.shape == (0, 3)


def test_the_whole_matrix_is_never_held() -> None:
    tfidf_NV = generated(5_000)
    tracemalloc.start()
    try:
        nearest_neighbours(tfidf_NV, 32)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5_000 * 5_000 * 8 / 10


@pytest.mark.parametrize(("images", "k"), [(2, 1), (8, 1), (9, 2), (40, 9), (128, 31), (129, 32), (6000, 32)])
def test_neighbour_count(images: int, k: int) -> None:
    assert neighbour_count(images) == k
    assert neighbour_count(images, most=4) == min(4, k)


def test_the_table_names_neighbours_best_first(tmp_path: Path) -> None:
    index_NK = np.array([[2, 1], [-1, -1], [0, -1]])
    similarity_NK = np.array([[0.5, 0.25], [0, 0], [0.5, 0]])
    image_ids = pa.chunked_array([["a"], ["b", "c"]])
    pq.write_table(neighbour_table(image_ids, index_NK, similarity_NK), tmp_path / "neighbours.parquet")
    table = pq.read_table(tmp_path / "neighbours.parquet")
    assert table.to_pylist() == [
        {"image_id": "a", "neighbours": ["c", "b"], "similarities": [0.5, 0.25]},
        {"image_id": "b", "neighbours": [], "similarities": []},
        {"image_id": "c", "neighbours": ["a"], "similarities": [0.5]},
    ]
    np.testing.assert_array_equal(neighbours_from(table), index_NK)


@given(counts, st.integers(1, 6))
def test_the_table_gives_the_index_back_as_wide_as_its_longest_list(value_NV: np.ndarray, k: int) -> None:
    index_NK, similarity_NK = nearest_neighbours(csr_array(value_NV), k)
    image_ids = pa.chunked_array([[f"image {row}" for row in range(len(value_NV))]])
    longest = max(1, (index_NK >= 0).sum(1).max())
    table = neighbour_table(image_ids, index_NK, similarity_NK)
    np.testing.assert_array_equal(neighbours_from(table), index_NK[:, :longest])
