"""`scenekin versions`."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from scenekin.console import missing_images_text, print_result
from scenekin.options import AsJson, IndexName, Wait, Workspace
from scenekin.usage import WrongUsage
from tasks.phrases import counted

if TYPE_CHECKING:
    from storage.workspace import Workspace as OpenWorkspace


def versions(
    action: Annotated[Literal["list", "rollback"], typer.Argument(metavar="ACTION", help="What to do.")] = "list",
    name: IndexName = "main",
    to: Annotated[
        int | None, typer.Option("--to", metavar="VERSION", help="Version to roll back to (default: the previous one).")
    ] = None,
    wait: Wait = False,
    workspace: Workspace = None,
    json: AsJson = False,
) -> None:
    """List the versions of an index, or make an earlier version current again."""
    from storage.index.versions import roll_back
    from storage.workspace import find_workspace, locked, open_workspace

    if to is not None and action != "rollback":
        raise WrongUsage("--to applies to `rollback` only.")
    space = find_workspace(workspace)
    rows = _rows(space, name)  # before open_workspace, which writes: a folder without an index stays untouched
    lines: list[str] = []
    if action == "rollback":
        with locked(open_workspace(space.root), "versions", wait=wait):
            manifest = roll_back(space, name, to)
        rows = _rows(space, name)
        lines += [f"Index {name} is now version {row['version']}." for row in rows if row["current"]]
        lines += missing_images_text(manifest)
    print_result({"versions": rows}, json, "\n".join([*lines, *map(_line, rows), *_places(rows)]))


def _rows(space: "OpenWorkspace", name: str) -> list[dict[str, Any]]:
    from storage.errors import StorageError
    from storage.index.versions import current_version, missing_index, read_manifest, version_numbers

    current, rows = current_version(space, name), []
    for version in version_numbers(space, name):
        row: dict[str, Any] = dict.fromkeys(("images", "captioned", "model", "created_at", "collection", "recall"))
        row["version"] = version
        try:
            manifest = read_manifest(space, name, version)
            model = {"name": manifest.model.name, "version": manifest.model.version}
            row |= {"images": manifest.images, "captioned": manifest.captioned, "model": model}
            row |= {"created_at": manifest.created_at, "collection": manifest.collection}
            row["recall"] = manifest.approximate and manifest.approximate.recall
        except StorageError as error:
            row["damage"] = str(error)
        rows.append({**row, "current": version == current})
    if not rows:
        raise missing_index(space, name)
    return rows


def _places(rows: list[dict[str, Any]]) -> list[str]:
    """The collection of each version, if the versions were made from different places."""
    made = {row["version"]: row["collection"] for row in rows if row["collection"]}
    if len(set(made.values())) <= 1:
        return []
    return [f"Version {version} was made from {place}." for version, place in made.items()]


def _local(moment: str) -> str:
    """A moment in ISO 8601 as local time with its offset from UTC."""
    return datetime.fromisoformat(moment).astimezone().isoformat(" ", "seconds")


def _line(row: dict[str, Any]) -> str:
    mark = "*" if row["current"] else " "
    if "damage" in row:
        return f"{mark} {row['version']:>4}  {row['damage']}"
    model, made = f"model {row['model']['version']}", _local(row["created_at"])
    captions = "" if row["captioned"] is None else f"  {row['captioned']:,} with captions"
    line = f"{mark} {row['version']:>4}  {counted(row['images'], 'image'):>16}{captions}  {model}  {made}"
    measured = (row["recall"] or {}).get(10, {}).items()
    return "  ".join([line, *(f"recall@10 {recall:.3f} with {lists} lists" for lists, recall in measured)])
