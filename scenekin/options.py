"""Options and arguments that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from scenekin.console import short

Workspace = Annotated[
    Path | None,
    typer.Option("--workspace", metavar="DIR", help="Workspace folder (default: $SCENEKIN_HOME, else ./.scenekin)."),
]
Collection = Annotated[
    str, typer.Argument(metavar="COLLECTION", help="Folder, file or URL of the images and their captions.")
]
Images = Annotated[str | None, typer.Option("--images", metavar="DIR", help="Image folder, if outside the collection.")]
Format = Annotated[str | None, typer.Option("--format", metavar="NAME", help="Collection format (default: detected).")]
ImageColumn = Annotated[
    str | None,
    typer.Option("--image-column", metavar="NAME", help="Table column with the image paths (default: detected)."),
]
CaptionColumn = Annotated[
    list[str] | None,
    typer.Option(
        "--caption-column", metavar="NAME", help="Table column with the captions (default: detected); repeatable."
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option("--encoding", metavar="NAME", help="Encoding of text files, e.g. gbk (default: detected)."),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", metavar="F.yaml", help="Settings file or preset; `scenekin config` prints all settings."),
]
Assignments = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change one setting, e.g. seed=1; repeatable."),
]
Model = Annotated[
    str, typer.Option("--model", metavar="VERSION", help="Version of a trained model, or champion or challenger.")
]
IndexName = Annotated[str, typer.Option("--name", metavar="NAME", help="Index name.")]
FollowLinks = Annotated[
    bool, typer.Option("--follow-links", help="Follow symbolic links that lead out of the collection.")
]
Rehash = Annotated[
    bool,
    typer.Option("--rehash", help="Read every file again, even those whose size and time are unchanged."),
]
Wait = Annotated[bool, typer.Option("--wait", help="Wait if another process is using the workspace.")]
LOGGING = "Logging"  # the panel of the help that these two options stand in
Verbose = Annotated[
    bool,
    typer.Option("--verbose", help="Log each step to standard error.", rich_help_panel=LOGGING),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print results and errors only.", rich_help_panel=LOGGING)]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]


def column_options(
    image_column: str | None, caption_columns: list[str] | None, encoding: str | None
) -> dict[str, str | tuple[str, ...]]:
    """Return the table columns and the encoding that were named on the command line."""
    captions = tuple(caption_columns or ())
    named = {"image_column": image_column, "caption_column": captions, "encoding": encoding}
    return {name: value for name, value in named.items() if value}


def column_arguments(image_column: str | None, caption_columns: list[str] | None, encoding: str | None) -> list[str]:
    """Return the same as the arguments of a command."""
    named = [("--image-column", image_column), *(("--caption-column", name) for name in caption_columns or ())]
    return [text for option, value in (*named, ("--encoding", encoding)) if value for text in (option, value)]


def workspace_argument(workspace: Path | None) -> list[str]:
    """Return the arguments that name the workspace in use, unless it is `.scenekin` in the current folder."""
    from storage.workspace import find_workspace  # noqa: PLC0415  few commands need it

    root = find_workspace(workspace).root
    return [] if root == Path(".scenekin").absolute() else ["--workspace", short(root)]


def path_text(path: Path | None) -> str | None:
    """Return a path as flows take it."""
    return None if path is None else str(path)
