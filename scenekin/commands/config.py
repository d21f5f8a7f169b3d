"""`scenekin config`."""

from pathlib import Path
from typing import Annotated

import typer

from scenekin.options import Workspace


def config(
    preset: Annotated[
        Path | None, typer.Argument(metavar="PRESET", help="Preset or settings file (default: the default settings).")
    ] = None,
    workspace: Workspace = None,  # noqa: ARG001  every command takes it
) -> None:
    """Print every setting, its meaning and its value, as YAML for --config."""
    from scenekin.config_file import config_text, read_config

    print(config_text(read_config(preset)), end="")
