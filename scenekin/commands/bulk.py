"""`scenekin search … --out F.parquet`."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

from scenekin.commands.running import say, short
from scenekin.commands.words import tell_words, versions
from scenekin.outputs import check_output
from tasks.errors import InputError

if TYPE_CHECKING:
    from scenekin.searcher import Searcher
    from tasks.search.words import Words


def search_many(
    searcher: "Searcher",
    source: Path | None,
    ids: str | None,
    out: Path | None,
    image_column: str | None,
    words: "Words",
    top: int,
    recall: float,
    json: bool,
) -> None:
    """Search for a folder's or a list's images, or for all of the index, and say what came of it."""
    from scenekin.bulk import search_files, search_index
    from scenekin.queries import list_queries

    if out is None or (source is None) == (ids is None) or ids not in (None, "all"):
        raise InputError("Give a folder or list of images, or --ids all, and --out F.parquet for the results.")
    check_output(out, ".parquet")
    started = time.monotonic()
    if source is None:
        bulk = search_index(searcher, out, words, top, recall)
    else:
        bulk = search_files(searcher, list_queries(source, image_column), out, words, top, recall)
    seconds = round(time.monotonic() - started, 1)
    counts = {"listed": bulk.listed, "answered": bulk.answered, "refused": bulk.refused}
    query = {"image": None if source is None else str(source), **words.facts}
    lines = [
        f"{bulk.answered:,} of {bulk.listed:,} queries answered in {short(out.absolute())}, "
        f"{len(bulk.refused)} refused, {seconds} s",
        *(f"  refused {refusal['item']}: {refusal['reason']}" for refusal in bulk.refused),
    ]
    tell_words(words)
    say(
        {**versions(searcher, top, recall), "query": query, "out": str(out), **counts, "seconds": seconds},
        json,
        "\n".join(lines),
    )
