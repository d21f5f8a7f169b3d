"""`scenekin index`."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scenekin.console import print_result, problems_text, refusal_lines
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
    IndexName,
    Model,
    Rehash,
    Wait,
    Workspace,
    column_options,
    path_text,
)
from storage.errors import StorageError
from tasks.collection.records import WITHOUT_FILE
from tasks.phrases import counted

if TYPE_CHECKING:
    from flows.results import IndexResult

CHANGES = ("added", "changed", "renamed", "removed")


def index(
    collection: Collection,
    name: IndexName = "main",
    model: Model = "champion",
    allow_shrink: Annotated[
        bool,
        typer.Option("--allow-shrink", help="Allow more than 20% of the indexed images to be removed."),
    ] = False,
    untrained: Annotated[
        bool,
        typer.Option("--untrained", help="Use the networks as they are: needs no captions and no trained model."),
    ] = False,
    moved: Annotated[
        bool,
        typer.Option("--moved", help="Accept that the collection has been moved here since it was indexed."),
    ] = False,
    config: ConfigFile = None,
    set: Assignments = None,
    format: Format = None,
    images: Images = None,
    image_column: ImageColumn = None,
    caption_column: CaptionColumn = None,
    encoding: Encoding = None,
    follow_links: FollowLinks = False,
    rehash: Rehash = False,
    wait: Wait = False,
    workspace: Workspace = None,
    json: AsJson = False,
) -> None:
    """Create or update the index of a collection, with or without captions."""
    from flows.index import index as index_collection
    from scenekin.config_file import read_config

    known = _refused_before(workspace, name)
    settings = read_config(config, set or [], "index --untrained" if untrained else "index")
    result = index_collection(
        collection,
        name,
        model,
        config=settings.with_columns(column_options(image_column, caption_column, encoding)),
        workspace=path_text(workspace),
        images=images,
        format=format,
        allow_shrink=allow_shrink,
        moved=moved,
        follow_links=follow_links,
        rehash=rehash,
        wait=wait,
        untrained=untrained,
    )
    print_result(result.model_dump(mode="json"), json, index_text(result, known))


def _refused_before(workspace: Path | None, name: str) -> list[dict[str, str]]:
    """The images that the current version refused; none if there is no version that can be read."""
    from storage.index.versions import current_version, read_manifest
    from storage.workspace import find_workspace

    with suppress(StorageError):
        space = find_workspace(workspace)
        version = current_version(space, name)
        if version is not None:
            return [refusal.model_dump() for refusal in read_manifest(space, name, version).refused]
    return []


def index_text(result: "IndexResult", known: Sequence[dict[str, str]] = ()) -> str:
    """The outcome of indexing as text; refusals that are `known` from the version before are only counted.

    Names without an image are counted apart from images that cannot be read.
    """
    counts = result.index
    changes = ", ".join([f"{counts[kind]:,} {kind}" for kind in CHANGES if counts[kind]] + _other_changes(result))
    refused = [refusal for refusal in result.refused if refusal["kind"] not in WITHOUT_FILE]
    nameless = [refusal for refusal in result.refused if refusal["kind"] in WITHOUT_FILE]
    seen = {(refusal["item"], refusal["reason"]) for refusal in known}
    new = [refusal for refusal in refused if (refusal["item"], refusal["reason"]) not in seen]
    lines = [
        f"Index {counts['name']} version {counts['version']}: {counted(int(counts['images']), 'image')} "
        f"({changes or 'no changes'}), {len(refused):,} refused, {result.seconds:.1f} s"
    ]
    if (replaced := _replaced_model(result)) and "champion" in result.model.aliases:
        lines.append(f"  To keep model {replaced}, index with --model {replaced}")
    lines += refusal_lines(new)
    if repeated := len(refused) - len(new):
        lines.append(f"  {repeated:,} refused as before; --json lists all")
    if nameless:
        names = f"{counted(len(nameless), 'name')} in the collection {'has' if len(nameless) == 1 else 'have'}"
        lines.append(f"  {names} no image, such as {nameless[0]['item']}; `scenekin check` lists them")
    return "\n".join([*lines, *problems_text(result.problem_counts)])


def _replaced_model(result: "IndexResult") -> int | None:
    """The version of the model that embedded the previous version, if it is another one."""
    before = result.index.get("model_before")
    return None if before is None or before == result.model.version else int(before)


def _other_changes(result: "IndexResult") -> list[str]:
    """How captions and model differ from those of the previous version, if there is one."""
    if "model_before" not in result.index:
        return []
    captions = int(result.index["captioned"]) - int(result.index["captioned_before"])
    more = f"{abs(captions):,} {'more' if captions > 0 else 'fewer'} with captions"
    changes = [more] if captions else []
    if (replaced := _replaced_model(result)) is not None:
        now, then = (f"model {each}" if each else "the untrained model" for each in (result.model.version, replaced))
        changes.append(f"{now} instead of {then}")
    return changes
