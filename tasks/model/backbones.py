"""The convolutional networks: pixels in, last feature map out, with the weights they were published with."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from tasks.errors import InputError
from tasks.images.config import Preprocessing
from tasks.model.config import BackboneConfig, BackboneName
from tasks.model.weights import weights_file

IMAGENET = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}
HALF = {"mean": (0.5, 0.5, 0.5), "std": (0.5, 0.5, 0.5)}


@dataclass(frozen=True)
class Architecture:
    """One network: how to build it without weights, and what its input looks like."""

    build: Callable[[], nn.Module]
    colours: dict[str, tuple[float, float, float]]
    channels: int
    stride: int = 32


def create_backbone(config: BackboneConfig, *, pretrained: bool = True) -> nn.Module:
    """images_BCHW → feature_map_BCHW; with its weights unless they come from a model at rest. Raises InputError."""
    architecture = ARCHITECTURES[config.name]
    backbone = architecture.build()
    if pretrained:
        _load_in_order(backbone, weights_file(config))
    return backbone.eval()


def preprocessing_of(config: BackboneConfig) -> Preprocessing:
    """The input that this network was trained on, at the configured size."""
    architecture = ARCHITECTURES[config.name]
    return Preprocessing(size=config.size, stride=architecture.stride, **architecture.colours)


def _load_in_order(backbone: nn.Module, path: Path) -> None:
    """Pair the file's tensors with the network's in order; shapes and last name parts have to agree.

    Publishers name the same layers differently, but define them in the same order. A classifier is left over.
    """
    try:
        saved = list(torch.load(path, map_location="cpu", weights_only=True).items())
    except Exception as error:
        raise InputError(f"{path} is not a file of network weights: {type(error).__name__}.") from error
    own = list(backbone.state_dict().items())
    fits = len(saved) >= len(own) and all(
        tensor.shape == getattr(given, "shape", None) and name.rpartition(".")[2] == saved_name.rpartition(".")[2]
        for (name, tensor), (saved_name, given) in zip(own, saved, strict=False)
    )
    if not fits:
        raise InputError(f"{path} holds weights of another network; give the file of the configured backbone.")
    backbone.load_state_dict({name: given for (name, _), (_, given) in zip(own, saved, strict=False)})


class _LastMap(nn.Module):
    """A torchvision ResNet without its pooling and classifier."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        parts = ["conv1", "bn1", "relu", "maxpool", "layer1", "layer2", "layer3", "layer4"]
        self.layers = nn.Sequential(*(getattr(network, part) for part in parts))

    def forward(self, images_BCHW: Tensor) -> Tensor:
        feature_map_BCHW: Tensor = self.layers(images_BCHW)
        return feature_map_BCHW


def _resnet(name: BackboneName, channels: int) -> Architecture:
    def build() -> nn.Module:
        import torchvision  # noqa: PLC0415  a second of import that only ResNets need

        return _LastMap(getattr(torchvision.models, name)(weights=None))

    return Architecture(build, IMAGENET, channels)


def _efficientnet_lite0() -> nn.Module:
    import timm  # noqa: PLC0415  a second of import

    network: nn.Module = timm.create_model("tf_efficientnet_lite0", num_classes=0, global_pool="")
    return network


ARCHITECTURES: dict[BackboneName, Architecture] = {
    "efficientnet_lite0": Architecture(_efficientnet_lite0, HALF, 1280),
    "resnet18": _resnet("resnet18", 512),
    "resnet50": _resnet("resnet50", 2048),
    "resnet101": _resnet("resnet101", 2048),
}
