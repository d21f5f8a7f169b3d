from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from storage.tables import (
    matrix,
    metadata_of,
    read_batches,
    read_table,
    table_writer,
    vectors,
    with_metadata,
    write_table,
)

TABLE = pa.table({"image_id": ["a", "b", "c"], "captions": [["one", "two"], [], ["é"]]})


def values(dtype: type = np.float32, rows: int = 6) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(rows, 4)).astype(dtype)


def test_a_table_comes_back_whole_or_by_column(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "table.parquet"
    write_table(path, TABLE)
    assert read_table(path) == TABLE
    assert read_table(path, ["captions"]).column_names == ["captions"]


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_vectors_come_back_from_a_file_as_they_were(dtype: type, tmp_path: Path) -> None:
    schema = pa.schema([("embedding", pa.list_(pa.from_numpy_dtype(dtype), 4))])
    with table_writer(tmp_path / "part.parquet", schema) as write:
        for rows in (values(dtype)[:4], values(dtype)[4:]):
            write(pa.record_batch([vectors(rows)], schema=schema))
    column = read_table(tmp_path / "part.parquet")["embedding"]
    assert column.type == pa.list_(pa.from_numpy_dtype(dtype), 4)
    assert matrix(column).dtype == dtype
    np.testing.assert_array_equal(matrix(column), values(dtype))
    np.testing.assert_array_equal(matrix(column.slice(1, 3)), values(dtype)[1:4])


def test_vectors_stay_plainly_encoded(tmp_path: Path) -> None:
    schema = pa.schema([("embedding", pa.list_(pa.float16(), 4))])
    with table_writer(tmp_path / "part.parquet", schema) as write:
        write(pa.record_batch([vectors(values(np.float16))], schema=schema))
    encodings = pq.ParquetFile(tmp_path / "part.parquet").metadata.row_group(0).column(0).encodings
    assert set(encodings) <= {"PLAIN", "RLE"}


def test_vectors_share_the_memory_of_their_matrix() -> None:
    values_ND = values()
    assert np.shares_memory(values_ND, vectors(values_ND).flatten().to_numpy())


def test_no_vectors_are_a_matrix_without_rows() -> None:
    assert matrix(pa.chunked_array([vectors(values(rows=0))])).shape == (0, 4)
    assert matrix(pa.chunked_array([], pa.list_(pa.float32(), 4))).shape == (0, 4)


def test_metadata_is_kept_in_the_file(tmp_path: Path) -> None:
    schema = with_metadata(pa.schema([("image_id", pa.string())]), {"model": "scenekin", "version": "3"})
    with table_writer(tmp_path / "part.parquet", schema):
        pass
    assert metadata_of(tmp_path / "part.parquet") == {"model": "scenekin", "version": "3"}
    write_table(tmp_path / "plain.parquet", TABLE)
    assert metadata_of(tmp_path / "plain.parquet") == {}


def test_a_file_is_read_in_batches_of_rows(tmp_path: Path) -> None:
    write_table(tmp_path / "table.parquet", TABLE)
    batches = list(read_batches(tmp_path / "table.parquet", ["image_id", "captions"], rows=2))
    assert [batch.num_rows for batch in batches] == [2, 1]
    assert pa.Table.from_batches(batches) == TABLE
