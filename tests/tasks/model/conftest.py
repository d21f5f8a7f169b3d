"""The default backbone, built once."""

import pytest
from torch import nn

from tasks.model.backbones import create_backbone
from tasks.model.config import BackboneConfig


@pytest.fixture(scope="session")
def lite0() -> nn.Module:
    """EfficientNet-Lite0 with the weights of its package. Not to be changed."""
    return create_backbone(BackboneConfig(name="efficientnet_lite0"))
