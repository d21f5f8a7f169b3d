"""Finding a backbone's architecture by name, and building it with its weights."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import torch

from tasks.errors import InputError
from tasks.images.config import Preprocessing
from tasks.model.backbone import Architecture, Backbone, Weights
from tasks.model.config import OPEN_CLIP, TIMM, BackboneConfig, NetworkConfig, PoolingConfig, joined
from tasks.model.convnets import CONVNETS
from tasks.model.pooling import channels_of
from tasks.model.weights import read_weights, weights_file

PROBE = 64  # pixels, rounded up to the stride


def architecture_of(config: BackboneConfig) -> Architecture:
    """Return the architecture of a backbone. Raises InputError if there is no such network."""
    if config.exported:
        from tasks.model.exported_network import exported_architecture  # noqa: PLC0415  importing takes a second

        return exported_architecture(weights_file(config), config.size)
    if config.name.startswith(TIMM):
        from tasks.model.timm_networks import timm_architecture  # noqa: PLC0415  importing timm takes a second

        return timm_architecture(config.name.removeprefix(TIMM), config.size)
    if config.name.startswith(OPEN_CLIP):
        from tasks.model.open_clip_networks import open_clip_architecture  # noqa: PLC0415  an optional dependency

        return open_clip_architecture(config.name.removeprefix(OPEN_CLIP), config.size)
    return CONVNETS[config.name]


def create_backbone(config: BackboneConfig, *, pretrained: bool = True) -> Backbone:
    """Build a backbone in evaluation mode, with its pretrained weights if asked for.

    Raises InputError if the weights file is missing or belongs to another network.
    """
    build = _builder(config)
    backbone = _build_pretrained(build, weights_file(config)) if pretrained else build(None)
    backbone.mirror, backbone.precision = config.mirror, config.precision
    return backbone.eval()


def _builder(config: BackboneConfig) -> Callable[[Weights | None], Backbone]:
    if config.exported:  # a model contains its program, whose file may be gone
        from tasks.model.exported_network import build_exported  # noqa: PLC0415  importing takes a second

        return build_exported
    return architecture_of(config).build


def _build_pretrained(build: Callable[[Weights | None], Backbone], path: Path) -> Backbone:
    weights = read_weights(path)
    try:
        return build(weights)
    except Exception as error:  # of any kind: timm translates the names of tensors that it has never seen
        raise InputError(
            f"{path} contains the weights of another network; give a file of the configured backbone."
        ) from error


def networks_of(backbones: Sequence[BackboneConfig]) -> tuple[NetworkConfig, ...]:
    """Return the networks of a model with the input of each; images are decoded once, for the largest."""
    inputs = [preprocessing_of(backbone) for backbone in backbones]
    largest = max(preprocessing.size for preprocessing in inputs)
    return tuple(
        NetworkConfig(
            backbone=backbone,
            preprocessing=preprocessing.model_copy(
                update={"decoded_size": None if preprocessing.size == largest else largest}
            ),
            licence=architecture_of(backbone).licence,
        )
        for backbone, preprocessing in zip(backbones, inputs, strict=True)
    )


def preprocessing_of(config: BackboneConfig) -> Preprocessing:
    """Return the preprocessing that the backbone was trained with, at the configured size."""
    architecture = architecture_of(config)
    return Preprocessing(
        size=config.size or architecture.size,
        stride=architecture.stride,
        square=architecture.square,
        interpolation=architecture.interpolation,
        mean=architecture.mean,
        std=architecture.std,
    )


def block_channels(backbones: Sequence[BackboneConfig], pooling: PoolingConfig) -> tuple[tuple[int, ...], ...]:
    """Return the number of channels of each block of each network that a pooling joins; their sum is C."""
    plain = {"mirror": False, "precision": "float32"}  # neither changes a shape
    return tuple(_block_channels(config.model_copy(update=plain), pooling) for config in joined(backbones, pooling))


@cache
def _block_channels(config: BackboneConfig, pooling: PoolingConfig) -> tuple[int, ...]:
    """Find the channels by a pass, on torch's meta device but for a program, which is made for real ones."""
    preprocessing = preprocessing_of(config)
    side = preprocessing.size if preprocessing.square else -(-PROBE // preprocessing.stride) * preprocessing.stride
    with torch.device("cpu" if config.exported else "meta"), torch.no_grad():
        backbone = create_backbone(config, pretrained=config.exported)
        return channels_of(backbone.outputs(torch.zeros(2, 3, side, side)), pooling)
