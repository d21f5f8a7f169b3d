"""What a network answers: its last feature map, some of those before, and its class scores."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from torch import Tensor, nn


@dataclass(frozen=True)
class Outputs:
    """map_BCHW is the last feature map, no value below zero; inner maps come in the order of the network."""

    map_BCHW: Tensor
    inner_BCHW: tuple[Tensor, ...]
    logit_BK: Tensor

    def averaged_with(self, mirrored: "Outputs") -> "Outputs":
        """The mean of these and those of the mirror images, turned back."""

        def mean(map_BCHW: Tensor, mirrored_BCHW: Tensor) -> Tensor:
            return (map_BCHW + mirrored_BCHW.flip(-1)) / 2

        inner_BCHW = tuple(map(mean, self.inner_BCHW, mirrored.inner_BCHW))
        return Outputs(mean(self.map_BCHW, mirrored.map_BCHW), inner_BCHW, (self.logit_BK + mirrored.logit_BK) / 2)


class Backbone(nn.Module, ABC):
    """A convolutional network that was trained to classify; with `mirror` it looks at images from both sides."""

    mirror: bool = False

    def outputs(self, images_BCHW: Tensor) -> Outputs:
        """All that descriptors are made of."""
        outputs = self.single_pass(images_BCHW)
        return outputs.averaged_with(self.single_pass(images_BCHW.flip(-1))) if self.mirror else outputs

    @abstractmethod
    def single_pass(self, images_BCHW: Tensor) -> Outputs:
        """The same of the images as they are."""

    @abstractmethod
    def classify(self, map_BCHW: Tensor) -> Tensor:
        """logit_BK of a last feature map, as `outputs` gives them."""

    def forward(self, images_BCHW: Tensor) -> Tensor:
        """map_BCHW."""
        return self.outputs(images_BCHW).map_BCHW
