"""`scenekin search`."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from scenekin.console import say, short, tell_words, versions
from scenekin.options import AsJson, ImageColumn, Workspace
from scenekin.outputs import check_output
from tasks.errors import InputError

if TYPE_CHECKING:
    from scenekin.searcher import Searcher
    from tasks.search.words import Words


ADDING = "Words to move towards; may be repeated. A number behind the last colon is a weight: `snow:2`, `16:9:1`."
Added = Annotated[Optional[list[str]], typer.Option("--add", metavar="TERM", help=ADDING)]  # noqa: UP045
Removed = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--remove", metavar="TERM", help="Words to move away from."),
]
Recall = Annotated[
    Optional[float],  # noqa: UP045
    typer.Option("--recall", min=0, max=1, help="Of a very large index: the share to be found; 1 looks at all."),
]
Explain = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option("--explain", metavar="DIR", help="Draw for each result why its image matches the query's."),
]
Out = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option("--out", metavar="F.parquet", help="Search for each image of a folder or list, into this file."),
]
Asking = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Argument(metavar="QUERY", help="An image file; with --out, a folder or list."),
]


def search(
    query: Asking = None,
    id: Annotated[Optional[str], typer.Option("--id", help="Instead, the id of an indexed image.")] = None,  # noqa: UP045
    text: Annotated[Optional[str], typer.Option("--text", help="Instead, words alone.")] = None,  # noqa: UP045
    add: Added = None,
    remove: Removed = None,
    alpha: Annotated[Optional[float], typer.Option("--alpha", min=0, help="How far towards.")] = None,  # noqa: UP045
    beta: Annotated[Optional[float], typer.Option("--beta", min=0, help="How far away.")] = None,  # noqa: UP045
    top: Annotated[int, typer.Option("--top", min=1, help="How many results.")] = 10,
    recall: Recall = None,
    explain: Explain = None,
    out: Out = None,
    ids: Annotated[str | None, typer.Option("--ids", metavar="all", help="With --out: for each indexed image.")] = None,
    image_column: ImageColumn = None,
    name: Annotated[str, typer.Option("--name", help="Which index.")] = "main",
    workspace: Workspace = None,
    json: AsJson = False,
) -> None:
    """Find the indexed images whose scene is nearest to a query's, moved by words where the model knows any."""
    from dataclasses import asdict

    from scenekin.commands.explain import explain_results
    from scenekin.searcher import RECALL, Searcher

    recall = RECALL if recall is None else recall
    many = out is not None or ids is not None
    if many and (id or text or explain) is not None:
        raise InputError("--out is for a folder, a list or --ids all; leave out --id and --text, and --explain.")
    if explain is not None and text is not None:
        raise InputError("--explain shows two images beside each other; search by an image or --id, not by --text.")
    searcher = Searcher.open(workspace, name)
    weights: dict[str, Any] = {
        name: weight for name, weight in (("alpha", alpha), ("beta", beta)) if weight is not None
    }
    if many:
        words = searcher.words(add or (), remove or (), **weights)
        search_many(searcher, query, ids, out, image_column, words, top, recall, json)
        return
    asked = searcher.query(query, image_id=id, text=text, add=add or (), remove=remove or (), **weights)
    results = searcher.nearest(asked, top, recall)
    answer = {
        **versions(searcher, top, recall),
        "query": {"image": str(query) if query is not None else id, "text": text, **asked.facts},
        "results": [asdict(result) for result in results],
    }
    lines = [f"{result.rank:>4}  {result.score:.3f}  {result.image_id}" for result in results]
    if explain is not None:
        image = searcher.read(query) if query is not None else searcher.image_of(str(id))
        shown = explain_results(searcher, image, results, explain)
        answer |= shown
        lines.append(f"{len(shown['explanations'])} explained in {explain}")
        lines += [f"  refused {refusal['item']}: {refusal['reason']}" for refusal in shown["refused"]]
    tell_words(asked)
    say(answer, json, "\n".join(lines) or "The index is empty.")


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
    from scenekin.batch_search import search_files, search_index
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
