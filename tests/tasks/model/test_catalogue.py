from pathlib import Path

import pytest

from tasks.errors import InputError
from tasks.model import catalogue
from tasks.model.architectures import create_backbone
from tasks.model.catalogue import describe_backbone, list_backbones
from tasks.model.config import BACKBONES, BackboneConfig


@pytest.fixture(autouse=True)
def _empty_caches(offline: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(offline / "hub"))


def test_a_backbone_is_described_as_it_is_built() -> None:
    info = describe_backbone("efficientnet_lite0")
    parameters = sum(tensor.numel() for tensor in create_backbone(BackboneConfig()).parameters())
    assert (info.parameters, info.size, info.licence, info.weights) == (parameters, 224, "apache-2.0", True)


def test_without_a_pattern_scenekin_s_own_are_listed_and_the_cached_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [info.name for info in list_backbones()] == list(BACKBONES)
    monkeypatch.setattr(catalogue, "weights_available", lambda name: name == "timm/test_vit.r160_in1k")
    listed = list(list_backbones())
    assert [info.name for info in listed] == [*BACKBONES, "timm/test_vit.r160_in1k"]
    assert [info.weights for info in listed] == [False] * len(BACKBONES) + [True]


def test_a_pattern_selects_networks_and_leaves_out_what_cannot_be_used() -> None:
    listed = list(list_backbones("timm/test_vit*"))
    assert {"timm/test_vit.r160_in1k", "timm/test_vit2.r160_in1k"} <= {info.name for info in listed}
    assert not any(info.weights for info in listed)
    assert not list(list_backbones("timm/hiera_tiny_224.mae"))
    with pytest.raises(InputError, match="cannot be used"):
        describe_backbone("timm/hiera_tiny_224")
