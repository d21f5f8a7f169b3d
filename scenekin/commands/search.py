"""`scenekin search`."""

import sys
from pathlib import Path
from typing import Annotated, Optional

import typer

from scenekin.commands.options import AsJson, Workspace
from scenekin.commands.running import say
from tasks.errors import InputError


def search(
    query: Annotated[Optional[Path], typer.Argument(metavar="QUERY", help="An image file.")] = None,  # noqa: UP045
    id: Annotated[Optional[str], typer.Option("--id", help="Instead, the id of an indexed image.")] = None,  # noqa: UP045
    text: Annotated[Optional[str], typer.Option("--text", help="Instead, words alone.")] = None,  # noqa: UP045
    add: Annotated[Optional[list[str]], typer.Option("--add", help="Words to move towards; may be repeated.")] = None,  # noqa: UP045
    remove: Annotated[Optional[list[str]], typer.Option("--remove", help="Words to move away from.")] = None,  # noqa: UP045
    alpha: Annotated[Optional[float], typer.Option("--alpha", min=0, help="How far towards.")] = None,  # noqa: UP045
    beta: Annotated[Optional[float], typer.Option("--beta", min=0, help="How far away.")] = None,  # noqa: UP045
    top: Annotated[int, typer.Option("--top", min=1, help="How many results.")] = 10,
    explain: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--explain", metavar="DIR", help="Draw for each result why its image matches the query's."),
    ] = None,
    recall: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option("--recall", min=0, max=1, help="Of a very large index: the share to be found; 1 looks at all."),
    ] = None,
    name: Annotated[str, typer.Option("--name", help="Which index.")] = "main",
    workspace: Workspace = None,
    json: AsJson = False,
) -> None:
    """Find the indexed images whose scene is nearest to a query's, moved by words where the model knows any."""
    from dataclasses import asdict

    from scenekin.commands.explanations import explain_results
    from scenekin.searcher import RECALL, Searcher

    if explain is not None and text is not None:
        raise InputError("--explain shows two images beside each other; search by an image or --id, not by --text.")
    searcher = Searcher.open(workspace, name)
    weights = {name: weight for name, weight in (("alpha", alpha), ("beta", beta)) if weight is not None}
    asked = searcher.query(query, image_id=id, text=text, add=add or (), remove=remove or (), **weights)
    recall = RECALL if recall is None else recall
    results = searcher.nearest(asked, top, recall)
    answer = {
        "model": {"name": searcher.manifest.model.name, "version": searcher.manifest.model.version},
        "index": {
            "version": searcher.manifest.version,
            "images": searcher.manifest.images,
            "recall": searcher.effort(top, recall)[1],
        },
        "query": {
            "image": str(query) if query is not None else id,
            "text": text,
            "added": list(asked.added),
            "removed": list(asked.removed),
            "unknown_terms": list(asked.unknown_terms),
        },
        "results": [asdict(result) for result in results],
    }
    lines = [f"{result.rank:>4}  {result.score:.3f}  {result.image_id}" for result in results]
    if explain is not None:
        image = searcher.read(query) if query is not None else searcher.image_of(str(id))
        shown = explain_results(searcher, image, results, explain)
        answer |= shown
        lines.append(f"{len(shown['explanations'])} explained in {explain}")
        lines += [f"  refused {refusal['item']}: {refusal['reason']}" for refusal in shown["refused"]]
    for word in asked.unknown_terms:
        print(_passed_over(word, searcher.text.near(word)), file=sys.stderr)
    say(answer, json, "\n".join(lines) or "The index is empty.")


def _passed_over(word: str, near: list[str]) -> str:
    return f"No caption had {word!r}; it is passed over. Spelled like it: {', '.join(near) or 'nothing'}."
