"""Image towers of open_clip with random weights: a tiny network of each of its three kinds."""

import json
import logging
from pathlib import Path
from typing import Any

import open_clip
import pytest
import torch
from safetensors.torch import save_file

from tasks.captions.vocabulary import build_vocabulary
from tasks.errors import InputError
from tasks.model import weights
from tasks.model.architectures import architecture_of, block_channels, create_backbone, networks_of, preprocessing_of
from tasks.model.catalogue import describe_backbone, list_backbones
from tasks.model.config import BackboneConfig, ModelConfig, PoolingConfig
from tasks.model.head import Projection
from tasks.model.persistence import load
from tasks.model.saving import save
from tasks.model.scene_model import SceneModel
from tasks.search.explanation import explain
from tests.tasks.model.making import random, random_pixels

BLOCKS = PoolingConfig(kind="blocks")
TEXT = {"context_length": 4, "vocab_size": 16, "width": 16, "heads": 2, "layers": 1}
TOWERS: dict[str, dict[str, Any]] = {
    "tiny-ViT": {"image_size": 64, "patch_size": 16, "width": 32, "layers": 3, "head_width": 16},
    "tiny-RN": {"image_size": 64, "layers": [1, 1, 1, 1], "width": 8},
    "tiny-timm": {"image_size": 160, "timm_model_name": "test_vit", "timm_pool": "", "timm_proj": "linear"},
}
PUBLISHED = {
    "hf_hub": "somebody/tiny/",
    "mean": (0.5, 0.4, 0.3),
    "std": (0.2, 0.3, 0.4),
    "interpolation": "bilinear",
    "quick_gelu": True,
}
every_tower = pytest.mark.parametrize("model", TOWERS)


@pytest.fixture(autouse=True)
def _tiny_networks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "configs"
    folder.mkdir()
    for name, tower in TOWERS.items():
        (folder / f"{name}.json").write_text(json.dumps({"embed_dim": 24, "vision_cfg": tower, "text_cfg": TEXT}))
        monkeypatch.setitem(open_clip.pretrained._PRETRAINED, name, {"noise": PUBLISHED})
    monkeypatch.setattr(open_clip.factory, "_MODEL_CONFIG_PATHS", [*open_clip.factory._MODEL_CONFIG_PATHS])
    open_clip.add_model_config(folder)


def whole_model(model: str) -> Any:
    """A CLIP model as open_clip builds it, with random weights."""
    torch.manual_seed(0)
    return open_clip.create_model(model, force_quick_gelu=True).eval()


def config_of(model: str, folder: Path) -> BackboneConfig:
    """A backbone whose file contains a whole CLIP model, text tower included."""
    path = folder / f"{model}.safetensors"
    save_file(whole_model(model).state_dict(), path)
    return BackboneConfig(name=f"open_clip/{model}/noise", weights=str(path))


@every_tower
@torch.inference_mode()
def test_the_embedding_is_the_one_of_open_clip(model: str, tmp_path: Path) -> None:
    config = config_of(model, tmp_path)
    preprocessing, backbone = preprocessing_of(config), create_backbone(config)
    images_BCHW = random(2, 3, preprocessing.size, preprocessing.size)
    outputs = backbone.outputs(images_BCHW)
    torch.testing.assert_close(outputs.pooled_BE, whole_model(model).encode_image(images_BCHW))
    assert outputs.logit_BK is None
    assert backbone.classify(outputs.map_BCHW) is None
    grid = preprocessing.size // preprocessing.stride
    assert outputs.map_BCHW.shape[2:] == (grid, grid)
    assert block_channels([config], BLOCKS)[0][-1] == 24
    assert len(backbone.stages()) >= 2


@every_tower
def test_a_model_is_saved_loaded_and_explained(model: str, tmp_path: Path) -> None:
    config = config_of(model, tmp_path)
    channels = sum(*block_channels([config], BLOCKS))
    recipe = ModelConfig(method="test", networks=networks_of([config]), pooling=BLOCKS, channels=channels, dimension=8)
    scene_model = SceneModel(recipe, [create_backbone(config)], Projection(torch.zeros(channels), random(channels, 8)))
    (tmp_path / "model").mkdir()
    save(scene_model.eval(), build_vocabulary([["a dog"], ["a ball"]], "english"), tmp_path / "model")
    Path(str(config.weights)).unlink()
    loaded = load(tmp_path / "model")
    size = preprocessing_of(config).size
    pixels_BHWC = random_pixels(2, size, size)
    with torch.inference_mode():
        torch.testing.assert_close(loaded((pixels_BHWC,)), scene_model((pixels_BHWC,)))
    assert explain(loaded, *((pixels_HWC,) for pixels_HWC in pixels_BHWC)).evidence


def test_the_input_is_the_one_of_the_published_weights() -> None:
    config = BackboneConfig(name="open_clip/tiny-ViT/noise")
    preprocessing = preprocessing_of(config)
    assert (preprocessing.size, preprocessing.stride, preprocessing.square) == (64, 16, True)
    assert (preprocessing.mean, preprocessing.std) == (PUBLISHED["mean"], PUBLISHED["std"])
    assert preprocessing.interpolation == "bilinear"
    assert architecture_of(config).licence == ""  # open_clip does not say


@pytest.mark.parametrize(
    ("name", "size", "reason"),
    [
        ("tiny-VIT/noise", None, r"open_clip has no network 'tiny-VIT'; did you mean open_clip/tiny-ViT"),
        ("tiny-ViT", None, "open_clip/tiny-ViT/TAG needs one of these tags: noise"),
        ("tiny-ViT/other", None, "open_clip/tiny-ViT/TAG needs one of these tags: noise"),
        ("tiny-ViT/noise", 96, "accepts images of 64 pixels only; leave out backbone.size"),
    ],
)
def test_networks_that_cannot_be_used_are_named(name: str, size: int | None, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        create_backbone(BackboneConfig(name=f"open_clip/{name}", size=size))


def test_weights_of_another_network_are_refused(tmp_path: Path) -> None:
    config = config_of("tiny-RN", tmp_path).model_copy(update={"name": "open_clip/tiny-ViT/noise"})
    with pytest.raises(InputError, match="the weights of another network"):
        create_backbone(config)


def test_weights_are_taken_from_the_cache_as_safetensors_if_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    cached: dict[str, str] = {}
    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda _repository, file: cached.get(file))
    name = "open_clip/tiny-ViT/noise"
    assert not weights.weights_available(name)
    cached["open_clip_pytorch_model.bin"] = "/cache/pickled"
    assert str(weights.weights_file(BackboneConfig(name=name))) == "/cache/pickled"
    cached["open_clip_model.safetensors"] = "/cache/safe"
    assert str(weights.weights_file(BackboneConfig(name=name))) == "/cache/safe"
    assert "open_clip/tiny-ViT/noise" in [info.name for info in list_backbones() if info.weights]


def test_a_download_falls_back_to_the_other_file(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub.errors import EntryNotFoundError

    asked: list[str] = []

    def download(repository: str, file: str) -> str:
        asked.append(f"{repository}/{file}")
        if file.endswith(".safetensors"):
            raise EntryNotFoundError(file)
        return file

    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda *_: None)
    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    found = weights.weights_file(BackboneConfig(name="open_clip/tiny-ViT/noise"))
    assert found == Path("open_clip_pytorch_model.bin")
    assert asked == ["somebody/tiny/open_clip_model.safetensors", "somebody/tiny/open_clip_pytorch_model.bin"]


def test_it_is_listed_without_its_text_tower() -> None:
    info = describe_backbone("open_clip/tiny-ViT/noise")
    visual = whole_model("tiny-ViT").visual
    assert info.parameters == sum(parameter.numel() for parameter in visual.parameters())
    assert [each.name for each in list_backbones("open_clip/tiny-*")] == [f"open_clip/{name}/noise" for name in TOWERS]


def test_building_a_network_logs_nothing(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.root, "handlers", [])
    create_backbone(BackboneConfig(name="open_clip/tiny-ViT/noise"), pretrained=False)
    assert not logging.root.handlers
    assert not caplog.records
    assert logging.root.manager.disable == logging.NOTSET


def test_a_checkpoint_of_a_training_is_read(tmp_path: Path) -> None:
    whole = whole_model("tiny-ViT")
    torch.save({"epoch": 3, "state_dict": whole.state_dict()}, tmp_path / "epoch_3.pt")
    config = BackboneConfig(name="open_clip/tiny-ViT/noise", weights=str(tmp_path / "epoch_3.pt"))
    own = create_backbone(config).state_dict()
    assert all(torch.equal(own[f"network.{name}"], tensor) for name, tensor in whole.visual.state_dict().items())
