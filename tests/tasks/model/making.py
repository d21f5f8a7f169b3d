"""Small models for tests where the backbone is not the subject."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from tasks.images.config import Preprocessing
from tasks.model.backbone import Backbone, Outputs
from tasks.model.config import BackboneConfig, ModelConfig, NetworkConfig, PoolingConfig
from tasks.model.head import Projection
from tasks.model.scene_model import SceneModel

CHANNELS, DIMENSION = 8, 4


def random(*shape: int, seed: int = 0) -> Tensor:
    """Normal values, the same for the same seed."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


class TinyBackbone(Backbone):
    """CHANNELS channels at stride 32, by one convolution, batch norm and ReLU; as many classes."""

    sequential = True

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, CHANNELS, 32, stride=32)
        self.norm = nn.BatchNorm2d(CHANNELS)
        self.convolution.weight.data = random(*self.convolution.weight.shape) / 50
        self.convolution.bias.data = random(CHANNELS, seed=1)
        self.eval()

    def single_pass(self, images_BCHW: Tensor) -> Outputs:
        inner_BCHW = self.norm(self.convolution(images_BCHW))
        map_BCHW = inner_BCHW.relu()
        return Outputs(map_BCHW, (inner_BCHW,), self.classify(map_BCHW))

    def stages(self) -> Sequence[nn.Module]:
        return [self.convolution]

    def classify(self, map_BCHW: Tensor) -> Tensor:
        return map_BCHW.mean((2, 3))


def tiny_projection(channels: int = CHANNELS, dimension: int = DIMENSION) -> Projection:
    """A random head."""
    return Projection(random(channels, seed=2) / 10, random(channels, dimension, seed=3))


def tiny_config(pooling: PoolingConfig | None = None, channels: int = CHANNELS) -> ModelConfig:
    """A configuration at 96 pixels that fits the parts above."""
    return ModelConfig(
        method="test",
        networks=(NetworkConfig(backbone=BackboneConfig(size=96), preprocessing=Preprocessing(size=96)),),
        pooling=pooling or PoolingConfig(kind="rmac_mean"),
        channels=channels,
        dimension=DIMENSION,
    )


def tiny_model(pooling: PoolingConfig | None = None) -> SceneModel:
    """TinyBackbone and a random head."""
    return SceneModel(tiny_config(pooling), [TinyBackbone()], tiny_projection()).eval()


def random_pixels(images: int, height: int = 96, width: int = 64, seed: int = 0) -> Tensor:
    """pixels_BHWC, uint8, for one network."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (images, height, width, 3), dtype=torch.uint8, generator=generator)
