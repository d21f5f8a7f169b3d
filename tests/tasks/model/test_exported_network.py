"""Networks of the user's own, exported by torch.export."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

from tasks.captions.vocabulary import build_vocabulary
from tasks.errors import InputError
from tasks.model.architectures import architecture_of, block_channels, create_backbone, networks_of, preprocessing_of
from tasks.model.config import BackboneConfig, ModelConfig, PoolingConfig
from tasks.model.head import Projection
from tasks.model.persistence import load, load_for_queries
from tasks.model.saving import save
from tasks.model.scene_model import SceneModel
from tasks.model.weights import weights_digest
from tasks.search.explanation import explain
from tests.tasks.model.making import random, random_pixels

BLOCKS = PoolingConfig(kind="blocks")
ANY_SHAPE = {0: Dim.AUTO, 2: Dim.AUTO, 3: Dim.AUTO}
ANY_BATCH = {0: Dim.AUTO}


class Network(nn.Module):
    """Two strided convolutions; returns what its kind asks for."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.kind = kind
        self.lower, self.upper = nn.Conv2d(3, 6, 8, stride=8), nn.Conv2d(6, 10, 2, stride=2)
        self.head = nn.Linear(10, 4)

    def forward(self, images_BCHW: Tensor) -> Any:
        inner_BCHW = self.lower(images_BCHW)
        map_BCHW = self.upper(inner_BCHW.relu())
        pooled_BC = map_BCHW.mean((2, 3))
        everything = {"map": map_BCHW, "inner": [inner_BCHW], "embedding": pooled_BC, "logits": self.head(pooled_BC)}
        return {"everything": everything, "map": map_BCHW, "pooled": pooled_BC}[self.kind]


def exported(folder: Path, kind: str = "everything", description: str | None = None, **options: Any) -> BackboneConfig:
    """A backbone in a file of its own."""
    images_BCHW = torch.zeros(options.pop("batch", 2), 3, *options.pop("shape", (64, 96)))
    program = torch.export.export(
        Network(kind).eval(), (images_BCHW,), dynamic_shapes=(options.pop("dynamic", ANY_SHAPE),)
    )
    path = folder / f"{kind}.pt2"
    torch.export.save(program, path, extra_files={"preprocessing.json": description} if description else None)
    return BackboneConfig(name=str(path), **options)


@torch.inference_mode()
def test_the_outputs_are_those_of_the_network(tmp_path: Path) -> None:
    config, images_BCHW = exported(tmp_path), random(3, 3, 96, 64)
    outputs, expected = create_backbone(config).outputs(images_BCHW), Network("everything")(images_BCHW)
    torch.testing.assert_close(outputs.map_BCHW, expected["map"])
    torch.testing.assert_close([*outputs.inner_BCHW], expected["inner"])
    torch.testing.assert_close(outputs.pooled_BE, expected["embedding"])
    torch.testing.assert_close(outputs.logit_BK, expected["logits"])
    assert block_channels([config], BLOCKS) == ((10, 6, 6, 10, 4, 4),)


@torch.inference_mode()
def test_what_a_network_lacks_is_absent(tmp_path: Path) -> None:
    config = exported(tmp_path, "map")
    outputs = create_backbone(config).outputs(random(2, 3, 64, 64))
    assert (outputs.inner_BCHW, outputs.pooled_BE, outputs.logit_BK) == ((), None, None)
    assert block_channels([config], BLOCKS) == block_channels([config], PoolingConfig()) == ((10,),)


def test_the_input_is_described_in_the_file(tmp_path: Path) -> None:
    plain = preprocessing_of(exported(tmp_path))
    assert (plain.size, plain.stride, plain.square, plain.mean[0]) == (224, 16, False, 0.485)
    assert preprocessing_of(exported(tmp_path, size=320)).size == 320
    described = {
        "size": 128,
        "mean": [0, 0, 0],
        "std": [1, 1, 1],
        "interpolation": "bilinear",
        "licence": "cc-by-nc-4.0",
    }
    (tmp_path / "described").mkdir()
    config = exported(tmp_path / "described", description=json.dumps(described))
    preprocessing = preprocessing_of(config)
    assert (preprocessing.size, preprocessing.std, preprocessing.interpolation) == (128, (1, 1, 1), "bilinear")
    assert architecture_of(config).licence == "cc-by-nc-4.0"


def test_a_network_for_squares_gets_squares(tmp_path: Path) -> None:
    config = exported(tmp_path, shape=(96, 96), dynamic=ANY_BATCH)
    assert (preprocessing_of(config).size, preprocessing_of(config).square) == (96, True)
    with pytest.raises(InputError, match=r"accepts images of 96 pixels only; leave out backbone\.size"):
        preprocessing_of(config.model_copy(update={"size": 128}))


def test_a_model_contains_its_program(tmp_path: Path) -> None:
    config = exported(tmp_path, mirror=True)
    channels = sum(*block_channels([config], BLOCKS))
    recipe = ModelConfig(method="test", networks=networks_of([config]), pooling=BLOCKS, channels=channels, dimension=8)
    model = SceneModel(recipe, [create_backbone(config)], Projection(torch.zeros(channels), random(channels, 8))).eval()
    pixels_BHWC = random_pixels(2, 96, 64)
    with torch.inference_mode():
        expected_BD = model((pixels_BHWC,))
    save(model, build_vocabulary([["a dog"], ["a ball"]], "english"), tmp_path)
    Path(config.name).unlink()
    for loaded in (load(tmp_path), load_for_queries(tmp_path)):
        with torch.inference_mode():
            torch.testing.assert_close(loaded((pixels_BHWC,)), expected_BD)
        assert loaded.block_channels() == model.block_channels() == ((10, 6, 6, 10, 4, 4),)
        assert explain(loaded, *((pixels_HWC,) for pixels_HWC in pixels_BHWC)).evidence


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"kind": "pooled"}, "must return a feature map of shape"),
        ({"batch": 1, "dynamic": {}}, "batches of 1 only; export it with a dynamic first dimension"),
        ({"shape": (64, 96), "dynamic": ANY_BATCH}, "one shape that is no square"),
        ({"description": "{"}, r"its preprocessing\.json is not JSON"),
        ({"description": '{"sise": 3}'}, r"in its preprocessing\.json, unknown setting sise"),
    ],
)
def test_a_program_that_cannot_be_a_backbone_is_refused(options: dict[str, Any], reason: str, tmp_path: Path) -> None:
    config = exported(tmp_path, **options)
    with pytest.raises(InputError, match=rf"\.pt2 cannot be used: .*{reason}"):
        preprocessing_of(config)


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    config = BackboneConfig(name=str(tmp_path / "network.pt2"))
    for use in (create_backbone, preprocessing_of, weights_digest):
        with pytest.raises(InputError, match=r"No such exported network: .*network\.pt2"):
            use(config)
    Path(config.name).write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"network\.pt2 cannot be used: it was not saved by torch\.export"):
        preprocessing_of(config)


def test_a_model_does_not_name_the_folder_of_its_program(tmp_path: Path) -> None:
    (network,) = networks_of([exported(tmp_path)])
    assert network.backbone.without_path().name == "everything.pt2"
