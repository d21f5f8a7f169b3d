"""An HTML page of images that opens offline: the results of queries, or groups of near-duplicates."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from scenekin.errors import InputError
from scenekin.searcher import Searcher
from scenekin.web.thumbnails import ByteCache, data_uri, render
from tasks.search.words import Words

SHEET_PICTURES = 5000  # about 80 MB of HTML
SIDE = 240  # pixels of an image's longer side on a contact sheet

ReadQuery = Callable[[str], bytes | None]
"""The bytes of a query's image by its name, None if it is a text."""


def check_sheet(out: Path, pictures: int, remedy: str) -> None:
    """Raise InputError if a contact sheet would be too large to open."""
    if out.suffix.lower() == ".html" and pictures > SHEET_PICTURES:
        raise InputError(
            f"A contact sheet holds at most {SHEET_PICTURES:,} images, not {pictures:,}; {remedy}, or write a .csv or "
            ".parquet file."
        )


class ContactSheet:
    """The parts of the page in their order; the images of an index are inside the page."""

    def __init__(self, searcher: Searcher) -> None:
        loader = PackageLoader("scenekin", "")
        environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
        self._template: Any = environment.get_template("contact_sheet.html.j2").module
        self._searcher = searcher
        self._pictures = ByteCache()

    def begin(self, title: str, words: Words | None = None) -> str:
        """The page up to its first section."""
        manifest, words = self._searcher.manifest, words or Words()
        return str(self._template.begin(title, manifest, ", ".join(words.added), ", ".join(words.removed)))

    def results(self, query: str, read_query: ReadQuery, rows: Sequence[Mapping[str, Any]]) -> str:
        """A section for a query and its results, which are rows of RESULTS."""
        return str(self._template.results(query, self._picture(read_query, query), self._with_pictures(rows)))

    def group(self, rows: Sequence[Mapping[str, Any]]) -> str:
        """A section for a group of near-duplicates, which are rows of a duplicate table."""
        captions = ({**row, "caption": self._searcher.caption_of(row["image_id"])} for row in rows)
        return str(self._template.group(self._with_pictures(list(captions))))

    def end(self) -> str:
        """The page after its last section."""
        return str(self._template.end())

    def _with_pictures(self, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return [{**row, "picture": self._picture(self._searcher.read_indexed, row["image_id"])} for row in rows]

    def _picture(self, read: ReadQuery, name: str) -> str | None:
        """As a data URI; None if there is none, or its file is missing or changed."""
        try:
            data = read(name)
        except InputError:
            return None
        return None if data is None else data_uri(self._pictures.get((read, name), lambda: render(data, SIDE)))
