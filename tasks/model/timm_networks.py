"""Any network of timm that returns intermediate maps, with the input that it was trained with."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, partial
from typing import Any, Literal, get_args

import timm
import torch
from torch import Tensor, nn

from tasks.errors import InputError
from tasks.images.config import Interpolation
from tasks.model.backbone import Architecture, Backbone, Outputs, Weights
from tasks.model.config import TIMM

Layout = Literal["BCHW", "BHWC", "tokens"]
OWN = "network."  # the prefix of a network's tensors in this class
LARGEST, USUAL = 384, 224  # pixels; a network trained on larger images is given the usual size, if it accepts that


class TimmNetwork(Backbone):
    """A network of timm. Prefix tokens are left out of maps; a transformer's own embedding is among the outputs."""

    def __init__(self, network: Any, layout: Layout) -> None:
        super().__init__()
        self.network = network
        self.layout = layout
        self.indices = inner_and_last(reductions(network))

    def single_pass(self, images_BCHW: Tensor) -> Outputs:
        """Compute the outputs of one forward pass; the last map is normalised as the network does it."""
        final, (inner_BCHW, last_BCHW) = self.network.forward_intermediates(
            images_BCHW, indices=self.indices, norm=True, output_fmt="NCHW"
        )
        logit_BK = self.network.forward_head(final) if self.network.num_classes else None
        if self.layout == "tokens":
            return Outputs(last_BCHW, (inner_BCHW,), logit_BK, self.network.forward_head(final, pre_logits=True))
        map_BCHW = final.permute(0, 3, 1, 2) if self.layout == "BHWC" else final
        has_last_layer = map_BCHW.shape[1] != last_BCHW.shape[1]
        return Outputs(map_BCHW, (inner_BCHW, last_BCHW) if has_last_layer else (inner_BCHW,), logit_BK)

    def stages(self) -> Sequence[nn.Module]:
        """Return the parts that end in an intermediate map: blocks of a transformer, stages of a CNN."""
        return timm_stages(self.network)

    def classify(self, map_BCHW: Tensor) -> Tensor | None:
        """Compute logit_BK from the last feature map; None for transformers, whose heads need tokens."""
        if self.layout == "tokens" or not self.network.num_classes:
            return None
        logit_BK: Tensor = self.network.forward_head(
            map_BCHW.permute(0, 2, 3, 1) if self.layout == "BHWC" else map_BCHW
        )
        return logit_BK


@dataclass(frozen=True)
class _Input:
    """The options that a network is built with, the images that it then accepts, and the layout of its features."""

    options: Mapping[str, Any]
    layout: Layout
    stride: int
    square: bool


@cache
def timm_architecture(name: str, size: int | None) -> Architecture:
    """Return the architecture of `model[.tag]`, for images of a size or of its own. Raises InputError."""
    published = _published(name)
    own = int(published.input_size[1])
    accepted = _accepted_input(name, size or own)
    return Architecture(
        partial(_build, name, accepted),
        size=size or (own if accepted.square or own <= LARGEST else USUAL),
        licence=published.license or "",
        mean=published.mean,
        std=published.std,
        stride=accepted.stride,
        square=accepted.square,
        interpolation=published.interpolation if published.interpolation in get_args(Interpolation) else "bicubic",
    )


def _published(name: str) -> Any:
    """Return timm's configuration of published weights. Raises InputError if timm has no such network."""
    model, _, tag = name.partition(".")
    if not timm.is_model(model):
        near = get_close_matches(model, timm.list_models(), n=3)
        hint = f"; did you mean {', '.join(TIMM + other for other in near)}?" if near else "."
        raise InputError(f"timm has no network {model!r}{hint}")
    tags = [other.partition(".")[2] for other in timm.list_pretrained(f"{model}.*")]
    if tag and tag not in tags:
        raise InputError(f"timm has no weights {tag!r} of {model}; it has {', '.join(tags) or 'none'}.")
    return timm.get_pretrained_cfg(name)


def _accepted_input(name: str, size: int) -> _Input:
    """Find out, by passes on torch's meta device, which images a network accepts. Raises InputError if it has no maps.

    Images of any aspect are preferred, then squares of this size.
    """
    for options, square in (({"dynamic_img_size": True}, False), ({}, False), ({"img_size": size}, True), ({}, True)):
        with suppress(Exception), torch.device("meta"):  # of any kind: each family refuses images in its own way
            network: Any = timm.create_model(name, **options)
            stride = max(reductions(network))
            height, width = (size, size) if square else (3 * stride, 4 * stride)
            images_1CHW = torch.empty(1, 3, height, width)
            layout = _layout(network.eval().forward_features(images_1CHW), height // stride)
            TimmNetwork(network, layout).outputs(images_1CHW)
            return _Input(options, layout, stride, square)
    raise InputError(f"{TIMM}{name} cannot be used: it returns no feature maps of images at {size} pixels.")


def _layout(features: Tensor, height: int) -> Layout:
    if features.ndim == 3:
        return "tokens"
    return "BCHW" if features.shape[2] == height else "BHWC"


def _build(name: str, accepted: _Input, weights: Weights | None) -> TimmNetwork:
    published: dict[str, Any] = {}
    if weights is not None:
        if all(name.startswith(OWN) for name in weights):  # saved by scenekin
            weights = {name.removeprefix(OWN): tensor for name, tensor in weights.items()}
        published = {"pretrained": True, "pretrained_cfg_overlay": {"state_dict": dict(weights)}}
    network: Any = timm.create_model(name, **accepted.options, **published)
    network.pretrained_cfg["state_dict"] = None  # timm would keep the tensors a second time
    return TimmNetwork(network, accepted.layout)


def inner_and_last(reductions: Sequence[int]) -> list[int]:
    """Return the positions of the inner and of the last map among the intermediate maps, given their strides.

    The inner map is the last but one or, if all have the same resolution, the one at two thirds of the depth.
    """
    inner = len(reductions) - 2 if len(set(reductions)) > 1 else 2 * len(reductions) // 3 - 1
    return [inner, len(reductions) - 1]


def reductions(network: Any) -> list[int]:
    """Return the stride of each intermediate map of a network of timm."""
    return [stage["reduction"] for stage in _feature_info(network)]


def timm_stages(network: Any) -> list[nn.Module]:
    """Return the parts of a network of timm that end in an intermediate map."""
    return [network.get_submodule(stage["module"]) for stage in _feature_info(network)]


def _feature_info(network: Any) -> list[dict[str, Any]]:
    """Return timm's description of each intermediate map."""
    info = network.feature_info
    described: list[dict[str, Any]] = info if isinstance(info, list) else info.get_dicts()
    return described
