"""The default backbone, built once, and another with weights in a file."""

from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest
import torch
import torchvision
from torch import nn

from tasks.model.architectures import create_backbone
from tasks.model.backbone import Backbone
from tasks.model.config import BackboneConfig


@pytest.fixture(scope="session")
def lite0() -> Backbone:
    """EfficientNet-Lite0 with the weights of its package. Not to be changed."""
    return create_backbone(BackboneConfig(name="efficientnet_lite0"))


@pytest.fixture(scope="module")
def resnet18() -> nn.Module:
    torch.manual_seed(0)
    return torchvision.models.resnet18(weights=None).eval()


@pytest.fixture
def resnet18_file(resnet18: nn.Module, tmp_path: Path) -> Path:
    torch.save(resnet18.state_dict(), tmp_path / "resnet18.pth")
    return tmp_path / "resnet18.pth"


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty torch cache, and no network."""

    def no_network(*_: Any, **__: Any) -> None:
        raise URLError("no network")

    monkeypatch.setattr(torch.hub, "download_url_to_file", no_network)
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path))
    return tmp_path
