"""`scenekin config`."""

from pathlib import Path
from typing import Annotated

import typer

from scenekin.local_run import settings_of
from scenekin.options import Workspace


def config(
    preset: Annotated[
        Path | None, typer.Argument(metavar="PRESET", help="Preset or settings file (default: the defaults).")
    ] = None,
    workspace: Workspace = None,  # noqa: ARG001  every command takes it
) -> None:
    """Print every setting, its meaning and its value, as YAML for --config."""
    settings = settings_of(preset, None)
    from scenekin.config_file import config_text

    print(config_text(settings), end="")
