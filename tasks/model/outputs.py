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


class Backbone(nn.Module, ABC):
    """A convolutional network that was trained to classify."""

    @abstractmethod
    def outputs(self, images_BCHW: Tensor) -> Outputs:
        """All that descriptors are made of."""

    @abstractmethod
    def classify(self, map_BCHW: Tensor) -> Tensor:
        """logit_BK of a last feature map, as `outputs` gives them."""

    def forward(self, images_BCHW: Tensor) -> Tensor:
        """map_BCHW."""
        return self.outputs(images_BCHW).map_BCHW
