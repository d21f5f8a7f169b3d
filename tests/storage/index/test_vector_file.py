import os
from pathlib import Path

import numpy as np
import pytest

from storage.errors import StorageError
from storage.index.vector_file import VectorFile
from tasks.search import ranking
from tasks.search.ranking import rank

COUNT, DIMENSION = 300, 8


@pytest.fixture
def embedding_ND() -> np.ndarray:
    value_ND = np.random.default_rng(0).normal(size=(COUNT, DIMENSION))
    return (value_ND / np.linalg.norm(value_ND, axis=1, keepdims=True)).astype(np.float16)


@pytest.fixture
def file(embedding_ND: np.ndarray, tmp_path: Path) -> Path:
    path = tmp_path / "vectors"
    embedding_ND.tofile(path)
    return path


@pytest.mark.parametrize("rows", [0, 299, slice(None), slice(5, 9), slice(290, 400), slice(7, 7), slice(0, 90, 30)])
def test_rows_are_those_of_the_array(rows: int | slice, file: Path, embedding_ND: np.ndarray) -> None:
    np.testing.assert_array_equal(VectorFile(file, embedding_ND.shape, "main")[rows], embedding_ND[rows])


@pytest.mark.parametrize("rows", [[], [4], [9, 2, 2, 299]])
def test_rows_by_number(rows: list[int], file: Path, embedding_ND: np.ndarray) -> None:
    chosen_R = np.array(rows, np.int64)
    np.testing.assert_array_equal(VectorFile(file, embedding_ND.shape, "main")[chosen_R], embedding_ND[chosen_R])


@pytest.mark.parametrize("queries", [1, 20])
def test_a_file_is_ranked_like_the_array(
    queries: int, file: Path, embedding_ND: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "FILE_ROWS", 64)
    query_BD = embedding_ND[:queries].astype(np.float32)
    expected = rank(query_BD, embedding_ND, 5)
    for found, wanted in zip(rank(query_BD, VectorFile(file, embedding_ND.shape, "main"), 5), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_a_file_that_is_truncated_during_a_search_is_an_error(
    file: Path, embedding_ND: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "FILE_ROWS", 64)
    vectors, read = VectorFile(file, embedding_ND.shape, "main"), os.preadv

    def read_and_truncate(*args: object) -> int:
        count = read(*args)  # type: ignore[arg-type]
        os.truncate(file, 1000)
        return count

    monkeypatch.setattr(os, "preadv", read_and_truncate)
    with pytest.raises(StorageError, match="The vectors of the index 'main' were truncated; open it again"):
        rank(embedding_ND[:1].astype(np.float32), vectors, 5)


def test_a_file_that_was_removed_stays_readable(file: Path, embedding_ND: np.ndarray) -> None:
    vectors = VectorFile(file, embedding_ND.shape, "main")
    file.unlink()
    np.testing.assert_array_equal(vectors[:], embedding_ND)
