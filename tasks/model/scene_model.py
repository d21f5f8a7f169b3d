"""The complete model, from pixels to the embedding."""

import torch
from torch import Tensor, nn

from tasks.images.preprocess import normalise
from tasks.model.backbone import Backbone, Outputs
from tasks.model.config import ModelConfig
from tasks.model.head import Head, flatten_regions
from tasks.model.pooling import describe


class SceneModel(nn.Module):
    """Backbone → pooling → head → L2 (METHOD.md 3). Batch norm stays in evaluation mode during training."""

    def __init__(self, config: ModelConfig, backbone: Backbone, head: Head) -> None:
        super().__init__()
        self.config = config
        self.backbone: Backbone = backbone.to(memory_format=torch.channels_last)
        self.head = head

    def forward(self, pixels_BHWC: Tensor) -> Tensor:
        """Compute embedding_BD, float32, unit length, of uint8 pixels made by `tasks.images.preprocess.to_pixels`."""
        return self.embed(self.outputs(pixels_BHWC))

    def outputs(self, pixels_BHWC: Tensor) -> Outputs:
        """Compute the backbone's outputs for uint8 pixels."""
        return self.backbone.outputs(normalise(pixels_BHWC, self.config.preprocessing))

    def embed(self, outputs: Outputs) -> Tensor:
        """Compute embedding_BD from the backbone's outputs."""
        embedding_BD: Tensor = self.head(*flatten_regions(describe(outputs, self.config.pooling)))
        return embedding_BD

    def train(self, mode: bool = True) -> "SceneModel":
        """Set the training mode of the head alone."""
        super().train(mode)
        self.backbone.eval()
        return self
