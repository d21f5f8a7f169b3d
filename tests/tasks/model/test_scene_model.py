import copy
from contextlib import nullcontext

import pytest
import torch

from tasks.images.preprocess import normalise
from tasks.model.config import PoolingConfig
from tasks.model.head import flatten_regions
from tasks.model.inference import optimise_for_inference
from tasks.model.pooling import describe
from tasks.model.scene_model import SceneModel
from tests.tasks.model.making import DIMENSION, random_pixels, tiny_model

KINDS = ["gap", "gem", "rmac_max", "rmac_mean"]


@pytest.mark.parametrize("kind", KINDS)
def test_embeddings_have_unit_length(kind: str) -> None:
    embedding_BD = tiny_model(PoolingConfig(kind=kind))((random_pixels(3),))
    assert embedding_BD.shape == (3, DIMENSION)
    assert embedding_BD.dtype == torch.float32
    torch.testing.assert_close(embedding_BD.norm(dim=1), torch.ones(3))


def test_the_parts_follow_one_another() -> None:
    model, pixels_BHWC = tiny_model(), random_pixels(2)
    outputs = model.backbones[0].outputs(normalise(pixels_BHWC, model.config.preprocessings[0]))
    expected_BD = model.head(*flatten_regions(describe([outputs], model.config.pooling)))
    torch.testing.assert_close(model((pixels_BHWC,)), expected_BD)


@pytest.mark.parametrize("kind", KINDS)
def test_an_image_s_vector_does_not_depend_on_its_batch(kind: str) -> None:
    model, pixels_BHWC = tiny_model(PoolingConfig(kind=kind)), random_pixels(5)
    alone_BD = torch.cat([model((pixels_BHWC[row : row + 1],)) for row in range(5)])
    for mode in (False, True):
        torch.testing.assert_close(model.train(mode)((pixels_BHWC,)), alone_BD, atol=1e-6, rtol=0)
    torch.testing.assert_close(model((pixels_BHWC.flip(0),)).flip(0), alone_BD, atol=1e-6, rtol=0)


def test_training_mode_leaves_batch_norm_as_it_is() -> None:
    model = tiny_model().train()
    assert model.head.training
    assert not any(module.training for module in model.backbones[0].modules())
    before = copy.deepcopy(dict(model.backbones[0].named_buffers()))
    for seed in range(3):
        model((random_pixels(4, seed=seed),)).sum().backward()
    for name, buffer in model.backbones[0].named_buffers():
        assert torch.equal(buffer, before[name])


def test_gradients_reach_every_part() -> None:
    model = tiny_model().train()
    model((random_pixels(2),))[:, 0].sum().backward()
    assert all(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in model.parameters())


def test_train_and_eval_give_the_model() -> None:
    model = tiny_model()
    assert model.train() is model
    assert model.eval() is model
    assert not model.head.training


@torch.inference_mode()
def test_precision_is_the_model_s_and_the_same_for_indexed_images_and_queries() -> None:
    """Vectors in bfloat16 differ from those in float32, so both sides of a comparison use one of them."""
    exact, rough = tiny_model(), tiny_model()
    rough.backbones[0].precision = "bfloat16"
    pixels_BHWC = random_pixels(3)
    query_BD = rough((pixels_BHWC,))
    assert query_BD.dtype == torch.float32
    assert not torch.allclose(query_BD, exact((pixels_BHWC,)), atol=1e-5)
    torch.testing.assert_close(query_BD, exact((pixels_BHWC,)), atol=2e-2, rtol=0)
    optimised = SceneModel(rough.config, [optimise_for_inference(rough.backbones[0], torch.device("cpu"))], rough.head)
    torch.testing.assert_close(optimised((pixels_BHWC,)), query_BD, atol=1e-2, rtol=0)
    assert not torch.allclose(optimised((pixels_BHWC,)), exact((pixels_BHWC,)), atol=1e-5)


def test_no_device_computes_in_half_precision_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    entered: list[bool] = []

    class Autocast(nullcontext[None]):
        def __init__(self, *_: object, enabled: bool = True) -> None:
            super().__init__()
            entered.append(enabled)

    monkeypatch.setattr(torch, "autocast", Autocast)
    model = tiny_model().to("meta")
    model((random_pixels(1).to("meta"),))
    assert not any(entered)
