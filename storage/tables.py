"""Parquet files, as tables and as streams of row batches."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

GROUP_ROWS = 1024
WRITING = {"compression": "zstd", "use_dictionary": False}


def write_table(path: Path, table: pa.Table) -> None:
    """Write a table to a file, creating its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, **WRITING)


def read_table(path: Path, columns: list[str] | None = None) -> pa.Table:
    """Read a file, or some of its columns."""
    return pq.read_table(path, columns=columns)


@contextmanager
def table_writer(path: Path, schema: pa.Schema) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """Yield a function that appends row batches to a file, so that the table never has to fit into memory.

    Row groups have a fixed size whatever the size of the batches, so equal rows give equal files. Vectors are stored in
    plain encoding.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    pending = pa.Table.from_batches([], schema)
    with pq.ParquetWriter(path, schema, **WRITING) as writer:

        def write(batch: pa.RecordBatch) -> None:
            nonlocal pending
            pending = pa.concat_tables([pending, pa.Table.from_batches([batch]).cast(schema)])
            while pending.num_rows >= GROUP_ROWS:
                writer.write_table(pending.slice(0, GROUP_ROWS).combine_chunks())
                pending = pending.slice(GROUP_ROWS)

        yield write
        if pending.num_rows:
            writer.write_table(pending.combine_chunks())


def vectors(values_ND: np.ndarray) -> pa.FixedSizeListArray:
    """Return the rows of values_ND as fixed-size lists, without a copy."""
    return pa.FixedSizeListArray.from_arrays(pa.array(values_ND.reshape(-1)), values_ND.shape[1])


def matrix(column: pa.ChunkedArray) -> np.ndarray:
    """Return values_ND of a fixed-size list column: the inverse of `vectors`."""
    array = column.combine_chunks()
    values_ND: np.ndarray = array.flatten().to_numpy(zero_copy_only=False).reshape(len(array), array.type.list_size)
    return values_ND


def metadata_of(path: Path) -> dict[str, str]:
    """Return a file's key-value metadata."""
    return {key.decode(): value.decode() for key, value in (pq.read_schema(path).metadata or {}).items()}


def with_metadata(schema: pa.Schema, metadata: Mapping[str, str]) -> pa.Schema:
    """Return a schema with key-value metadata."""
    return schema.with_metadata(dict(metadata))


def read_batches(path: Path, columns: list[str], rows: int = 4096) -> Iterable[pa.RecordBatch]:
    """Read a file in batches of rows, so that it never has to fit into memory."""
    with pq.ParquetFile(path) as file:
        yield from file.iter_batches(batch_size=rows, columns=columns)
