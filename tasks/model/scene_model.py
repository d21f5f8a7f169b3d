"""The complete model, from pixels to the embedding."""

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn

from tasks.images.preprocess import Inputs, normalise
from tasks.model.backbone import Backbone, Outputs
from tasks.model.config import ModelConfig, joined
from tasks.model.head import Head, flatten_regions
from tasks.model.pooling import channels_of, describe


class SceneModel(nn.Module):
    """Backbones → pooling → head → L2 (METHOD.md 3). Batch norm stays in evaluation mode during training."""

    def __init__(self, config: ModelConfig, backbones: Sequence[Backbone], head: Head) -> None:
        super().__init__()
        self.config = config
        networks = nn.ModuleList(backbone.to(memory_format=torch.channels_last) for backbone in backbones)
        self.backbones = cast(Sequence[Backbone], networks)
        self.head = head

    def forward(self, inputs: Inputs) -> Tensor:
        """Compute embedding_BD, float32, unit length, of pixels_BHWC for each network.

        They are made by `tasks.images.preprocess.to_inputs`.
        """
        return self.embed(self.outputs(inputs))

    def outputs(self, inputs: Inputs) -> tuple[Outputs, ...]:
        """Compute the outputs of each network for its pixels_BHWC."""
        return tuple(
            backbone.outputs(normalise(pixels_BHWC, preprocessing))
            for backbone, pixels_BHWC, preprocessing in zip(
                self.backbones, inputs, self.config.preprocessings, strict=True
            )
        )

    def embed(self, outputs: Sequence[Outputs]) -> Tensor:
        """Compute embedding_BD from the outputs of each network."""
        embedding_BD: Tensor = self.head(*flatten_regions(describe(outputs, self.config.pooling)))
        return embedding_BD

    def embed_one(self, image: Inputs) -> Tensor:
        """Compute embedding_D of one image, given as pixels_HWC for each network."""
        return self.forward(tuple(pixels_HWC[None] for pixels_HWC in image))[0]

    @torch.no_grad()
    def block_channels(self) -> tuple[tuple[int, ...], ...]:
        """Return the number of channels of each block of each network that the pooling joins."""
        sizes = [preprocessing.size for preprocessing in self.config.preprocessings]
        inputs = tuple(torch.zeros(2, size, size, 3, dtype=torch.uint8) for size in sizes)
        joined_outputs = joined(self.outputs(inputs), self.config.pooling)
        return tuple(channels_of(outputs, self.config.pooling) for outputs in joined_outputs)

    def train(self, mode: bool = True) -> "SceneModel":
        """Set the training mode of the head alone."""
        super().train(mode)
        for backbone in self.backbones:
            backbone.eval()
        return self
