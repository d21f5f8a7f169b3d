import copy

import pytest
import torch

from tasks.images.preprocess import normalise
from tasks.model.config import PoolingConfig
from tasks.model.head import flatten_regions
from tasks.model.pooling import describe
from tests.tasks.model.making import DIMENSION, random_pixels, tiny_model

KINDS = ["gap", "gem", "rmac_max", "rmac_mean"]


@pytest.mark.parametrize("kind", KINDS)
def test_embeddings_have_unit_length(kind: str) -> None:
    embedding_BD = tiny_model(PoolingConfig(kind=kind))(random_pixels(3))
    assert embedding_BD.shape == (3, DIMENSION)
    assert embedding_BD.dtype == torch.float32
    torch.testing.assert_close(embedding_BD.norm(dim=1), torch.ones(3))


def test_the_parts_follow_one_another() -> None:
    model, pixels_BHWC = tiny_model(), random_pixels(2)
    outputs = model.backbone.outputs(normalise(pixels_BHWC, model.config.preprocessing))
    expected_BD = model.head(*flatten_regions(describe(outputs, model.config.pooling)))
    torch.testing.assert_close(model(pixels_BHWC), expected_BD)


@pytest.mark.parametrize("kind", KINDS)
def test_an_image_s_vector_does_not_depend_on_its_batch(kind: str) -> None:
    model, pixels_BHWC = tiny_model(PoolingConfig(kind=kind)), random_pixels(5)
    alone_BD = torch.cat([model(pixels_BHWC[row : row + 1]) for row in range(5)])
    for mode in (False, True):
        torch.testing.assert_close(model.train(mode)(pixels_BHWC), alone_BD, atol=1e-6, rtol=0)
    torch.testing.assert_close(model(pixels_BHWC.flip(0)).flip(0), alone_BD, atol=1e-6, rtol=0)


def test_training_mode_leaves_batch_norm_as_it_is() -> None:
    model = tiny_model().train()
    assert model.head.training
    assert not any(module.training for module in model.backbone.modules())
    before = copy.deepcopy(dict(model.backbone.named_buffers()))
    for seed in range(3):
        model(random_pixels(4, seed=seed)).sum().backward()
    for name, buffer in model.backbone.named_buffers():
        assert torch.equal(buffer, before[name])


def test_gradients_reach_every_part() -> None:
    model = tiny_model().train()
    model(random_pixels(2))[:, 0].sum().backward()
    assert all(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in model.parameters())


def test_train_and_eval_give_the_model() -> None:
    model = tiny_model()
    assert model.train() is model
    assert model.eval() is model
    assert not model.head.training
