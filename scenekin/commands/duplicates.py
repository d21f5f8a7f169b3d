"""`scenekin duplicates`."""

from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from scenekin.console import say, short
from scenekin.options import AsJson, Workspace
from scenekin.outputs import check_output

SHOWN = 20  # groups that are told to people


def duplicates(
    name: Annotated[str, typer.Option("--name", help="Which index.")] = "main",
    threshold: Annotated[float, typer.Option("--threshold", min=0, max=1, help="The least cosine of a pair.")] = 0.98,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--out", metavar="F.csv|F.parquet", help="Write a row an image into this file."),
    ] = None,
    workspace: Workspace = None,
    json: AsJson = False,
) -> None:
    """Report the images of an index that are nearly the same, in groups, byte copies told apart."""
    from scenekin.duplicate_report import FORMATS, duplicate_table, write_report
    from scenekin.searcher import Searcher

    if out is not None:
        check_output(out, *FORMATS)
    searcher = Searcher.open(workspace, name)
    table = duplicate_table(searcher.workspace, searcher.manifest, threshold)
    if out is not None:
        write_report(table, out)
    groups = [list(rows) for _, rows in groupby(table.to_pylist(), key=lambda row: row["group"])]
    answer = {
        "index": {"name": name, "version": searcher.manifest.version, "images": searcher.manifest.images},
        "threshold": threshold,
        "out": None if out is None else str(out),
        "copies": sum(row["copy_of"] is not None for group in groups for row in group),
        "groups": [_facts(group) for group in groups],
    }
    say(answer, json, _text(answer, out))


def _facts(group: list[dict[str, Any]]) -> dict[str, Any]:
    columns = ("image_id", "path", "copy_of", "nearest", "score")
    return {"size": len(group), "images": [{column: row[column] for column in columns} for row in group]}


def _text(answer: dict[str, Any], out: Path | None) -> str:
    groups = answer["groups"]
    images = sum(group["size"] for group in groups)
    lines = [
        f"{images:,} of {answer['index']['images']:,} images in {len(groups):,} group{'s' * (len(groups) != 1)}, "
        f"cosine {answer['threshold']:g} or more; {answer['copies']:,} are byte copies of another"
    ]
    for number, group in enumerate(groups[:SHOWN], start=1):
        lines.append(f"group {number}, {group['size']} images")
        for image in group["images"][:SHOWN]:
            like = f"copy of {image['copy_of']}" if image["copy_of"] else f"{image['score']:.3f} to {image['nearest']}"
            lines.append(f"  {image['image_id']}  {like}")
        lines += [f"  and {group['size'] - SHOWN:,} more"] * (group["size"] > SHOWN)
    if len(groups) > SHOWN:
        lines.append(f"and {len(groups) - SHOWN:,} more groups; --json or --out has all")
    if out is not None:
        lines.append(f"written to {short(out.absolute())}")
    return "\n".join(lines)
