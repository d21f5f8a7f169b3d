"""Networks of timm with random weights: the smallest of each family."""

from pathlib import Path

import pytest
import timm
import torch
from safetensors.torch import save_file

from tasks.errors import InputError
from tasks.images.preprocess import target_shape
from tasks.model.architectures import architecture_of, block_channels, create_backbone, preprocessing_of
from tasks.model.config import BackboneConfig, ModelConfig, NetworkConfig, PoolingConfig
from tasks.model.head import Projection
from tasks.model.inference import optimise_for_inference
from tasks.model.pooling import describe
from tasks.model.scene_model import SceneModel
from tasks.search.explanation import explain
from tests.tasks.model.making import random, random_pixels

BLOCKS = PoolingConfig(kind="blocks")
FAMILIES = {
    "test_resnet": "a convolutional network",
    "test_efficientnet": "one with a last layer behind its last stage",
    "test_convnext": "one with signed maps",
    "test_mambaout": "one whose features have the channels last",
    "test_vit": "a transformer with a class token",
    "test_vit3": "a transformer without one",
    "test_maxvit": "a network that accepts squares only",
}
every_family = pytest.mark.parametrize("model", FAMILIES)


def config_of(model: str, folder: Path, suffix: str = ".safetensors") -> BackboneConfig:
    """A backbone whose random weights are in a file."""
    torch.manual_seed(0)
    tensors = timm.create_model(model).state_dict()
    path = folder / f"{model}{suffix}"
    save_file(tensors, path) if suffix == ".safetensors" else torch.save(tensors, path)
    return BackboneConfig(name=f"timm/{model}", weights=str(path))


def shape_of(config: BackboneConfig) -> tuple[int, int]:
    return target_shape(400, 300, preprocessing_of(config))


@every_family
@torch.inference_mode()
def test_maps_are_what_timm_computes(model: str, tmp_path: Path) -> None:
    config = config_of(model, tmp_path)
    backbone, (height, width) = create_backbone(config), shape_of(config)
    images_BCHW = random(2, 3, height, width)
    outputs, network, stride = backbone.outputs(images_BCHW), backbone.network, preprocessing_of(config).stride
    features = network.forward_features(images_BCHW)
    if features.ndim == 3:  # tokens: the prefix is not part of the map
        features = features[:, network.num_prefix_tokens :]
        features = features.transpose(1, 2).unflatten(2, (height // stride, width // stride))
    elif features.shape[1] != outputs.map_BCHW.shape[1]:
        features = features.permute(0, 3, 1, 2)
    torch.testing.assert_close(outputs.map_BCHW, features)
    torch.testing.assert_close(outputs.logit_BK, network(images_BCHW))
    assert outputs.map_BCHW.shape[2:] == (height // stride, width // stride)
    assert describe([outputs], BLOCKS).shape == (2, 1, sum(*block_channels([config], BLOCKS)))
    assert block_channels([config], PoolingConfig()) == ((outputs.map_BCHW.shape[1],),)
    assert (outputs.pooled_BE is not None) == model.startswith("test_vit")
    logit_BK = backbone.classify(outputs.map_BCHW)
    if model.startswith("test_vit"):
        assert logit_BK is None
    else:
        torch.testing.assert_close(logit_BK, outputs.logit_BK)


@torch.inference_mode()
def test_a_class_token_is_the_transformer_s_own_embedding(tmp_path: Path) -> None:
    backbone = create_backbone(config_of("test_vit", tmp_path))
    images_BCHW = random(2, 3, 96, 128)
    torch.testing.assert_close(
        backbone.outputs(images_BCHW).pooled_BE, backbone.network.forward_features(images_BCHW)[:, 0]
    )


@torch.inference_mode()
def test_a_network_without_classes_has_no_scores() -> None:
    config = BackboneConfig(name="timm/vit_tiny_patch16_224", size=64)
    with torch.device("meta"):
        backbone = create_backbone(config, pretrained=False)
        backbone.network.reset_classifier(0)
        outputs = backbone.outputs(torch.empty(1, 3, 64, 48))
    assert outputs.logit_BK is None
    assert outputs.pooled_BE is not None
    assert backbone.classify(outputs.map_BCHW) is None


@pytest.mark.parametrize(
    ("name", "size", "stride", "square", "chosen"),
    [
        ("timm/resnet18", None, 32, False, 224),
        ("timm/resnet18", 320, 32, False, 320),
        ("timm/vit_small_patch14_dinov2", None, 14, False, 224),  # 518 by default, which is slow
        ("timm/vit_small_patch14_dinov2", 518, 14, False, 518),
        ("timm/vit_base_patch16_siglip_384", None, 16, False, 384),
        ("timm/beit_base_patch16_224", None, 16, True, 224),
        ("timm/beit_base_patch16_224", 256, 16, True, 256),
    ],
)
def test_the_input_is_the_one_that_the_network_was_trained_with(
    name: str, size: int | None, stride: int, square: bool, chosen: int
) -> None:
    preprocessing = preprocessing_of(BackboneConfig(name=name, size=size))
    assert (preprocessing.size, preprocessing.stride, preprocessing.square) == (chosen, stride, square)
    published = timm.get_pretrained_cfg(name.removeprefix("timm/"))
    assert (preprocessing.mean, preprocessing.std) == (published.mean, published.std)
    assert preprocessing.interpolation == published.interpolation
    assert architecture_of(BackboneConfig(name=name)).licence == published.license


def test_an_image_becomes_a_square_for_a_network_that_accepts_nothing_else() -> None:
    preprocessing = preprocessing_of(BackboneConfig(name="timm/levit_128s"))
    assert target_shape(400, 100, preprocessing) == (224, 224)  # not a multiple of the stride, 64


@pytest.mark.parametrize("suffix", [".safetensors", ".pth"])
def test_weights_are_read_from_either_kind_of_file(suffix: str, tmp_path: Path) -> None:
    config = config_of("test_vit", tmp_path, suffix)
    backbone = create_backbone(config)
    torch.manual_seed(0)
    expected = timm.create_model("test_vit").state_dict()
    assert all(torch.equal(tensor, expected[name]) for name, tensor in backbone.network.state_dict().items())


def test_weights_of_another_network_are_refused(tmp_path: Path) -> None:
    config = config_of("test_vit", tmp_path).model_copy(update={"name": "timm/test_resnet"})
    with pytest.raises(InputError, match="the weights of another network"):
        create_backbone(config)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("timm/resnet19", r"timm has no network 'resnet19'; did you mean timm/resnet18"),
        ("timm/resnet18.imagenet", r"timm has no weights 'imagenet' of resnet18; it has .*a1_in1k"),
        ("timm/hiera_tiny_224", r"timm/hiera_tiny_224 cannot be used: it returns no feature maps"),
    ],
)
def test_networks_that_cannot_be_used_are_named(name: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        create_backbone(BackboneConfig(name=name))


@every_family
def test_every_family_is_searched_and_explained(model: str, tmp_path: Path) -> None:
    config = config_of(model, tmp_path)
    channels = sum(*block_channels([config], BLOCKS))
    recipe = ModelConfig(
        method="test",
        networks=(NetworkConfig(backbone=config, preprocessing=preprocessing_of(config)),),
        pooling=BLOCKS,
        channels=channels,
        dimension=8,
    )
    scene_model = SceneModel(recipe, [create_backbone(config)], Projection(torch.zeros(channels), random(channels, 8)))
    height, width = shape_of(config)
    pixels_BHWC = random_pixels(2, height, width)
    with torch.inference_mode():
        embedding_BD = scene_model((pixels_BHWC,))
        optimised = optimise_for_inference(scene_model.backbones[0], torch.device("cpu"))
        again_BD = SceneModel(recipe, [optimised], scene_model.head)((pixels_BHWC,))
    torch.testing.assert_close(embedding_BD.norm(dim=1), torch.ones(2))
    torch.testing.assert_close(again_BD, embedding_BD)
    explanation = explain(scene_model.eval(), *((pixels_HWC,) for pixels_HWC in pixels_BHWC))
    stride = preprocessing_of(config).stride
    assert explanation.map_a_HW.shape == explanation.map_b_HW.shape == (height // stride, width // stride)
    assert explanation.evidence
