import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from tasks.captions.vocabulary import build_vocabulary, vocabulary_from
from tasks.errors import InputError
from tasks.images.config import Preprocessing
from tasks.model.architectures import block_channels, create_backbone
from tasks.model.backbone import Backbone
from tasks.model.config import CONFIG, BackboneConfig, NetworkConfig, PoolingConfig
from tasks.model.head import Kernel, Scaling
from tasks.model.persistence import VOCABULARY, WEIGHTS, load, load_for_queries
from tasks.model.saving import save
from tasks.model.scene_model import SceneModel
from tests.tasks.model.making import DIMENSION, random, random_pixels, tiny_config, tiny_projection

BROKEN: dict[str, Callable[[Path], object]] = {
    "no configuration": lambda folder: (folder / CONFIG).unlink(),
    "no weights": lambda folder: (folder / WEIGHTS).unlink(),
    "no JSON": lambda folder: (folder / CONFIG).write_text("{"),
    "an unknown setting": lambda folder: change(folder, colour="red"),
    "another dimension": lambda folder: change(folder, dimension=5),
    "cut weights": lambda folder: (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes()[:-9]),
    "empty weights": lambda folder: (folder / WEIGHTS).write_bytes(b""),
}


def change(folder: Path, **settings: object) -> None:
    config = json.loads((folder / CONFIG).read_text()) | settings
    (folder / CONFIG).write_text(json.dumps(config))


@pytest.fixture(scope="module")
def model(lite0: Backbone) -> SceneModel:
    return SceneModel(tiny_config(channels=1280), [lite0], tiny_projection(channels=1280)).eval()


@pytest.fixture
def folder(model: SceneModel, tmp_path: Path) -> Path:
    save(model, build_vocabulary([["a dog"], ["a ball"]], "english"), tmp_path)
    return tmp_path


@torch.inference_mode()
def test_a_loaded_model_gives_the_same_embeddings(model: SceneModel, folder: Path) -> None:
    loaded = load(folder)
    assert loaded.config == model.config
    assert not any(module.training for module in loaded.modules())
    assert torch.equal(loaded((random_pixels(2),)), model((random_pixels(2),)))


@torch.inference_mode()
def test_a_kernel_at_rest_too(lite0: Backbone, tmp_path: Path) -> None:
    pooling = PoolingConfig(kind="blocks")
    channels = sum(*block_channels([BackboneConfig()], pooling))
    config = tiny_config(pooling, channels).model_copy(update={"landmarks": 6})
    head = Kernel(random(channels).abs(), random(6, channels) / channels**0.5, random(6, DIMENSION - 1))
    head.calibrate(random(3, channels))
    model = SceneModel(config, [lite0], head).eval()
    save(model, build_vocabulary([["a dog"], ["a ball"]], "english"), tmp_path)
    assert torch.equal(load(tmp_path)((random_pixels(2),)), model((random_pixels(2),)))
    tensors = load_file(tmp_path / WEIGHTS)
    del tensors["head.unseen_length_M"], tensors["head.unseen_scale_T"]  # as earlier versions wrote it
    save_file(tensors, tmp_path / WEIGHTS)
    assert torch.equal(load(tmp_path)((random_pixels(2),)), model((random_pixels(2),)))


@torch.inference_mode()
def test_a_scaling_at_rest_too(lite0: Backbone, tmp_path: Path) -> None:
    config = tiny_config(channels=1280).model_copy(update={"dimension": 1280, "scaled": True})
    model = SceneModel(config, [lite0], Scaling(random(1280), random(1280, seed=1))).eval()
    save(model, build_vocabulary([["a dog"], ["a ball"]], "english"), tmp_path)
    assert torch.equal(load(tmp_path)((random_pixels(2),)), model((random_pixels(2),)))


@torch.inference_mode()
def test_a_model_for_queries_gives_the_same_embeddings_without_batch_norms(model: SceneModel, folder: Path) -> None:
    loaded = load_for_queries(folder)
    assert not any(isinstance(module, nn.BatchNorm2d) for module in loaded.modules())
    assert not any(module.training for module in loaded.modules())
    torch.testing.assert_close(loaded((random_pixels(2),)), model((random_pixels(2),)), atol=1e-5, rtol=0)


def test_the_folder_holds_three_files_and_the_vocabulary(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == {CONFIG, WEIGHTS, VOCABULARY}
    assert vocabulary_from(pq.read_table(folder / VOCABULARY)).stems == ("a", "ball", "dog")


def test_saving_twice_writes_the_same_bytes(folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    save(load(folder), build_vocabulary([["a dog"], ["a ball"]], "english"), folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("fault", BROKEN)
def test_a_damaged_folder_is_refused_by_name(fault: str, folder: Path) -> None:
    BROKEN[fault](folder)
    with pytest.raises(InputError, match=f"The model in {folder} cannot be loaded .* train it again"):
        load(folder)


def test_an_absent_folder_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"The model in .*nowhere cannot be loaded"):
        load(tmp_path / "nowhere")


@torch.inference_mode()
def test_a_model_of_several_networks_too(lite0: Backbone, tmp_path: Path) -> None:
    networks = tuple(
        NetworkConfig(backbone=BackboneConfig(name=name), preprocessing=Preprocessing(size=size))
        for name, size in (("efficientnet_lite0", 96), ("resnet18", 64))
    )
    config = tiny_config(PoolingConfig(kind="gap"), channels=1792).model_copy(update={"networks": networks})
    other = create_backbone(networks[1].backbone, pretrained=False)
    model = SceneModel(config, [lite0, other], tiny_projection(channels=1792)).eval()
    save(model, build_vocabulary([["a dog"], ["a ball"]], "english"), tmp_path)
    inputs = random_pixels(2), random_pixels(2, 64, 64)
    assert torch.equal(load(tmp_path)(inputs), model(inputs))
    torch.testing.assert_close(load_for_queries(tmp_path)(inputs), model(inputs), atol=1e-5, rtol=0)


@torch.inference_mode()
def test_a_folder_of_an_earlier_version_is_read(model: SceneModel, folder: Path) -> None:
    """It had one network, whose settings stood beside the others."""
    config = json.loads((folder / CONFIG).read_text())
    (network,) = config.pop("networks")
    (folder / CONFIG).write_text(json.dumps(config | network))
    tensors = {name.replace("backbones.0.", "backbone."): value for name, value in load_file(folder / WEIGHTS).items()}
    save_file(tensors, folder / WEIGHTS)
    assert torch.equal(load(folder)((random_pixels(2),)), model((random_pixels(2),)))
