"""Rows that earlier artifacts of a stage hold already, by the digest of the image they were computed from."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from storage.artifacts import MANIFEST, find_artifact
from storage.tables import metadata_of, read_batches
from storage.workspace import Workspace


def known_rows(workspace: Workspace, stage: str, file: str, recipe: str, wanted: set[str]) -> Iterator[pa.RecordBatch]:
    """Row batches with the wanted values of `sha256`, each once, out of files whose metadata says the same `recipe`."""
    missing = set(wanted)
    for manifest in sorted((workspace.artifacts / stage).glob(f"[!.]*/{MANIFEST}")):
        path = manifest.with_name(file)
        whole = find_artifact(workspace, stage, path.parent.name) is not None and path.exists()
        if not missing or not whole or metadata_of(path).get("recipe") != recipe:
            continue
        for batch in read_batches(path, pq.read_schema(path).names):
            known = batch.filter(pc.is_in(batch["sha256"], pa.array(sorted(missing), pa.string())))
            missing -= set(known["sha256"].to_pylist())
            if known.num_rows:
                yield known
