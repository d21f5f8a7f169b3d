"""Results of a batch search in a file: a row each in Parquet or CSV, or an HTML contact sheet that opens offline."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
from jinja2 import Environment, PackageLoader, StrictUndefined

from scenekin.errors import InputError
from scenekin.outputs import output_file, without_formulas
from scenekin.searcher import Searcher
from scenekin.web.thumbnails import ByteCache, data_uri, render
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
SHEET_PICTURES = 5000  # about 80 MB of HTML
SIDE = 240  # pixels of an image's longer side on a contact sheet

WriteResults = Callable[[pa.RecordBatch], None]
ReadQuery = Callable[[str], bytes | None]
"""The bytes of a query's image by its name, None if it is a text."""


def check_sheet(out: Path, queries: int, top: int) -> None:
    """Raise InputError if a contact sheet would be too large to open."""
    pictures = queries * (top + 1)
    if out.suffix.lower() == ".html" and pictures > SHEET_PICTURES:
        raise InputError(
            f"A contact sheet holds at most {SHEET_PICTURES:,} images, not {pictures:,}; use fewer queries or "
            "results, or write a .csv or .parquet file."
        )


@contextmanager
def results_writer(searcher: Searcher, out: Path, words: Words, read_query: ReadQuery) -> Iterator[WriteResults]:
    """Yield a function that writes batches of RESULTS into `out`, in the format of its suffix.

    The file is written completely or not at all. Raises InputError.
    """
    with output_file(out) as file:
        match out.suffix.lower():
            case ".csv":
                with pyarrow.csv.CSVWriter(file, RESULTS) as table:
                    yield lambda batch: table.write_batch(without_formulas(batch))
            case ".html":
                sheet = ContactSheet(searcher, words, read_query)
                with file.open("w", encoding="utf-8") as page:
                    page.write(sheet.begin())
                    yield lambda batch: page.writelines(sheet.sections(batch))
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


class ContactSheet:
    """Sections of an HTML page, each a query and its results; images are inside the page."""

    def __init__(self, searcher: Searcher, words: Words, read_query: ReadQuery) -> None:
        loader = PackageLoader("scenekin", "")
        environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
        self._template: Any = environment.get_template("contact_sheet.html.j2").module
        self._searcher = searcher
        self._words = words
        self._read_query = read_query
        self._pictures = ByteCache()

    def begin(self) -> str:
        """The page up to its first section."""
        return str(self._template.begin(_metadata(self._searcher, self._words)))

    def sections(self, batch: pa.RecordBatch) -> Iterator[str]:
        """A section for each query of a batch of RESULTS."""
        rows = batch.to_pylist()
        starts = [number for number, row in enumerate(rows) if row["rank"] == 1]
        for start, end in zip(starts, [*starts[1:], len(rows)], strict=True):
            name = rows[start]["query"]
            results = [
                {**row, "picture": self._picture(self._searcher.read_indexed, row["image_id"])}
                for row in rows[start:end]
            ]
            yield str(self._template.section(name, self._picture(self._read_query, name), results))

    def end(self) -> str:
        """The page after its last section."""
        return str(self._template.end())

    def _picture(self, read: ReadQuery, name: str) -> str | None:
        """As a data URI; None if there is none, or its file is missing or changed."""
        try:
            data = read(name)
        except InputError:
            return None
        return None if data is None else data_uri(self._pictures.get((read, name), lambda: render(data, SIDE)))
