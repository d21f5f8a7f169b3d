"""`scenekin index`."""

from typing import TYPE_CHECKING, Annotated

import typer

from scenekin.console import problems_text, say
from scenekin.options import (
    AsJson,
    Assignments,
    CaptionColumn,
    Collection,
    ConfigFile,
    Encoding,
    Format,
    ImageColumn,
    Images,
    Model,
    Rehash,
    Wait,
    Workspace,
    column_options,
    path_text,
)

if TYPE_CHECKING:
    from flows.results import IndexResult


def index(
    collection: Collection,
    name: Annotated[str, typer.Option("--name", help="Which index.")] = "main",
    model: Model = "champion",
    allow_shrink: Annotated[bool, typer.Option("--allow-shrink", help="More than a fifth may vanish.")] = False,
    config: ConfigFile = None,
    set: Assignments = None,
    format: Format = None,
    images: Images = None,
    image_column: ImageColumn = None,
    caption_column: CaptionColumn = None,
    encoding: Encoding = None,
    rehash: Rehash = False,
    wait: Wait = False,
    workspace: Workspace = None,
    json: AsJson = False,
) -> None:
    """Make or refresh the index of a collection, with captions or without."""
    from flows.index import index as index_collection
    from scenekin.config_file import read_config

    result = index_collection(
        collection,
        name,
        model,
        config=read_config(config, set or []).with_columns(column_options(image_column, caption_column, encoding)),
        workspace=path_text(workspace),
        images=images,
        format=format,
        allow_shrink=allow_shrink,
        rehash=rehash,
        wait=wait,
    )
    say(result.model_dump(mode="json"), json, index_text(result))


def index_text(result: "IndexResult") -> str:
    """What came of indexing, for people."""
    facts = result.index
    lines = [
        f"index {facts['name']} version {facts['version']}: {facts['images']} images ({facts['added']} added, "
        f"{facts['changed']} changed, {facts['removed']} removed), {len(result.refused)} refused, {result.seconds} s"
    ]
    lines += [f"  refused {refusal['item']}: {refusal['reason']}" for refusal in result.refused]
    return "\n".join([*lines, *problems_text(result.problem_counts)])
