"""`scenekin backbones`."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from scenekin.console import print_result
from scenekin.options import AsJson

if TYPE_CHECKING:
    from tasks.model.catalogue import BackboneInfo


def backbones(
    pattern: Annotated[
        str | None,
        typer.Argument(
            metavar="PATTERN",
            help="Names to list, for example 'timm/vit_small*' (default: all whose weights are on this machine, and "
            "scenekin's own).",
            show_default=False,
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """List the networks that `backbone.name` accepts."""
    from tasks.errors import InputError
    from tasks.model.catalogue import list_backbones

    found = list(list_backbones(pattern))
    if not found:
        raise InputError(f"No network matches {pattern!r}; `scenekin backbones 'timm/*'` lists the networks of timm.")
    print_result({"backbones": [asdict(each) for each in found]}, json, _table(found))


def _table(found: list["BackboneInfo"]) -> str:
    width = max(len(info.name) for info in found)
    return "\n".join(
        f"{info.name:<{width}} {info.parameters / 1e6:7.1f} M parameters {info.size:>4} pixels  "
        f"{'' if info.weights else 'weights not on this machine, '}{info.licence or 'licence unknown'}"
        for info in found
    )
