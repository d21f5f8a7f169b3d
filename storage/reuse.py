"""Rows of earlier artifacts of a stage, found by the digest of the image that they were computed from."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
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
        sha256s = read_table(path, ["sha256"])["sha256"].to_pylist()
        row_of = {sha256: row for row, sha256 in enumerate(sha256s) if sha256 in missing}
        if not row_of:
            continue
        missing -= row_of.keys()
        is_wanted_N = np.zeros(len(sha256s), bool)
        is_wanted_N[list(row_of.values())] = True
        start = 0
        for batch in read_batches(path, pq.read_schema(path).names):
            known = batch.filter(pa.array(is_wanted_N[start : start + batch.num_rows]))
            start += batch.num_rows
            if known.num_rows:
                yield known
