"""`scenekin duplicates`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scenekin.console import image_text, print_missing_images, print_result, short
from scenekin.options import AsJson, IndexName, Workspace
from scenekin.outputs import check_output
from tasks.phrases import counted

if TYPE_CHECKING:
    from scenekin.searcher import Searcher

SHOWN = 20  # groups, and images of a group, that text lists


def duplicates(
    name: IndexName = "main",
    threshold: Annotated[
        float,
        typer.Option(
            "--threshold",
            metavar="NUMBER",
            min=0,
            max=1,
            help="Minimum cosine similarity; low values group similar scenes. Exact copies are always included.",
        ),
    ] = 0.98,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="Write the groups to a .csv, .parquet or .html file (a contact sheet)."
        ),
    ] = None,
    workspace: Workspace = None,
    json: AsJson = False,
) -> None:
    """Report groups of near-duplicate images in an index."""
    from scenekin.duplicate_report import FORMATS, duplicate_table, groups_of, write_report
    from scenekin.searcher import Searcher

    if out is not None:
        check_output(out, *FORMATS)
    searcher = Searcher.open(workspace, name)
    print_missing_images(searcher.manifest)
    table = duplicate_table(searcher.workspace, searcher.manifest, threshold)
    if out is not None:
        write_report(searcher, table, out)
    groups = groups_of(table)
    answer = {
        "index": {"name": name, "version": searcher.manifest.version, "images": searcher.manifest.images},
        "threshold": threshold,
        "out": None if out is None else str(out),
        "copies": sum(row["copy_of"] is not None for group in groups for row in group),
        "groups": [_group_json(group) for group in groups],
    }
    print_result(answer, json, _text(searcher, answer, out))


def _group_json(group: list[dict[str, Any]]) -> dict[str, Any]:
    columns = ("image_id", "path", "copy_of", "nearest", "score")
    return {"size": len(group), "images": [{column: row[column] for column in columns} for row in group]}


def _text(searcher: "Searcher", answer: dict[str, Any], out: Path | None) -> str:
    groups = answer["groups"]
    images = sum(group["size"] for group in groups)
    lines = [
        f"{images:,} of {counted(answer['index']['images'], 'image')} in {counted(len(groups), 'group')} "
        f"(similarity at least {answer['threshold']:g}), {counted(answer['copies'], 'exact copy', 'exact copies')}"
    ]
    for number, group in enumerate(groups[:SHOWN], start=1):
        lines.append(f"Group {number}: {group['size']} images")
        for image in group["images"][:SHOWN]:
            relation = (
                f"exact copy of {image['copy_of']}"
                if image["copy_of"]
                else f"similarity {image['score']:.3f} to {image['nearest']}"
            )
            lines.append(f"  {image_text(searcher, image['image_id'])}: {relation}")
        lines += [f"  and {group['size'] - SHOWN:,} more"] * (group["size"] > SHOWN)
    if len(groups) > SHOWN:
        lines.append(f"and {counted(len(groups) - SHOWN, 'more group')}; --json or --out lists all")
    if out is not None:
        lines.append(f"Written to {short(out.absolute())}")
    return "\n".join(lines)
