"""Rows and vectors of an index version."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from storage.atomic import fresh_file
from storage.index.manifest import APPROXIMATE, RAW, Manifest
from storage.index.vector_file import VectorFile
from storage.index.verify import changed_files
from storage.tables import matrix, read_table
from storage.workspace import Workspace

IN_MEMORY = 2**29  # bytes of vectors up to which they are read into memory


def index_rows(workspace: Workspace, manifest: Manifest, columns: list[str]) -> pa.Table:
    """Return the rows of a version in id order."""
    folder = _folder(workspace, manifest)
    return pa.concat_tables([read_table(folder / part, columns) for part in manifest.parts])


def index_captions(workspace: Workspace, manifest: Manifest) -> pa.ChunkedArray:
    """Return one caption for each row in id order, null for images without captions."""
    columns = pq.read_schema(_folder(workspace, manifest) / next(iter(manifest.parts))).names
    return captions_of(index_rows(workspace, manifest, [name for name in ("image_id", "caption") if name in columns]))


def captions_of(rows: pa.Table) -> pa.ChunkedArray:
    """Return the column `caption`, or nulls if there is none: old versions did not store captions."""
    if "caption" in rows.column_names:
        return rows["caption"]
    return pa.chunked_array([pa.nulls(rows.num_rows, pa.string())])


def index_vectors(workspace: Workspace, manifest: Manifest) -> np.ndarray | VectorFile:
    """Return embedding_ND, float16, of a version in id order; from IN_MEMORY bytes on, rows are read when needed.

    The raw file is rebuilt from the parts if it is missing or damaged.
    """
    shape = manifest.images, manifest.dimension
    if not manifest.images:
        return np.empty(shape, np.float16)
    folder = _folder(workspace, manifest)
    if changed_files(folder, manifest.raw):
        with fresh_file(folder / RAW) as temporary, temporary.open("wb") as raw:
            for part in manifest.parts:
                matrix(read_table(folder / part, ["embedding"])["embedding"]).tofile(raw)
    if _size(manifest) < IN_MEMORY:
        return np.fromfile(folder / RAW, np.float16).reshape(shape)
    return VectorFile(folder / RAW, shape, manifest.name)


def vectors_intact(workspace: Workspace, manifest: Manifest) -> bool:
    """Return whether vectors opened earlier can be read: they are in memory, or their file has its full size.

    A file that was removed or replaced stays readable for those who opened it.
    """
    if _size(manifest) < IN_MEMORY:
        return True
    try:
        return (_folder(workspace, manifest) / RAW).stat().st_size >= _size(manifest)
    except FileNotFoundError:
        return True


def _size(manifest: Manifest) -> int:
    """Return the bytes of the raw file."""
    return 2 * manifest.images * manifest.dimension


def approximate_file(workspace: Workspace, manifest: Manifest) -> Path | None:
    """Return the file of a version's approximate index; None if it has none, or if the file is damaged."""
    folder = _folder(workspace, manifest)
    if manifest.approximate is None or changed_files(folder, manifest.approximate.file):
        return None
    return folder / APPROXIMATE


def _folder(workspace: Workspace, manifest: Manifest) -> Path:
    return workspace.index / manifest.name / str(manifest.version)
