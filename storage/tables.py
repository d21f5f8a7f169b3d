"""Parquet in and out: whole tables, and streams of row batches."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

GROUP_ROWS = 1024
WRITING = {"compression": "zstd", "use_dictionary": False}


def write_table(path: Path, table: pa.Table) -> None:
    """One table as one file; folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, **WRITING)


def read_table(path: Path, columns: list[str] | None = None) -> pa.Table:
    """One file as one table."""
    return pq.read_table(path, columns=columns)


@contextmanager
def table_writer(path: Path, schema: pa.Schema) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """Give a function that writes row batches one after another, so that the whole is never held.

    Row groups have one size whatever the batches', so equal rows give equal files. Vectors stay plainly encoded.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    waiting = pa.Table.from_batches([], schema)
    with pq.ParquetWriter(path, schema, **WRITING) as writer:

        def write(batch: pa.RecordBatch) -> None:
            nonlocal waiting
            waiting = pa.concat_tables([waiting, pa.Table.from_batches([batch]).cast(schema)])
            while waiting.num_rows >= GROUP_ROWS:
                writer.write_table(waiting.slice(0, GROUP_ROWS).combine_chunks())
                waiting = waiting.slice(GROUP_ROWS)

        yield write
        if waiting.num_rows:
            writer.write_table(waiting.combine_chunks())


def vectors(values_ND: np.ndarray) -> pa.FixedSizeListArray:
    """Rows of a matrix as fixed-size lists, without a copy."""
    return pa.FixedSizeListArray.from_arrays(pa.array(values_ND.reshape(-1)), values_ND.shape[1])


def matrix(column: pa.ChunkedArray) -> np.ndarray:
    """The inverse of `vectors`: values_ND of a fixed-size list column."""
    array = column.combine_chunks()
    values_ND: np.ndarray = array.flatten().to_numpy(zero_copy_only=False).reshape(len(array), array.type.list_size)
    return values_ND


def metadata_of(path: Path) -> dict[str, str]:
    """A file's key-value metadata."""
    return {key.decode(): value.decode() for key, value in (pq.read_schema(path).metadata or {}).items()}


def with_metadata(schema: pa.Schema, metadata: Mapping[str, str]) -> pa.Schema:
    """The schema with key-value metadata."""
    return schema.with_metadata(dict(metadata))


def read_batches(path: Path, columns: list[str], rows: int = 4096) -> Iterable[pa.RecordBatch]:
    """A file in batches of rows, so that the whole is never held."""
    with pq.ParquetFile(path) as file:
        yield from file.iter_batches(batch_size=rows, columns=columns)
