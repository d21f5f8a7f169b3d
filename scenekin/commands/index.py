"""`scenekin index`."""

from typing import TYPE_CHECKING, Annotated

import typer

from scenekin.console import problems_text, say
from scenekin.local_run import columns_of, path_text, run_flow, settings_of
from scenekin.options import (
    AsJson,
    Assignments,
    CaptionColumn,
    Collection,
    ConfigFile,
    Format,
    ImageColumn,
    Images,
    Model,
    Rehash,
    Workspace,
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
    rehash: Rehash = False,
    workspace: Workspace = None,
    json: AsJson = False,
) -> None:
    """Make or refresh the index of a collection, with captions or without."""
    settings = settings_of(config, set).with_columns(columns_of(image_column, caption_column))
    from flows.index import index_flow

    result = run_flow(
        index_flow, collection, name, model, settings, path_text(workspace), images, format, allow_shrink, rehash
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
