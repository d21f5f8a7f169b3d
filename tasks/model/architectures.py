"""The supported backbones: how each is built, its published weights and its input."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from tasks.errors import InputError
from tasks.images.config import Preprocessing
from tasks.model.backbone import Backbone, Outputs
from tasks.model.config import BackboneConfig, BackboneName, PoolingConfig
from tasks.model.weights import weights_file

CLASSES = 1000
# Mean and standard deviation of the input colours.
IMAGENET = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}
INCEPTION = {"mean": (0.5, 0.5, 0.5), "std": (0.5, 0.5, 0.5)}


@dataclass(frozen=True)
class Architecture:
    """A backbone: a constructor without weights, colour normalisation, and the channels of its last and inner maps."""

    build: Callable[[], Backbone]
    normalisation: dict[str, tuple[float, float, float]]
    channels: int
    inner: tuple[int, ...]
    stride: int = 32

    def block_channels(self, pooling: PoolingConfig) -> tuple[int, ...]:
        """Return the number of channels of each block of a descriptor; their sum is C."""
        if pooling.kind != "blocks":
            return (self.channels,)
        return (self.channels, *self.inner, self.inner[0], CLASSES, CLASSES)


def create_backbone(config: BackboneConfig, *, pretrained: bool = True) -> Backbone:
    """Build a backbone in evaluation mode, with its pretrained weights if asked for.

    Raises InputError if the weights file is missing or belongs to another network.
    """
    architecture = ARCHITECTURES[config.name]
    backbone = architecture.build()
    backbone.mirror, backbone.precision = config.mirror, config.precision
    if pretrained:
        _load_weights(backbone, weights_file(config))
    return backbone.eval()


def preprocessing_of(config: BackboneConfig) -> Preprocessing:
    """Return the preprocessing that the backbone was trained with, at the configured size."""
    architecture = ARCHITECTURES[config.name]
    return Preprocessing(size=config.size, stride=architecture.stride, **architecture.normalisation)


def _load_weights(backbone: nn.Module, path: Path) -> None:
    """Load a file's tensors in order; their shapes and the last parts of their names must match the network's.

    Publishers name the same layers differently but define them in the same order.
    """
    try:
        saved = list(torch.load(path, map_location="cpu", weights_only=True).items())
    except Exception as error:
        raise InputError(f"{path} is not a file of network weights ({type(error).__name__}).") from error
    own = list(backbone.state_dict().items())
    fits = len(saved) == len(own) and all(
        tensor.shape == getattr(given, "shape", None) and name.rpartition(".")[2] == saved_name.rpartition(".")[2]
        for (name, tensor), (saved_name, given) in zip(own, saved, strict=False)
    )
    if not fits:
        raise InputError(f"{path} contains the weights of another network; give a file of the configured backbone.")
    backbone.load_state_dict({name: given for (name, _), (_, given) in zip(own, saved, strict=False)})


class _ResNet(Backbone):
    """A torchvision ResNet; its inner map is the output of its second-to-last stage."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        parts = ["conv1", "bn1", "relu", "maxpool", "layer1", "layer2", "layer3"]
        self.layers = nn.Sequential(*(getattr(network, part) for part in parts))
        self.last = network.layer4
        self.classifier = network.fc

    def single_pass(self, images_BCHW: Tensor) -> Outputs:
        inner_BCHW = self.layers(images_BCHW)
        map_BCHW = self.last(inner_BCHW)
        return Outputs(map_BCHW, (inner_BCHW,), self.classify(map_BCHW))

    def classify(self, map_BCHW: Tensor) -> Tensor:
        logit_BK: Tensor = self.classifier(map_BCHW.mean((2, 3)))
        return logit_BK


class _EfficientNet(Backbone):
    """A timm EfficientNet; its inner maps are the outputs of its last two blocks."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def single_pass(self, images_BCHW: Tensor) -> Outputs:
        x_BCHW = self.network.bn1(self.network.conv_stem(images_BCHW))
        maps = [x_BCHW := block(x_BCHW) for block in self.network.blocks]
        map_BCHW = self.network.bn2(self.network.conv_head(x_BCHW))
        return Outputs(map_BCHW, tuple(maps[-2:]), self.classify(map_BCHW))

    def classify(self, map_BCHW: Tensor) -> Tensor:
        logit_BK: Tensor = self.network.classifier(map_BCHW.mean((2, 3)))
        return logit_BK


def _resnet(name: BackboneName, channels: int) -> Architecture:
    def build() -> Backbone:
        import torchvision  # noqa: PLC0415  takes a second, and only ResNets need it

        return _ResNet(getattr(torchvision.models, name)(weights=None))

    return Architecture(build, IMAGENET, channels, (channels // 2,))


def _efficientnet_lite0() -> Backbone:
    import timm  # noqa: PLC0415  takes a second

    return _EfficientNet(timm.create_model("tf_efficientnet_lite0"))


ARCHITECTURES: dict[BackboneName, Architecture] = {
    "efficientnet_lite0": Architecture(_efficientnet_lite0, INCEPTION, 1280, (192, 320)),
    "resnet18": _resnet("resnet18", 512),
    "resnet50": _resnet("resnet50", 2048),
    "resnet101": _resnet("resnet101", 2048),
}
