from pathlib import Path
from typing import get_args

import pytest
import torch
from PIL import Image
from sklearn.datasets import load_sample_images
from torch import nn

from tasks.errors import InputError
from tasks.images.preprocess import normalise, to_pixels
from tasks.model.architectures import (
    ARCHITECTURES,
    create_backbone,
    preprocessing_of,
)
from tasks.model.backbone import Backbone
from tasks.model.config import BackboneConfig, BackboneName, PoolingConfig
from tasks.model.pooling import describe
from tasks.model.weights import weights_file
from tests.tasks.images.making import encode
from tests.tasks.model.making import random

LITE0 = BackboneConfig(name="efficientnet_lite0")


@pytest.fixture(scope="module")
def pictures() -> dict[str, Image.Image]:
    samples = load_sample_images()
    names = (Path(name).name for name in samples.filenames)
    return dict(zip(names, map(Image.fromarray, samples.images), strict=True))


@pytest.mark.parametrize("name", get_args(BackboneName))
def test_the_map_has_the_channels_and_stride_that_are_said(name: BackboneName) -> None:
    with torch.device("meta"):
        feature_map_BCHW = create_backbone(BackboneConfig(name=name), pretrained=False)(torch.empty(2, 3, 64, 96))
    assert feature_map_BCHW.shape == (2, ARCHITECTURES[name].channels, 2, 3)
    assert preprocessing_of(BackboneConfig(name=name)).stride == ARCHITECTURES[name].stride == 32


def test_lite0_holds_the_weights_of_its_package(lite0: Backbone) -> None:
    packaged = torch.load(weights_file(LITE0), weights_only=True).values()
    own = lite0.state_dict().values()
    assert all(torch.equal(tensor, given) for tensor, given in zip(own, packaged, strict=True))
    assert not any(module.training for module in lite0.modules())


@pytest.mark.parametrize("name", get_args(BackboneName))
def test_descriptors_are_made_of_the_blocks_that_are_said(name: BackboneName) -> None:
    pooling = PoolingConfig(kind="blocks")
    with torch.device("meta"):
        outputs = create_backbone(BackboneConfig(name=name), pretrained=False).outputs(torch.empty(2, 3, 64, 96))
        descriptor_BRC = describe(outputs, pooling)
    assert descriptor_BRC.shape == (2, 1, sum(ARCHITECTURES[name].block_channels(pooling)))
    assert ARCHITECTURES[name].block_channels(PoolingConfig()) == (ARCHITECTURES[name].channels,)


@torch.inference_mode()
def test_a_picture_and_its_mirror_image_are_the_same_to_a_network_that_looks_at_both() -> None:
    torch.manual_seed(0)
    backbone = create_backbone(LITE0.model_copy(update={"mirror": True}))
    images_BCHW = random(2, 3, 64, 96)
    once, turned = backbone.single_pass(images_BCHW), backbone.single_pass(images_BCHW.flip(-1))
    both, other = backbone.outputs(images_BCHW), backbone.outputs(images_BCHW.flip(-1))
    torch.testing.assert_close(both.map_BCHW, (once.map_BCHW + turned.map_BCHW.flip(-1)) / 2)
    torch.testing.assert_close(other.map_BCHW.flip(-1), both.map_BCHW)
    for both_BCHW, other_BCHW, once_BCHW in zip(both.inner_BCHW, other.inner_BCHW, once.inner_BCHW, strict=True):
        torch.testing.assert_close(other_BCHW.flip(-1), both_BCHW)
        assert not torch.allclose(both_BCHW, once_BCHW)
    torch.testing.assert_close(both.logit_BK, (once.logit_BK + turned.logit_BK) / 2)
    torch.testing.assert_close(both.logit_BK, backbone.classify(both.map_BCHW))


@torch.inference_mode()
@pytest.mark.parametrize(("picture", "label"), [("china.jpg", "stupa"), ("flower.jpg", "daisy")])
def test_lite0_sees_what_imagenet_taught_it(
    lite0: Backbone, pictures: dict[str, Image.Image], picture: str, label: str
) -> None:
    pixels_HWC = to_pixels(encode(pictures[picture]), preprocessing_of(LITE0))
    outputs = lite0.outputs(normalise(pixels_HWC[None], preprocessing_of(LITE0)))
    assert 0 <= outputs.map_BCHW.min() <= outputs.map_BCHW.max() <= 6
    assert {"stupa": 832, "daisy": 985}[label] in outputs.logit_BK[0].topk(5).indices


def test_each_backbone_sees_the_colours_it_was_trained_on() -> None:
    assert preprocessing_of(BackboneConfig(size=320)).mean == (0.5, 0.5, 0.5)
    resnet = preprocessing_of(BackboneConfig(name="resnet50", size=576))
    assert (resnet.size, resnet.mean, resnet.std) == (576, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


@torch.inference_mode()
def test_a_resnet_from_a_file_is_torchvision_s(resnet18: nn.Module, resnet18_file: Path) -> None:
    backbone = create_backbone(BackboneConfig(name="resnet18", weights=str(resnet18_file)))
    outputs = backbone.outputs(random(2, 3, 64, 96))
    torch.testing.assert_close(outputs.logit_BK, resnet18(random(2, 3, 64, 96)))
    torch.testing.assert_close(resnet18.fc(backbone(random(2, 3, 64, 96)).mean((2, 3))), outputs.logit_BK)


def test_weights_of_another_network_are_refused(resnet18_file: Path) -> None:
    for name in ("efficientnet_lite0", "resnet50"):
        with pytest.raises(InputError, match="the weights of another network"):
            create_backbone(BackboneConfig(name=name, weights=str(resnet18_file)))


def test_tensors_in_another_order_are_refused(resnet18: nn.Module, tmp_path: Path) -> None:
    swapped = {"weight": "bias", "bias": "weight", "running_mean": "running_var", "running_var": "running_mean"}

    def renamed(name: str, tensor: torch.Tensor) -> str:
        layer, _, part = name.rpartition(".")
        return f"{layer}.{swapped[part]}" if tensor.ndim == 1 and part in swapped else name

    state = {renamed(name, tensor): tensor for name, tensor in resnet18.state_dict().items()}
    torch.save(state, tmp_path / "weights.pth")
    with pytest.raises(InputError, match="the weights of another network"):
        create_backbone(BackboneConfig(name="resnet18", weights=str(tmp_path / "weights.pth")))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ([random(3)], "not a file of network weights"),
        ({"epoch": 3, "state_dict": {}}, "another network"),
        ({f"layer{place}.weight": place for place in range(1000)}, "another network"),
        (random(3), "not a file of network weights"),
    ],
)
def test_a_file_of_something_else_is_refused(content: object, reason: str, tmp_path: Path) -> None:
    torch.save(content, tmp_path / "weights.pth")
    with pytest.raises(InputError, match=reason):
        create_backbone(BackboneConfig(weights=str(tmp_path / "weights.pth")))


def test_a_file_that_torch_cannot_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "weights.pth").write_text("<html>404</html>")
    with pytest.raises(InputError, match="not a file of network weights"):
        create_backbone(BackboneConfig(weights=str(tmp_path / "weights.pth")))


def test_without_file_cache_and_network_one_sentence_says_what_to_do(offline: Path) -> None:
    with pytest.raises(
        InputError,
        match=r"weights of resnet101 are not in .* put resnet101-\w+\.pth .* or set backbone\.weights",
    ):
        create_backbone(BackboneConfig(name="resnet101"))
    assert not list(offline.glob("checkpoints/*.pth"))
