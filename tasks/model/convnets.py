"""The convolutional networks that scenekin builds itself, with the weights that packages publish."""

from collections.abc import Sequence
from typing import Any, TypedDict

from torch import Tensor, nn

from tasks.model.backbone import Architecture, Backbone, Outputs, Weights

STEM = ("conv1", "bn1", "relu", "maxpool")  # of a ResNet


class _Colours(TypedDict):
    mean: tuple[float, float, float]
    std: tuple[float, float, float]


IMAGENET: _Colours = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}
INCEPTION: _Colours = {"mean": (0.5, 0.5, 0.5), "std": (0.5, 0.5, 0.5)}


class _ResNet(Backbone):
    """A torchvision ResNet; its inner map is the output of its second-to-last stage."""

    sequential = True

    def __init__(self, network: Any) -> None:
        super().__init__()
        parts = [*STEM, "layer1", "layer2", "layer3"]
        self.layers = nn.Sequential(*(getattr(network, part) for part in parts))
        self.last = network.layer4
        self.classifier = network.fc

    def single_pass(self, images_BCHW: Tensor) -> Outputs:
        inner_BCHW = self.layers(images_BCHW)
        map_BCHW = self.last(inner_BCHW)
        return Outputs(map_BCHW, (inner_BCHW,), self.classify(map_BCHW))

    def stages(self) -> Sequence[nn.Module]:
        return [*self.layers[len(STEM) :], self.last]

    def classify(self, map_BCHW: Tensor) -> Tensor:
        logit_BK: Tensor = self.classifier(map_BCHW.mean((2, 3)))
        return logit_BK


class _EfficientNet(Backbone):
    """A timm EfficientNet; its inner maps are the outputs of its last two blocks."""

    sequential = True

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def single_pass(self, images_BCHW: Tensor) -> Outputs:
        x_BCHW = self.network.bn1(self.network.conv_stem(images_BCHW))
        maps = [x_BCHW := block(x_BCHW) for block in self.network.blocks]
        map_BCHW = self.network.bn2(self.network.conv_head(x_BCHW))
        return Outputs(map_BCHW, tuple(maps[-2:]), self.classify(map_BCHW))

    def stages(self) -> Sequence[nn.Module]:
        return [*self.network.blocks]

    def classify(self, map_BCHW: Tensor) -> Tensor:
        logit_BK: Tensor = self.network.classifier(map_BCHW.mean((2, 3)))
        return logit_BK


def _loaded(backbone: Backbone, weights: Weights | None) -> Backbone:
    """Load tensors by name or else in order; their shapes and the last parts of their names must match the network's.

    Publishers name the same layers differently but define them in the same order. Raises RuntimeError if they differ.
    """
    if weights is None:
        return backbone
    if weights.keys() == backbone.state_dict().keys():  # saved by scenekin
        backbone.load_state_dict(weights)
        return backbone
    own, saved = list(backbone.state_dict().items()), list(weights.items())
    fits = len(saved) == len(own) and all(
        tensor.shape == given.shape and name.rpartition(".")[2] == saved_name.rpartition(".")[2]
        for (name, tensor), (saved_name, given) in zip(own, saved, strict=True)
    )
    if not fits:
        raise RuntimeError("the tensors are not those of this network")
    backbone.load_state_dict({name: given for (name, _), (_, given) in zip(own, saved, strict=True)})
    return backbone


def _resnet(name: str) -> Architecture:
    def build(weights: Weights | None) -> Backbone:
        import torchvision  # noqa: PLC0415  takes a second, and only ResNets need it

        return _loaded(_ResNet(getattr(torchvision.models, name)(weights=None)), weights)

    return Architecture(build, size=224, licence="bsd-3-clause", **IMAGENET)


def _efficientnet_lite(number: int, size: int) -> Architecture:
    def build(weights: Weights | None) -> Backbone:
        import timm  # noqa: PLC0415  takes a second

        return _loaded(_EfficientNet(timm.create_model(f"tf_efficientnet_lite{number}")), weights)

    return Architecture(build, size=size, licence="apache-2.0", **INCEPTION)


CONVNETS: dict[str, Architecture] = {
    "efficientnet_lite0": _efficientnet_lite(0, 224),
    "efficientnet_lite1": _efficientnet_lite(1, 240),
    "efficientnet_lite2": _efficientnet_lite(2, 260),
    "resnet18": _resnet("resnet18"),
    "resnet50": _resnet("resnet50"),
    "resnet101": _resnet("resnet101"),
}
