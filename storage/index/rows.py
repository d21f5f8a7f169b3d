"""Rows and vectors of an index version."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from storage.atomic import fresh_file
from storage.index.manifest import APPROXIMATE, RAW, Manifest
from storage.index.verify import changed_files
from storage.tables import matrix, read_table
from storage.workspace import Workspace


def index_rows(workspace: Workspace, manifest: Manifest, columns: list[str]) -> pa.Table:
    """Rows of a version in id order."""
    folder = workspace.index / manifest.name / str(manifest.version)
    return pa.concat_tables([read_table(folder / part, columns) for part in manifest.parts])


def index_captions(workspace: Workspace, manifest: Manifest) -> pa.ChunkedArray:
    """A caption a row in id order: what the collection says of an image, null where that is nothing."""
    folder = workspace.index / manifest.name / str(manifest.version)
    kept = [
        name for name in pq.read_schema(folder / next(iter(manifest.parts))).names if name in {"image_id", "caption"}
    ]
    return captions_of(index_rows(workspace, manifest, kept))


def captions_of(rows: pa.Table) -> pa.ChunkedArray:
    """The column `caption`; nulls where rows have none, as those of versions from before captions were kept."""
    if "caption" in rows.column_names:
        return rows["caption"]
    return pa.chunked_array([pa.nulls(rows.num_rows, pa.string())])


def index_vectors(workspace: Workspace, manifest: Manifest) -> np.ndarray:
    """embedding_ND, float16, of a version in id order, memory-mapped.

    The raw file is derived again from the parts where it is gone or not what was published.
    """
    shape = manifest.images, manifest.dimension
    if not manifest.images:
        return np.empty(shape, np.float16)  # an empty file cannot be mapped
    folder = workspace.index / manifest.name / str(manifest.version)
    if changed_files(folder, manifest.raw):
        with fresh_file(folder / RAW) as temporary, temporary.open("wb") as raw:
            for part in manifest.parts:
                matrix(read_table(folder / part, ["embedding"])["embedding"]).tofile(raw)
    return np.memmap(folder / RAW, np.float16, "c", shape=shape)  # torch warns of what cannot be written


def approximate_file(workspace: Workspace, manifest: Manifest) -> Path | None:
    """The file of a version's approximate index; None where it has none, or one that is not what was published."""
    folder = workspace.index / manifest.name / str(manifest.version)
    if manifest.approximate is None or changed_files(folder, manifest.approximate.file):
        return None
    return folder / APPROXIMATE
