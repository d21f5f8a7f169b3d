"""Image towers of open_clip, with the input that they were trained with."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache, partial
from typing import Any, get_args

import open_clip
import torch
from open_clip.convert import convert_state_dict
from torch import Tensor, nn

from tasks.errors import InputError
from tasks.images.config import Interpolation
from tasks.model.backbone import Architecture, Backbone, Outputs, Weights
from tasks.model.config import OPEN_CLIP
from tasks.model.timm_networks import OWN, inner_and_last, reductions, timm_stages

TOWER = "visual."  # the prefix of the image tower's tensors in a file of open_clip
NO_TEXT = {"context_length": 2, "vocab_size": 8, "width": 8, "heads": 1, "layers": 1}  # the smallest text tower
RESNET_REDUCTIONS = (4, 4, 8, 16, 32)  # of CLIP's own ResNet: its stem and its four stages


class ImageTower(Backbone):
    """The image tower of a CLIP model; its embedding of the image is among the outputs.

    The inner map is chosen as for a network of timm.
    """

    def __init__(self, tower: Any) -> None:
        super().__init__()
        self.network = tower
        self.indices = inner_and_last(_reductions(tower))

    def single_pass(self, images_BCHW: Tensor) -> Outputs:
        """Compute the outputs of one forward pass; maps are normalised as the network does it."""
        computed = self.network.forward_intermediates(images_BCHW, indices=self.indices, normalize_intermediates=True)
        inner_BCHW, map_BCHW = computed["image_intermediates"]
        return Outputs(map_BCHW, (inner_BCHW,), pooled_BE=computed["image_features"])

    def stages(self) -> Sequence[nn.Module]:
        """Return the parts that end in an intermediate map."""
        if hasattr(self.network, "trunk"):
            return timm_stages(self.network.trunk)
        if hasattr(self.network, "transformer"):
            return [*self.network.transformer.resblocks]
        return [getattr(self.network, f"layer{number}") for number in range(1, 5)]

    def classify(self, map_BCHW: Tensor) -> None:
        """Return None: image towers have no classes."""


@cache
def open_clip_architecture(name: str, size: int | None) -> Architecture:
    """Return the architecture of `model/tag`. Raises InputError if open_clip has none, or if it takes another size."""
    model, _, tag = name.partition("/")
    published = _published(model, tag)
    with torch.device("meta"):
        tower = _create(model, published).visual
    own = tower.image_size if isinstance(tower.image_size, int) else int(tower.image_size[0])
    if size not in {None, own}:
        raise InputError(
            f"{OPEN_CLIP}{name} accepts images of {own} pixels only; leave out backbone.size or choose another network."
        )
    interpolation = published["interpolation"]
    return Architecture(
        partial(_build, model, published),
        size=own,
        licence="",
        mean=tuple(published["mean"]),
        std=tuple(published["std"]),
        stride=max(_reductions(tower)),
        square=True,
        interpolation=interpolation if interpolation in get_args(Interpolation) else "bicubic",
    )


def _published(model: str, tag: str) -> dict[str, Any]:
    """Return open_clip's description of published weights. Raises InputError if there are none."""
    if published := open_clip.get_pretrained_cfg(model, tag):
        return dict(published)
    if model not in open_clip.list_models():
        near = get_close_matches(model, open_clip.list_models(), n=3)
        hint = f"; did you mean {', '.join(OPEN_CLIP + other for other in near)}?" if near else "."
        raise InputError(f"open_clip has no network {model!r}{hint}")
    tags = ", ".join(open_clip.list_pretrained_tags_by_model(model))
    if not tags:
        raise InputError(f"open_clip publishes no weights of {model}.")
    raise InputError(f"{OPEN_CLIP}{model}/TAG needs one of these tags: {tags}.")


def _build(model: str, published: dict[str, Any], weights: Weights | None) -> ImageTower:
    clip = _create(model, published)
    tower = ImageTower(clip.visual)
    if weights is None:
        return tower
    if not all(name.startswith(OWN) for name in weights):  # published, not saved by scenekin
        weights = {
            OWN + name.removeprefix(TOWER): tensor
            for name, tensor in convert_state_dict(clip, dict(weights)).items()
            if name.startswith(TOWER)
        }
    tower.load_state_dict(weights)
    return tower


def _create(model: str, published: dict[str, Any]) -> Any:
    """Create a CLIP model with random weights and next to no text tower."""
    with _quiet():
        return open_clip.create_model(
            model,
            load_weights=False,
            pretrained_text=False,
            device=torch.get_default_device(),
            force_quick_gelu=bool(published.get("quick_gelu")),
            text_cfg=NO_TEXT,
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress the warning that weights are random; without a handler, it would also configure the root logger."""
    handler = logging.NullHandler()
    logging.root.addHandler(handler)
    level = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(level)
        logging.root.removeHandler(handler)


def _reductions(tower: Any) -> Sequence[int]:
    """Return the stride of each intermediate map."""
    if hasattr(tower, "trunk"):
        return reductions(tower.trunk)
    if hasattr(tower, "transformer"):
        return [tower.patch_size[0]] * len(tower.transformer.resblocks)
    return RESNET_REDUCTIONS
