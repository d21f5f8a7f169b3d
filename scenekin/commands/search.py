"""`scenekin search`."""

from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from scenekin.commands.bulk import search_many
from scenekin.commands.options import AsJson, ImageColumn, Workspace
from scenekin.commands.running import say
from scenekin.commands.words import tell_words, versions, words_facts
from tasks.errors import InputError

ADDING = "Words to move towards; may be repeated. A number behind the last colon is a weight: `snow:2`, `16:9:1`."


def search(
    query: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Argument(metavar="QUERY", help="An image file; with --out, a folder or list."),
    ] = None,
    id: Annotated[Optional[str], typer.Option("--id", help="Instead, the id of an indexed image.")] = None,  # noqa: UP045
    text: Annotated[Optional[str], typer.Option("--text", help="Instead, words alone.")] = None,  # noqa: UP045
    add: Annotated[Optional[list[str]], typer.Option("--add", metavar="TERM", help=ADDING)] = None,  # noqa: UP045
    remove: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option("--remove", metavar="TERM", help="Words to move away from."),
    ] = None,
    alpha: Annotated[Optional[float], typer.Option("--alpha", min=0, help="How far towards.")] = None,  # noqa: UP045
    beta: Annotated[Optional[float], typer.Option("--beta", min=0, help="How far away.")] = None,  # noqa: UP045
    top: Annotated[int, typer.Option("--top", min=1, help="How many results.")] = 10,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--out", metavar="F.parquet", help="Search for each image of a folder or list, into this file."),
    ] = None,
    ids: Annotated[str | None, typer.Option("--ids", metavar="all", help="With --out: for each indexed image.")] = None,
    image_column: ImageColumn = None,
    name: Annotated[str, typer.Option("--name", help="Which index.")] = "main",
    workspace: Workspace = None,
    json: AsJson = False,
) -> None:
    """Find the indexed images whose scene is nearest to a query's, moved by words where the model knows any."""
    from dataclasses import asdict

    from scenekin.searcher import Searcher

    searcher = Searcher.open(workspace, name)
    weights: dict[str, Any] = {
        name: weight for name, weight in (("alpha", alpha), ("beta", beta)) if weight is not None
    }
    if out is not None or ids is not None:
        if id is not None or text is not None:
            raise InputError("--out is for a folder or list of images, or for --ids all; leave out --id and --text.")
        words = searcher.words(add or (), remove or (), **weights)
        search_many(searcher, query, ids, out, image_column, words, top, json)
        return
    asked = searcher.query(query, image_id=id, text=text, add=add or (), remove=remove or (), **weights)
    results = searcher.nearest(asked, top)
    image = str(query) if query is not None else id
    answer = {
        **versions(searcher),
        "query": {"image": image, "text": text, **words_facts(asked)},
        "results": [asdict(result) for result in results],
    }
    lines = [f"{result.rank:>4}  {result.score:.3f}  {result.image_id}" for result in results]
    tell_words(asked)
    say(answer, json, "\n".join(lines) or "The index is empty.")
