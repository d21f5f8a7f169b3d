"""Rows of earlier artifacts of a stage, found by the digest of the image that they were computed from."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from storage.artifacts import MANIFEST, find_artifact
from storage.tables import metadata_of, read_batches, read_table
from storage.workspace import Workspace


def known_rows(workspace: Workspace, stage: str, file: str, recipe: str, wanted: set[str]) -> Iterator[pa.RecordBatch]:
    """Yield batches of rows with the wanted values of `sha256`, each value once, from files of the same `recipe`.

    Newer artifacts are read first, as they hold most. Of artifacts without any wanted row, only the digests are read.
    """
    missing = set(wanted)
    manifests = (workspace.artifacts / stage).glob(f"[!.]*/{MANIFEST}")
    for manifest in sorted(manifests, key=lambda path: (-path.stat().st_mtime_ns, path)):
        path = manifest.with_name(file)
        complete = find_artifact(workspace, stage, path.parent.name) is not None and path.exists()
        if not missing or not complete or metadata_of(path).get("recipe") != recipe:
            continue
        if missing.isdisjoint(read_table(path, ["sha256"])["sha256"].to_pylist()):
            continue
        for batch in read_batches(path, pq.read_schema(path).names):
            known = batch.filter(pc.is_in(batch["sha256"], pa.array(sorted(missing), pa.string())))
            missing -= set(known["sha256"].to_pylist())
            if known.num_rows:
                yield known
