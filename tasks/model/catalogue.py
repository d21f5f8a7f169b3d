"""Which backbones can be used, and on which terms."""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib.util import find_spec

import timm
import torch

from tasks.errors import InputError
from tasks.model.architectures import architecture_of, create_backbone
from tasks.model.config import BACKBONES, OPEN_CLIP, TIMM, BackboneConfig
from tasks.model.weights import weights_available


@dataclass(frozen=True)
class BackboneInfo:
    """A backbone: the number of its parameters, its input size in pixels, and its published weights.

    `weights` is whether they are on this machine; an unknown licence is empty.
    """

    name: str
    parameters: int
    size: int
    licence: str
    weights: bool


def list_backbones(pattern: str | None = None) -> Iterator[BackboneInfo]:
    """List the networks whose names match a pattern, of scenekin, timm and, if it is installed, open_clip.

    Without a pattern, those of scenekin and those of the others whose weights are on this machine. Networks that return
    no feature maps are left out.
    """
    for name in (*BACKBONES, *(TIMM + name for name in timm.list_pretrained()), *_open_clip_names()):
        if not (fnmatch(name, pattern) if pattern else name in BACKBONES or weights_available(name)):
            continue
        try:
            yield describe_backbone(name)
        except InputError:
            continue


def describe_backbone(name: str) -> BackboneInfo:
    """Describe a backbone. Raises InputError if it cannot be used."""
    config = BackboneConfig(name=name)
    architecture = architecture_of(config)
    with torch.device("meta"):
        network = create_backbone(config, pretrained=False)
    parameters = sum(parameter.numel() for parameter in network.parameters())
    return BackboneInfo(name, parameters, architecture.size, architecture.licence, weights_available(name))


def _open_clip_names() -> list[str]:
    if find_spec("open_clip") is None:
        return []
    import open_clip  # noqa: PLC0415  an optional dependency

    return [f"{OPEN_CLIP}{model}/{tag}" for model, tag in open_clip.list_pretrained()]
