"""The contract of every backbone: what it computes, how it is built, and the input that it expects."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor, nn

from tasks.images.config import Interpolation
from tasks.model.config import Precision

Weights: TypeAlias = Mapping[str, Tensor]
"""The tensors of a weights file by their names, in the file's order."""


@dataclass(frozen=True)
class Outputs:
    """What one network computes for a batch; what it does not have is None.

    map_BCHW is the last feature map, normalised if the network normalises it. inner_BCHW are earlier maps in the
    network's order. pooled_BE is the network's own image embedding, if that is not an average of the last map.
    logit_BK are its class scores.
    """

    map_BCHW: Tensor
    inner_BCHW: tuple[Tensor, ...]
    logit_BK: Tensor | None = None
    pooled_BE: Tensor | None = None

    def averaged_with(self, mirrored: "Outputs") -> "Outputs":
        """Average with the outputs of the mirrored images, whose maps are flipped back first."""
        return Outputs(
            _mean(self.map_BCHW, mirrored.map_BCHW.flip(-1)),
            tuple(_mean(one, other.flip(-1)) for one, other in zip(self.inner_BCHW, mirrored.inner_BCHW, strict=True)),
            _mean_if_present(self.logit_BK, mirrored.logit_BK),
            _mean_if_present(self.pooled_BE, mirrored.pooled_BE),
        )

    def float(self) -> "Outputs":
        """Convert everything to float32."""
        return Outputs(
            self.map_BCHW.float(),
            tuple(map_BCHW.float() for map_BCHW in self.inner_BCHW),
            None if self.logit_BK is None else self.logit_BK.float(),
            None if self.pooled_BE is None else self.pooled_BE.float(),
        )


class Backbone(nn.Module, ABC):
    """A network that maps images to feature maps; with `mirror`, it averages over the horizontal flip.

    It computes in `precision` on every device, since vectors that are compared must be computed alike. In float32, CUDA
    convolutions use TF32, which changes a vector far less than bfloat16. `sequential` is set if the network defines its
    layers in the order in which it runs them and treats images of every shape alike, so that it can be optimised for
    inference.
    """

    mirror: bool = False
    precision: Precision = "float32"
    sequential: bool = False

    def outputs(self, images_BCHW: Tensor) -> Outputs:
        """Compute everything that descriptors are made of, as float32."""
        outputs = self._pass_in_precision(images_BCHW)
        return outputs.averaged_with(self._pass_in_precision(images_BCHW.flip(-1))) if self.mirror else outputs

    def _pass_in_precision(self, images_BCHW: Tensor) -> Outputs:
        if self.precision == "float32":
            return self.single_pass(images_BCHW)
        with torch.autocast(images_BCHW.device.type, torch.bfloat16):
            return self.single_pass(images_BCHW).float()

    @abstractmethod
    def single_pass(self, images_BCHW: Tensor) -> Outputs:
        """Compute the outputs of one forward pass, without the horizontal flip."""

    @abstractmethod
    def stages(self) -> Sequence[nn.Module]:
        """Return the parts that can be trained from the top, lowest first; parameters are defined in this order."""

    @abstractmethod
    def classify(self, map_BCHW: Tensor) -> Tensor | None:
        """Compute logit_BK from the last feature map; None if the class scores do not depend on the map alone."""

    def forward(self, images_BCHW: Tensor) -> Tensor:
        """Return map_BCHW."""
        return self.outputs(images_BCHW).map_BCHW


@dataclass(frozen=True)
class Architecture:
    """How a kind of network is built, and the input that it was trained with.

    `build` takes the published weights, or None for random ones, and raises RuntimeError if they do not fit. `size` is
    the default length of the longer side in pixels. A network that accepts one shape only is `square`.
    """

    build: Callable[[Weights | None], Backbone]
    size: int
    licence: str
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    stride: int = 32
    square: bool = False
    interpolation: Interpolation = "bicubic"


def _mean(one: Tensor, other: Tensor) -> Tensor:
    return (one + other) / 2


def _mean_if_present(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    return None if one is None or other is None else _mean(one, other)
