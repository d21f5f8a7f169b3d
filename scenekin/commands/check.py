"""`scenekin check`."""

import csv
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scenekin.console import print_result, short
from scenekin.options import (
    AsJson,
    Assignments,
    CaptionColumn,
    Collection,
    ConfigFile,
    Encoding,
    FollowLinks,
    Format,
    ImageColumn,
    Images,
    Workspace,
    column_options,
)
from scenekin.outputs import check_output, output_file, without_formulas

if TYPE_CHECKING:
    from tasks.collection.assemble import Collection as ReadCollection

Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="F.csv", help="Write all problems into a table that spreadsheets open."),
]


def check(
    collection: Collection,
    config: ConfigFile = None,
    set: Assignments = None,
    format: Format = None,
    images: Images = None,
    image_column: ImageColumn = None,
    caption_column: CaptionColumn = None,
    encoding: Encoding = None,
    follow_links: FollowLinks = False,
    out: Out = None,
    workspace: Workspace = None,
    json: AsJson = False,
) -> None:
    """Check a collection and report its contents and problems. Writes nothing except --out."""
    from scenekin.config_file import read_config
    from storage.errors import StorageError
    from storage.source.digests import former_digests
    from storage.source.tree import Source
    from storage.workspace import find_workspace
    from tasks.collection.check import describe, summary
    from tasks.collection.gather import gather
    from tasks.collection.records import Files
    from tasks.progress import progress

    if out is not None:
        check_output(out, ".csv")
    trees = Source(collection, images, follow_links).trees()
    files, pictures = (Files(tree.paths, tree.open, tree.skipped) for tree in trees)
    settings = read_config(config, set or [], "check").collection.override(
        column_options(image_column, caption_column, encoding)
    )

    def former(paths: Sequence[str]) -> dict[str, str]:
        with suppress(StorageError):  # there may be no workspace yet
            return former_digests(trees[1], paths, find_workspace(workspace).known_files)
        return {}

    found = gather(
        files,
        pictures,
        format,
        settings,
        workers=os.cpu_count() or 1,
        progress=progress,
        former_digests=former,
    )
    if out is not None:
        write_problems(out, found)
    print_result(summary(found), json, describe(found, None if out is None else short(out.absolute())))


def write_problems(out: Path, collection: "ReadCollection") -> None:
    """Write a table with a row for each problem, in UTF-8 with the mark by which spreadsheets recognise it."""
    from tasks.collection.arrow import problem_table

    problems = problem_table(collection)
    with output_file(out) as file, file.open("w", encoding="utf-8-sig", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(problems.column_names)
        for batch in problems.to_batches():
            table.writerows(row.values() for row in without_formulas(batch).to_pylist())
