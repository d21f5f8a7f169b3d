import itertools
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
from PIL import Image

from tasks.demo.background import paint_land, paint_sky
from tasks.demo.glyphs import glyph
from tasks.demo.places import PLACES
from tasks.demo.scenes import LANDSCAPE, Scene
from tasks.demo.things import THINGS
from tasks.images.preprocess import Inputs, to_inputs
from tasks.model.architectures import block_channels, create_backbone, preprocessing_of
from tasks.model.config import BackboneConfig, ModelConfig, NetworkConfig, PoolingConfig
from tasks.model.head import Head, Kernel, Projection
from tasks.model.inference import fold_batch_norm, optimise_for_inference
from tasks.model.persistence import load
from tasks.model.scene_model import SceneModel
from tasks.search.explanation import DIMENSIONS, Explanation, explain
from tests.tasks.images.making import encode
from tests.tasks.model.making import CHANNELS, TinyBackbone, random, random_pixels, tiny_config, tiny_model
from tests.trained import Trained

WIDE = 12  # dimensions: more than an explanation names
ONE_DESCRIPTOR = ["gap", "gem", "blocks"]
KINDS = [
    *itertools.product([*ONE_DESCRIPTOR, "rmac_max", "rmac_mean"], ["projection"]),
    *itertools.product(ONE_DESCRIPTOR, ["kernel"]),
]
every_kind = pytest.mark.parametrize(("kind", "head"), KINDS)


@pytest.fixture(autouse=True)
def without_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def head_of(name: str, channels: int) -> Head:
    if name == "projection":
        return Projection(random(channels, seed=2) / 10, random(channels, WIDE, seed=3))
    return Kernel(torch.ones(channels), random(6, channels, seed=4).abs(), random(6, WIDE, seed=5))


def model_of(kind: str, head: str) -> SceneModel:
    channels = 5 * CHANNELS if kind == "blocks" else CHANNELS
    config = tiny_config(PoolingConfig(kind=kind), channels=channels)  # type: ignore[arg-type]
    return SceneModel(config, [TinyBackbone()], head_of(head, channels)).eval()


def pictures() -> tuple[Inputs, Inputs]:
    """One landscape, one portrait: pixels_HWC for one network."""
    return (random_pixels(1, 64, 96, seed=3)[0],), (random_pixels(1, 96, 64, seed=4)[0],)


def check_maps(explanation: Explanation, *shapes: tuple[int, int]) -> None:
    for map_HW, shape in zip((explanation.map_a_HW, explanation.map_b_HW), shapes, strict=True):
        assert map_HW.shape == shape
        assert np.isfinite(map_HW).all()
        assert map_HW.min() >= 0
        assert map_HW.max() in (0, 1)


# The map is what METHOD.md 7 says.


def test_a_map_of_a_linear_network_by_hand() -> None:
    """The chain rule written out: φ = v / |v|, v = (x − shift) L + bias, x = p / |p|, p the average of A."""
    model, images = model_of("gap", "projection"), pictures()
    bias_D = model.head.bias_D.data = random(WIDE, seed=6)
    explanation = explain(model, *images)
    shift_C, linear_CD = model.head.shift_C, model.head.linear_CD.detach()
    embedding_2D = [model.embed_one(image).detach() for image in images]
    contribution_D = embedding_2D[0] * embedding_2D[1]
    for (pixels_HWC,), other_D, found_HW in (
        (images[0], embedding_2D[1], explanation.map_a_HW),
        (images[1], embedding_2D[0], explanation.map_b_HW),
    ):
        map_CHW = model.outputs((pixels_HWC[None],))[0].map_BCHW[0].detach()
        average_C = map_CHW.mean((1, 2))
        x_C = average_C / average_C.norm()
        v_D = (x_C - shift_C) @ linear_CD + bias_D
        phi_D = v_D / v_D.norm()
        largest_D = torch.zeros(WIDE).index_fill(0, contribution_D.topk(5).indices, 1)
        by_phi_D = other_D * largest_D
        by_v_D = (by_phi_D - phi_D * (phi_D @ by_phi_D)) / v_D.norm()
        by_x_C = linear_CD @ by_v_D
        by_average_C = (by_x_C - x_C * (x_C @ by_x_C)) / average_C.norm()
        weight_C = by_average_C / map_CHW[0].numel()
        expected_HW = (weight_C[:, None, None] * map_CHW).sum(0).clamp(min=0)
        np.testing.assert_allclose(found_HW, expected_HW / expected_HW.max(), atol=1e-4)


@every_kind
def test_a_map_by_finite_differences(kind: str, head: str) -> None:
    """α of a channel is how the score changes when a little is added to all of the channel, over its cells."""
    model, (image_a, image_b) = model_of(kind, head), pictures()
    explanation = explain(model, image_a, image_b)
    (outputs,) = model.outputs((image_a[0][None],))
    other_D = model.embed_one(image_b)
    largest_J = [dimension.index for dimension in explanation.dimensions]
    step, weights = 5e-3, []
    for channel in range(CHANNELS):
        added_1C11 = torch.zeros(1, CHANNELS, 1, 1)
        added_1C11[0, channel] = step
        scores = []
        for sign in (1, -1):
            map_BCHW = outputs.map_BCHW + sign * added_1C11
            moved = replace(outputs, map_BCHW=map_BCHW, logit_BK=model.backbones[0].classify(map_BCHW))
            scores.append((model.embed([moved])[0] * other_D)[largest_J].sum())
        weights.append((scores[0] - scores[1]) / (2 * step) / outputs.map_BCHW[0, 0].numel())
    expected_HW = (torch.stack(weights)[:, None, None] * outputs.map_BCHW[0]).sum(0).clamp(min=0).detach()
    np.testing.assert_allclose(explanation.map_a_HW, expected_HW / expected_HW.max(), atol=0.02)


# What holds for every pooling and head.


@every_kind
def test_maps_are_in_the_shape_of_their_own_picture(kind: str, head: str) -> None:
    explanation = explain(model_of(kind, head), *pictures())
    check_maps(explanation, (2, 3), (3, 2))
    assert explanation.evidence
    assert explanation.evidence_a == bool(explanation.map_a_HW.any())
    assert explanation.evidence_b == bool(explanation.map_b_HW.any())


@every_kind
def test_the_contributions_are_the_largest_of_the_score(kind: str, head: str) -> None:
    model = model_of(kind, head)
    explanation = explain(model, *pictures())
    embedding_a_D, embedding_b_D = (model.embed_one(image).detach().numpy() for image in pictures())
    assert explanation.score == pytest.approx(embedding_a_D @ embedding_b_D, abs=1e-6)
    contributions = sorted((embedding_a_D * embedding_b_D).tolist(), reverse=True)[:DIMENSIONS]
    assert [dimension.contribution for dimension in explanation.dimensions] == pytest.approx(contributions, abs=1e-6)
    for dimension in explanation.dimensions:
        product = embedding_a_D[dimension.index] * embedding_b_D[dimension.index]
        assert dimension.contribution == pytest.approx(product, abs=1e-6)


@every_kind
def test_explaining_leaves_the_model_as_it_was(kind: str, head: str) -> None:
    model, (image_a, image_b) = model_of(kind, head), pictures()
    before_BD = model.embed_one(image_a).detach()
    first, again = (explain(model, image_a, image_b) for _ in range(2))
    np.testing.assert_array_equal(first.map_a_HW, again.map_a_HW)
    np.testing.assert_array_equal(first.map_b_HW, again.map_b_HW)
    assert (first.score, first.dimensions) == (again.score, again.dimensions)
    assert torch.equal(model.embed_one(image_a), before_BD)
    assert all(parameter.grad is None and parameter.requires_grad for parameter in model.parameters())
    assert not any(module.training for module in model.modules())


@every_kind
def test_a_pair_turned_round_has_its_maps_turned_round(kind: str, head: str) -> None:
    model, (image_a, image_b) = model_of(kind, head), pictures()
    one, other = explain(model, image_a, image_b), explain(model, image_b, image_a)
    np.testing.assert_array_equal(one.map_a_HW, other.map_b_HW)
    np.testing.assert_array_equal(one.map_b_HW, other.map_a_HW)
    assert one.dimensions == other.dimensions


@every_kind
@pytest.mark.parametrize("value", [0, 128, 255])
def test_flat_pictures_have_finite_maps(kind: str, head: str, value: int) -> None:
    flat, (image, _) = (torch.full((96, 64, 3), value, dtype=torch.uint8),), pictures()
    model = model_of(kind, head)
    check_maps(explain(model, flat, image), (3, 2), (2, 3))
    check_maps(explain(model, flat, flat), (3, 2), (3, 2))


def test_where_all_places_are_alike_none_is_evidence() -> None:
    """An average looks only at what the channels have relative to one another, so here no cell says anything."""
    flat, (image, _) = (torch.full((96, 64, 3), 200, dtype=torch.uint8),), pictures()
    explanation = explain(tiny_model(PoolingConfig(kind="gap")), flat, image)
    assert not explanation.evidence_a
    assert explanation.evidence_b
    assert explanation.evidence


def test_rounding_is_no_evidence() -> None:
    """With no more than five dimensions, nothing can bring an image nearer to itself: all gradients are rounding."""
    image, _ = pictures()
    explanation = explain(tiny_model(), image, image)
    assert explanation.score == pytest.approx(1, abs=1e-6)
    assert explanation.score <= 1
    assert not explanation.evidence


def test_channels_without_activity_have_no_part() -> None:
    """The root of an average has no slope at 0."""
    model, (image_a, image_b) = model_of("blocks", "kernel"), pictures()
    model.backbones[0].convolution.bias.data[:2] = -100
    assert (model.outputs((image_a[0][None],))[0].map_BCHW[0, :2] == 0).all()
    explanation = explain(model, image_a, image_b)
    check_maps(explanation, (2, 3), (3, 2))
    assert explanation.evidence_a


def test_the_same_image_lights_up_differently_beside_others() -> None:
    model, (image_a, image_b) = tiny_model(), pictures()
    maps = [explain(model, image_a, other).map_a_HW for other in (image_b, (random_pixels(1, seed=9)[0],))]
    assert np.abs(maps[0] - maps[1]).max() > 0.05


# Every network.


def real_model(name: str, kind: str) -> SceneModel:
    torch.manual_seed(0)
    backbone = BackboneConfig(name=name, size=96)
    pooling = PoolingConfig(kind=kind)  # type: ignore[arg-type]
    channels = sum(*block_channels([backbone], pooling))
    config = ModelConfig(
        method="test",
        networks=(NetworkConfig(backbone=backbone, preprocessing=preprocessing_of(backbone)),),
        pooling=pooling,
        channels=channels,
        dimension=12,
    )
    network = create_backbone(backbone, pretrained=name == "efficientnet_lite0")
    return SceneModel(config, [network], Projection(torch.zeros(channels), random(channels, 12))).eval()


@pytest.mark.parametrize("name", ["efficientnet_lite0", "resnet18", "resnet50"])
@pytest.mark.parametrize("kind", ["rmac_max", "blocks"])
def test_every_network_is_explained_folded_or_not(name: str, kind: str) -> None:
    model = real_model(name, kind)
    explanation = explain(model, *pictures())
    check_maps(explanation, (2, 3), (3, 2))
    assert explanation.evidence
    folded = explain(SceneModel(model.config, [fold_batch_norm(model.backbones[0])], model.head), *pictures())
    np.testing.assert_allclose(folded.map_a_HW, explanation.map_a_HW, atol=1e-2)
    assert folded.score == pytest.approx(explanation.score, abs=1e-4)


def test_a_network_that_openvino_runs_is_explained_alike() -> None:
    pytest.importorskip("openvino")
    model = model_of("blocks", "projection")
    explanation = explain(model, *pictures())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own
        backbone = optimise_for_inference(model.backbones[0], torch.device("cpu"))
        compiled = SceneModel(model.config, [backbone], model.head)
    np.testing.assert_allclose(explain(compiled, *pictures()).map_a_HW, explanation.map_a_HW, atol=1e-2)


def test_the_maps_of_several_networks_are_added_on_the_grid_of_the_largest() -> None:
    """Beside a network that sees nothing, the map is that of the other network, at the size of the larger one."""
    one = model_of("gap", "projection")
    (network,) = one.config.networks
    blind = TinyBackbone()
    blind.convolution.weight.data.zero_()
    config = one.config.model_copy(update={"networks": (network, network), "channels": 2 * CHANNELS})
    projection = Projection(torch.zeros(2 * CHANNELS), torch.cat([one.head.linear_CD, torch.zeros(CHANNELS, WIDE)]))
    both = SceneModel(config, [*one.backbones, blind], projection).eval()
    alone, images = Projection(torch.zeros(CHANNELS), one.head.linear_CD), pictures()
    expected = explain(SceneModel(one.config, one.backbones, alone).eval(), *images)
    found = explain(both, *((image[0], random_pixels(1, 64, 64)[0]) for image in images))
    np.testing.assert_allclose(found.map_a_HW, expected.map_a_HW, atol=1e-5)
    large = [(random_pixels(1, 192, 192)[0], image[0]) for image in images]
    assert explain(SceneModel(config, both.backbones[::-1], projection).eval(), *large).map_a_HW.shape == (6, 6)


# Planted evidence: one thing in a corner of two pictures that are otherwise different.


class Colours(TinyBackbone):
    """A map of how red, green and blue each cell is."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution.weight.data.zero_()
        self.convolution.bias.data.zero_()
        for channel in range(3):
            self.convolution.weight.data[channel, channel] = 1 / 32**2
        self.convolution.bias.data[:3] = 1  # pixels are normalised to −1 … 1
        self.norm.reset_running_stats()


@every_kind
@pytest.mark.parametrize("corner_a", [(0, 0), (0, 2), (2, 0), (2, 2)])
def test_what_two_pictures_share_lights_up(kind: str, head: str, corner_a: tuple[int, int]) -> None:
    """Red in a corner of a green and of a blue picture; redness counts most."""
    corner_b = (2 - corner_a[0], 2 - corner_a[1])
    pixels_2HWC = torch.full((2, 96, 96, 3), 10, dtype=torch.uint8)
    for pixels_HWC, ground, (row, column) in zip(pixels_2HWC, (1, 2), (corner_a, corner_b), strict=True):
        pixels_HWC[..., ground] = 160
        pixels_HWC[32 * row : 32 * (row + 1), 32 * column : 32 * (column + 1)] = torch.tensor([250, 10, 10])
    model = model_of(kind, head)
    model.backbones[0] = Colours()  # type: ignore[index]
    channels = model.config.channels
    red_CD = torch.zeros(channels, 3)
    red_CD[:3] = torch.eye(3)
    red_CD[0] *= 4
    red_MD = torch.eye(3) * torch.tensor([4.0, 1, 1])
    plain_MC = torch.zeros(3, channels)
    plain_MC[:, :3] = torch.eye(3)
    model.head = (
        Projection(torch.zeros(channels), red_CD)
        if head == "projection"
        else Kernel(torch.ones(channels), plain_MC, red_MD)
    )
    explanation = explain(model, *((pixels_HWC,) for pixels_HWC in pixels_2HWC))
    for map_HW, corner in ((explanation.map_a_HW, corner_a), (explanation.map_b_HW, corner_b)):
        assert map_HW[corner] == 1
        assert (map_HW > 0.5).sum() == 1


@pytest.mark.parametrize("method", ["regression", "v_v"])
def test_trained_heads_find_the_thing_that_two_scenes_share(trained: Trained, method: str) -> None:
    """Of all maps three quarters have their hottest quarter where the thing is: three times what chance gives."""
    model = trained_model(trained.workspace, method, size=320)
    found = []
    for thing, (place_a, place_b) in itertools.product(("horse", "umbrella"), (("beach", "lake"), ("sea", "street"))):
        for corner_a in itertools.product((0, 1), (0, 1)):
            corner_b = (1 - corner_a[0], corner_a[1])
            scenes = planted(place_a, thing, corner_a), planted(place_b, thing, corner_b)
            explanation = explain(model, *(to_inputs(encode(scene), model.config.preprocessings) for scene in scenes))
            found += [
                hottest_quarter(explanation.map_a_HW) == corner_a,
                hottest_quarter(explanation.map_b_HW) == corner_b,
            ]
    assert np.mean(found) >= 0.75


def trained_model(workspace: Path, method: str, size: int) -> SceneModel:
    """A trained candidate; at a larger size, where its map has cells enough to tell places apart."""
    (model,) = (m for m in map(load, sorted((workspace / "models").iterdir())) if m.config.method == method)
    (network,) = model.config.networks
    larger = network.model_copy(update={"preprocessing": network.preprocessing.model_copy(update={"size": size})})
    model.config = model.config.model_copy(update={"networks": (larger,)})
    return model


def planted(place: str, thing: str, corner: tuple[int, int]) -> Image.Image:
    """An empty scene with one thing in a corner."""
    scene = Scene("empty", place, PLACES[place].times[0], PLACES[place].weathers[0], LANDSCAPE, ())
    image, land = paint_sky(scene, Random(1)), paint_land(scene, Random(1))
    image.paste(land, (0, 0), land)
    picture = glyph(THINGS[thing], (THINGS[thing].colours or ("",))[0], "day")
    picture = picture.resize((round(130 * picture.width / picture.height), 130))
    top, left = corner[0] * (image.height - 130), corner[1] * (image.width - picture.width)
    image.paste(picture, (left, top), picture)
    return image


def hottest_quarter(map_HW: np.ndarray) -> tuple[int, int]:
    """(0 above or 1 below, 0 left or 1 right)."""
    height, width = map_HW.shape
    large_HW = np.kron(map_HW, np.ones((2, 2)))
    rows, columns = (slice(height), slice(height, None)), (slice(width), slice(width, None))
    means = {(r, c): large_HW[rows[r], columns[c]].mean() for r in (0, 1) for c in (0, 1)}
    return max(means, key=means.__getitem__)
