"""Near-duplicates of an index as a table."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from scenekin.outputs import output_file, without_formulas
from storage.index.manifest import Manifest
from storage.index.rows import index_rows, index_vectors
from storage.tables import write_table
from storage.workspace import Workspace
from tasks.progress import progress
from tasks.search.duplicate_groups import find_duplicates

FORMATS = (".csv", ".parquet")
ROWS = pa.schema(
    [
        ("group", pa.int32()),
        ("size", pa.int32()),
        ("image_id", pa.string()),
        ("path", pa.string()),
        ("copy_of", pa.string()),
        ("nearest", pa.string()),
        ("score", pa.float32()),
    ]
)


def duplicate_table(workspace: Workspace, manifest: Manifest, threshold: float) -> pa.Table:
    """ROWS of the images that are in a group, the largest group first, the images of a group by id.

    `copy_of` is the first image with the same bytes, null for that image itself; `nearest` is the most similar image.
    """
    images = index_rows(workspace, manifest, ["image_id", "path", "sha256"])
    with progress("comparing", manifest.images) as on_step:
        found = find_duplicates(index_vectors(workspace, manifest), images["sha256"].to_pylist(), threshold, on_step)
    ids, paths = images["image_id"].to_pylist(), images["path"].to_pylist()
    rows: list[dict[str, Any]] = [
        {
            "group": number,
            "size": len(members),
            "image_id": ids[row],
            "path": paths[row],
            "copy_of": ids[found.first_N[row]] if found.first_N[row] != row else None,
            "nearest": ids[found.nearest_N[row]],
            "score": min(1.0, float(found.score_N[row])),
        }
        for number, members in enumerate(found.groups, start=1)
        for row in members.tolist()
    ]
    return pa.Table.from_pylist(rows, schema=ROWS)


def write_report(table: pa.Table, out: Path) -> None:
    """Write the table as CSV or Parquet, by the suffix. Raises InputError."""
    with output_file(out) as file:
        if out.suffix.lower() == ".csv":
            pa.csv.write_csv(pa.Table.from_batches(map(without_formulas, table.to_batches()), ROWS), file)
        else:
            write_table(file, table)
