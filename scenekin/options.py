"""The options that commands share."""

from pathlib import Path
from typing import Annotated, Optional

import typer

# typer reads these at run time, where it wants Optional.
Workspace = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option("--workspace", metavar="DIR", help="Where all is written; else SCENEKIN_HOME, else .scenekin here."),
]
Collection = Annotated[str, typer.Argument(metavar="COLLECTION", help="A folder, file or URL of images with captions.")]
Images = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--images", metavar="DIR", help="Where the images are, if elsewhere."),
]
Format = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--format", help="The collection's format, if looking at it does not tell."),
]
ImageColumn = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--image-column", help="The column of a table that names the images, if its name does not tell."),
]
CaptionColumn = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--caption-column", help="Table column with captions (default: detected); may be repeated."),
]
Encoding = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--encoding", metavar="NAME", help="Encoding of text files, such as gbk (default: detected)."),
]
ConfigFile = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option("--config", metavar="F.yaml", help="Settings; `scenekin config` prints all with their defaults."),
]
Assignments = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--set", metavar="KEY=VALUE", help="One setting, as triplets.margin=0.1; may be repeated."),
]
Model = Annotated[str, typer.Option("--model", help="An alias or a version number of the registered model.")]
Rehash = Annotated[bool, typer.Option("--rehash", help="Read all files again and forget what is known of them.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait if another process is using the workspace.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output, nothing else.")]


def column_options(
    image_column: str | None, caption_columns: list[str] | None, encoding: str | None
) -> dict[str, str | tuple[str, ...]]:
    """Return the table columns and the encoding that were named on the command line."""
    captions = tuple(caption_columns or ())
    named = {"image_column": image_column, "caption_column": captions, "encoding": encoding}
    return {name: value for name, value in named.items() if value}


def path_text(path: Path | None) -> str | None:
    """Return a path as flows take it."""
    return None if path is None else str(path)
