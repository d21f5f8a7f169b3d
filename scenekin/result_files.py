"""Results of a batch search in a file: a row each in Parquet or CSV, or an HTML contact sheet that opens offline."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from scenekin.contact_sheet import ContactSheet, ReadQuery
from scenekin.outputs import csv_writer, output_file
from scenekin.searcher import Searcher
from storage.tables import table_writer
from tasks.search.words import Words

FORMATS = (".csv", ".html", ".parquet")
RESULTS = pa.schema(
    [
        ("query", pa.string()),
        ("rank", pa.int32()),
        ("image_id", pa.string()),
        ("path", pa.string()),
        ("score", pa.float32()),
        ("caption", pa.string()),
    ]
)
"""`caption` is that of the collection, null for an image without one."""
WriteResults = Callable[[pa.RecordBatch], None]


@contextmanager
def results_writer(searcher: Searcher, out: Path, words: Words, read_query: ReadQuery) -> Iterator[WriteResults]:
    """Yield a function that writes batches of RESULTS into `out`, in the format of its suffix.

    The file is written completely or not at all. Raises InputError.
    """
    with output_file(out) as file:
        match out.suffix.lower():
            case ".csv":
                with csv_writer(file, RESULTS) as write:
                    yield write
            case ".html":
                sheet = ContactSheet(searcher)
                with file.open("w", encoding="utf-8") as page:
                    page.write(sheet.begin("Search results", words))
                    yield lambda batch: page.writelines(_sections(sheet, batch, read_query))
                    page.write(sheet.end())
            case _:
                with table_writer(file, RESULTS.with_metadata(_metadata(searcher, words))) as write:
                    yield write


def _metadata(searcher: Searcher, words: Words) -> dict[str, str]:
    manifest = searcher.manifest
    return {
        "model": manifest.model.name,
        "model_version": str(manifest.model.version),
        "index": manifest.name,
        "index_version": str(manifest.version),
        "added": ", ".join(words.added),
        "removed": ", ".join(words.removed),
    }


def _sections(sheet: ContactSheet, batch: pa.RecordBatch, read_query: ReadQuery) -> Iterator[str]:
    """Yield a section for each query of a batch of RESULTS."""
    rows = batch.to_pylist()
    starts = [number for number, row in enumerate(rows) if row["rank"] == 1]
    for start, end in zip(starts, [*starts[1:], len(rows)], strict=True):
        yield sheet.results(rows[start]["query"], read_query, rows[start:end])
