"""The whole model: pixels to embedding."""

import torch
from torch import Tensor, nn

from tasks.images.preprocess import normalise
from tasks.model.backbone import Backbone, Outputs
from tasks.model.config import ModelConfig
from tasks.model.head import Head, flatten_regions
from tasks.model.pooling import describe


class SceneModel(nn.Module):
    """backbone → pooling → head → L2 (METHOD.md 3). Batch norm stays in evaluation mode, also in training."""

    def __init__(self, config: ModelConfig, backbone: Backbone, head: Head) -> None:
        super().__init__()
        self.config = config
        self.backbone: Backbone = backbone.to(memory_format=torch.channels_last)
        self.head = head

    def forward(self, pixels_BHWC: Tensor) -> Tensor:
        """embedding_BD, float32, unit length, of uint8 pixels as `tasks.images.preprocess.to_pixels` gives them."""
        return self.embed(self.outputs(pixels_BHWC))

    def outputs(self, pixels_BHWC: Tensor) -> Outputs:
        """What the backbone makes of uint8 pixels."""
        return self.backbone.outputs(normalise(pixels_BHWC, self.config.preprocessing))

    def embed(self, outputs: Outputs) -> Tensor:
        """embedding_BD of what the backbone made."""
        embedding_BD: Tensor = self.head(*flatten_regions(describe(outputs, self.config.pooling)))
        return embedding_BD

    def train(self, mode: bool = True) -> "SceneModel":
        """Training mode for the head alone."""
        super().train(mode)
        self.backbone.eval()
        return self
