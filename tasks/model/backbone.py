"""The interface of a backbone: its last feature map, some earlier ones, and its class scores."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tasks.model.config import Precision


@dataclass(frozen=True)
class Outputs:
    """The last feature map (never negative), earlier ("inner") maps in the network's order, and the class scores."""

    map_BCHW: Tensor
    inner_BCHW: tuple[Tensor, ...]
    logit_BK: Tensor

    def averaged_with(self, mirrored: "Outputs") -> "Outputs":
        """Average with the outputs of the mirrored images, whose maps are flipped back first."""

        def mean(map_BCHW: Tensor, mirrored_BCHW: Tensor) -> Tensor:
            return (map_BCHW + mirrored_BCHW.flip(-1)) / 2

        inner_BCHW = tuple(map(mean, self.inner_BCHW, mirrored.inner_BCHW))
        return Outputs(mean(self.map_BCHW, mirrored.map_BCHW), inner_BCHW, (self.logit_BK + mirrored.logit_BK) / 2)


class Backbone(nn.Module, ABC):
    """A convolutional network trained to classify; with `mirror`, it averages over the horizontal flip.

    It computes in `precision` on every device, since vectors that are compared must be computed alike. In float32, CUDA
    convolutions use TF32, which changes a vector far less than bfloat16.
    """

    mirror: bool = False
    precision: Precision = "float32"

    def outputs(self, images_BCHW: Tensor) -> Outputs:
        """Compute everything that descriptors are made of, as float32."""
        outputs = self._pass_in_precision(images_BCHW)
        return outputs.averaged_with(self._pass_in_precision(images_BCHW.flip(-1))) if self.mirror else outputs

    def _pass_in_precision(self, images_BCHW: Tensor) -> Outputs:
        if self.precision == "float32":
            return self.single_pass(images_BCHW)
        with torch.autocast(images_BCHW.device.type, torch.bfloat16):
            outputs = self.single_pass(images_BCHW)
        inner_BCHW = tuple(map_BCHW.float() for map_BCHW in outputs.inner_BCHW)
        return Outputs(outputs.map_BCHW.float(), inner_BCHW, outputs.logit_BK.float())

    @abstractmethod
    def single_pass(self, images_BCHW: Tensor) -> Outputs:
        """Compute the outputs of one forward pass, without the horizontal flip."""

    @abstractmethod
    def classify(self, map_BCHW: Tensor) -> Tensor:
        """Compute logit_BK from the last feature map."""

    def forward(self, images_BCHW: Tensor) -> Tensor:
        """Return map_BCHW."""
        return self.outputs(images_BCHW).map_BCHW
