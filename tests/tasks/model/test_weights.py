import hashlib
from pathlib import Path

import pytest
import torchvision

from tasks.errors import InputError
from tasks.model.architectures import create_backbone
from tasks.model.config import BackboneConfig
from tasks.model.weights import weights_digest, weights_file

LITE0 = BackboneConfig(name="efficientnet_lite0")


def test_the_digest_is_that_of_the_weights_file(resnet18_file: Path) -> None:
    config = BackboneConfig(name="resnet18", weights=str(resnet18_file))
    assert weights_digest(config) == hashlib.sha256(resnet18_file.read_bytes()).hexdigest()
    assert weights_digest(config) != weights_digest(LITE0)


def test_a_missing_weights_file_is_said(tmp_path: Path) -> None:
    config = BackboneConfig(name="resnet18", weights=str(tmp_path / "nothing.pth"))
    for use in (create_backbone, weights_file, weights_digest):
        with pytest.raises(InputError, match=r"No such weights file: .*nothing\.pth; set backbone\.weights"):
            use(config)


def test_a_download_says_nothing_on_standard_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    published = torchvision.models.ResNet18_Weights.IMAGENET1K_V1
    monkeypatch.setattr(type(published), "get_state_dict", lambda *_, **__: print("Downloading"))
    weights_file(BackboneConfig(name="resnet18"))
    assert capsys.readouterr().out == ""


def test_weights_in_torch_s_cache_are_used(offline: Path, resnet18_file: Path) -> None:
    name = Path(torchvision.models.ResNet18_Weights.IMAGENET1K_V1.url).name
    (offline / "checkpoints").mkdir()
    cached = offline / "checkpoints" / name
    resnet18_file.rename(cached)
    assert weights_file(BackboneConfig(name="resnet18")) == cached
    assert weights_digest(BackboneConfig(name="resnet18")) == hashlib.sha256(cached.read_bytes()).hexdigest()
