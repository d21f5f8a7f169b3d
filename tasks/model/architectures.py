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
from tasks.model.pooling import blocks
from tasks.model.weights import read_weights, weights_file

PROBE = 64  # pixels, rounded up to the stride


def architecture_of(config: BackboneConfig) -> Architecture:
    """Return the architecture of a backbone. Raises InputError if timm or open_clip has no such network."""
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
    build = architecture_of(config).build
    backbone = _build_pretrained(build, weights_file(config)) if pretrained else build(None)
    backbone.mirror, backbone.precision = config.mirror, config.precision
    return backbone.eval()


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
    return tuple(_block_channels(config, pooling) for config in joined(backbones, pooling))


def _block_channels(config: BackboneConfig, pooling: PoolingConfig) -> tuple[int, ...]:
    plain = config.model_copy(update={"weights": None, "mirror": False, "precision": "float32"})
    map_channels, of_blocks = _channels(plain)
    return of_blocks if pooling.kind == "blocks" else (map_channels,)


@cache
def _channels(config: BackboneConfig) -> tuple[int, tuple[int, ...]]:
    """Return the channels of the last map and those of the blocks, found by a pass on torch's meta device."""
    preprocessing = preprocessing_of(config)
    side = preprocessing.size if preprocessing.square else -(-PROBE // preprocessing.stride) * preprocessing.stride
    with torch.device("meta"):
        outputs = create_backbone(config, pretrained=False).outputs(torch.empty(1, 3, side, side))
        return outputs.map_BCHW.shape[1], tuple(block_BC.shape[1] for block_BC in blocks(outputs))
