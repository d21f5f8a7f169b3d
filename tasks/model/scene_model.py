"""The whole model: pixels to embedding."""

import torch
from torch import Tensor, nn

from tasks.images.preprocess import normalise
from tasks.model.config import ModelConfig
from tasks.model.head import Projection, flatten_regions
from tasks.model.pooling import describe


class SceneModel(nn.Module):
    """backbone → pooling → projection → L2 (METHOD.md 3). Batch norm stays in evaluation mode, also in training."""

    def __init__(self, config: ModelConfig, backbone: nn.Module, head: Projection) -> None:
        super().__init__()
        self.config = config
        self.backbone = backbone.to(memory_format=torch.channels_last)
        self.head = head

    def forward(self, pixels_BHWC: Tensor) -> Tensor:
        """embedding_BD, float32, unit length, of uint8 pixels as `tasks.images.preprocess.to_pixels` gives them."""
        feature_map_BCHW = self.backbone(normalise(pixels_BHWC, self.config.preprocessing))
        embedding_BD: Tensor = self.head(*flatten_regions(describe(feature_map_BCHW, self.config.pooling)))
        return embedding_BD

    def train(self, mode: bool = True) -> "SceneModel":
        """Training mode for the head alone."""
        super().train(mode)
        self.backbone.eval()
        return self
