"""Near-duplicates of an index as a table or a contact sheet."""

from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa

from scenekin.contact_sheet import ContactSheet, check_sheet
from scenekin.outputs import csv_writer, output_file
from scenekin.searcher import Searcher
from storage.index.manifest import Manifest
from storage.index.rows import index_rows, index_vectors
from storage.tables import write_table
from storage.workspace import Workspace
from tasks.progress import progress
from tasks.search.duplicate_groups import find_duplicates

FORMATS = (".csv", ".html", ".parquet")
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


def write_report(searcher: Searcher, table: pa.Table, out: Path) -> None:
    """Write the table as CSV, Parquet or an HTML contact sheet, by the suffix. Raises InputError."""
    check_sheet(out, len(table), "use a higher --threshold")
    with output_file(out) as file:
        match out.suffix.lower():
            case ".csv":
                with csv_writer(file, ROWS) as write:
                    for batch in table.to_batches():
                        write(batch)
            case ".html":
                sheet = ContactSheet(searcher)
                with file.open("w", encoding="utf-8") as page:
                    page.write(sheet.begin("Near-duplicates"))
                    page.writelines(map(sheet.group, groups_of(table)))
                    page.write(sheet.end())
            case _:
                write_table(file, table)


def groups_of(table: pa.Table) -> list[list[dict[str, Any]]]:
    """Return the rows of each group."""
    return [list(rows) for _, rows in groupby(table.to_pylist(), key=itemgetter("group"))]
