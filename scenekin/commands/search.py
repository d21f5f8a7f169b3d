"""`scenekin search`."""

import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scenekin.console import (
    LOGGER,
    image_text,
    model_and_index,
    print_missing_images,
    print_notes,
    print_result,
    refusal_lines,
    short,
)
from scenekin.options import AsJson, ImageColumn, IndexName, Workspace
from scenekin.outputs import check_output
from scenekin.usage import WrongUsage
from tasks.errors import InputError
from tasks.phrases import counted, did_you_mean

if TYPE_CHECKING:
    from scenekin.batch_search import BatchOutcome
    from scenekin.searcher import Searcher

QueryFile = Annotated[
    Path | None, typer.Argument(metavar="QUERY", help="Image file; with --out, also a folder or list.")
]
QueryId = Annotated[str | None, typer.Option("--id", metavar="ID", help="Search by the indexed image with this id.")]
QueryText = Annotated[str | None, typer.Option("--text", metavar="TEXT", help="Search by a description of the scene.")]
Added = Annotated[
    list[str] | None,
    typer.Option("--add", metavar="TERM", help="Words to add, optionally weighted: `snow:2`; repeatable."),
]
Removed = Annotated[
    list[str] | None,
    typer.Option("--remove", metavar="TERM", help="Words to remove, optionally weighted; repeatable."),
]
Alpha = Annotated[
    float | None, typer.Option("--alpha", metavar="NUMBER", min=0, help="Strength of added words (default: 1).")
]
Beta = Annotated[
    float | None, typer.Option("--beta", metavar="NUMBER", min=0, help="Strength of removed words (default: 0.5).")
]
Top = Annotated[int, typer.Option("--top", metavar="NUMBER", min=1, help="Number of results.")]
MinRecall = Annotated[
    float | None,
    typer.Option(
        "--recall",
        metavar="NUMBER",
        min=0,
        max=1,
        help="Share of the nearest images to find in a very large index (default: 0.95; 1 is exact).",
    ),
]
Explain = Annotated[
    Path | None,
    typer.Option("--explain", metavar="DIR", help="Folder for a picture per result that shows why it matches."),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FILE",
        help="Write the results to a .csv, .parquet or .html file (a contact sheet); QUERY may be a folder or list.",
    ),
]
Ids = Annotated[str | None, typer.Option("--ids", metavar="all", help="With --out: search by every indexed image.")]


def search(
    query: QueryFile = None,
    id: QueryId = None,
    text: QueryText = None,
    add: Added = None,
    remove: Removed = None,
    alpha: Alpha = None,
    beta: Beta = None,
    top: Top = 10,
    recall: MinRecall = None,
    explain: Explain = None,
    out: Out = None,
    ids: Ids = None,
    image_column: ImageColumn = None,
    name: IndexName = "main",
    workspace: Workspace = None,
    json: AsJson = False,
) -> None:
    """Find the indexed images whose scene is most similar to an image or a text."""
    from scenekin.searcher import RECALL, Searcher

    _check_usage(query, id, text, ids, explain, out)
    searcher = Searcher.open(workspace, name)
    print_missing_images(searcher.manifest)
    modifiers: dict[str, Any] = {"add": add or (), "remove": remove or ()}
    for option, strength, terms in (("alpha", alpha, "add"), ("beta", beta, "remove")):
        if strength is not None and not modifiers[terms]:
            LOGGER.warning("--%s has no effect without --%s.", option, terms)
    modifiers |= {key: value for key, value in (("alpha", alpha), ("beta", beta)) if value is not None}
    search_for = partial(
        search_into_file if out is not None else search_and_print,
        *(searcher, query, id, text, modifiers, top, RECALL if recall is None else recall),
        json=json,
    )
    if out is not None:
        search_for(out=out, image_column=image_column)
    else:
        search_for(explain=explain)


def _check_usage(
    query: Path | None, id: str | None, text: str | None, ids: str | None, explain: Path | None, out: Path | None
) -> None:
    """Raise BadParameter for options that do not go together, InputError for files that cannot be used."""
    if ids not in (None, "all"):
        raise WrongUsage(f"--ids takes the word all, not {ids!r}; to search by one indexed image, use --id.")
    if sum(given is not None for given in (query, id, text, ids)) != 1:
        raise WrongUsage("Give exactly one query: an image file, --id, --text, or --ids all with --out.")
    if ids is not None and out is None:
        raise WrongUsage("--ids all writes its results to a file; set --out.")
    if explain is not None and (text is not None or out is not None):
        raise WrongUsage("--explain needs a single image, given as a file or with --id, and no --out.")
    if query is not None:
        _check_file(query, out)
    if out is not None:
        check_output(out, ".csv", ".html", ".parquet")


def _check_file(query: Path, out: Path | None) -> None:
    """Raise InputError with the option that was probably meant if the query is not an image file."""
    try:
        exists = query.exists()
    except (OSError, ValueError):  # too long for a file name
        exists = False
    if not exists:
        near = did_you_mean(query.name, _names_beside(query))
        raise InputError(
            f"No such file: {str(query)!r}; to search by text, use --text, or by an indexed image, --id.{near}"
        )
    if out is None and query.is_dir():
        raise InputError(f"{str(query)!r} is a folder; to search by each of its images, name a file with --out.")


def _names_beside(file: Path) -> list[str]:
    """The names of the files in the folder of a file; none if there is no such folder."""
    with suppress(OSError, ValueError):
        return sorted(entry.name for entry in file.parent.iterdir())
    return []


def search_and_print(
    searcher: "Searcher",
    query: Path | None,
    id: str | None,
    text: str | None,
    modifiers: dict[str, Any],
    top: int,
    recall: float,
    *,
    explain: Path | None,
    json: bool,
) -> None:
    """Print the results of one query."""
    from dataclasses import asdict

    from scenekin.commands.explain import explain_results

    asked = searcher.query(query, image_id=id, text=text, **modifiers)
    results = searcher.nearest(asked, top, recall)
    answer = {
        **model_and_index(searcher, top, recall),
        "query": {"image": str(query) if query is not None else id, "text": text, **asked.facts},
        "results": [asdict(each) | {"caption": searcher.caption_of(each.image_id)} for each in results],
    }
    lines = [f"{each.rank:>4}  {each.score:.3f}  {image_text(searcher, each.image_id)}" for each in results]
    if explain is not None:
        image = query.read_bytes() if query is not None else searcher.read_indexed(str(id))
        explained = explain_results(searcher, image, results, explain)
        answer |= explained
        count = len(explained["explanations"])
        lines.append(f"{counted(count, 'explanation')} written to {short(explain.absolute())}")
        lines += refusal_lines(explained["refused"])
    print_notes(asked)
    print_result(answer, json, "\n".join(lines) or "The index is empty.")


def search_into_file(
    searcher: "Searcher",
    query: Path | None,
    id: str | None,
    text: str | None,
    modifiers: dict[str, Any],
    top: int,
    recall: float,
    *,
    out: Path,
    image_column: str | None,
    json: bool,
) -> None:
    """Write the results of one or many queries to a file, and print a summary."""
    from scenekin.batch_search import search_files, search_index, search_one
    from scenekin.queries import list_queries

    started = time.monotonic()
    words = searcher.words(**modifiers, text=text or "")
    outcome: BatchOutcome
    if query is not None:
        outcome = search_files(searcher, list_queries(query, image_column), out, words, top, recall)
    elif id is None and text is None:
        outcome = search_index(searcher, out, words, top, recall)
    else:
        asked = searcher.query(image_id=id, text=text, **modifiers)
        read = searcher.read_indexed if text is None else lambda _: None
        outcome = search_one(searcher, asked, str(id if text is None else text), read, out, top, recall)
    seconds = round(time.monotonic() - started, 1)
    answer = {
        **model_and_index(searcher, top, recall),
        "query": {"image": id if query is None else str(query), "text": text, **words.facts},
        "out": str(out),
        "listed": outcome.listed,
        "answered": outcome.answered,
        "refused": outcome.refused,
        "seconds": seconds,
    }
    some = f"{outcome.answered:,} of " if outcome.answered < outcome.listed else ""
    summary = (
        f"Results of {some}{counted(outcome.listed, 'query', 'queries')} "
        f"written to {short(out.absolute())} ({len(outcome.refused):,} refused, {seconds} s)"
    )
    print_notes(words)
    print_result(answer, json, "\n".join([summary, *refusal_lines(outcome.refused)]))
