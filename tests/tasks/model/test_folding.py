import copy

import pytest
import torch
from torch import nn

from tasks.model.backbones import ARCHITECTURES, create_backbone
from tasks.model.config import BackboneConfig, BackboneName, PoolingConfig
from tasks.model.folding import fold_batch_norm
from tasks.model.pooling import pool
from tests.tasks.model.making import TinyBackbone, random


def unsettle(network: nn.Module) -> None:
    """Batch norms that do something, as after training."""
    for seed, norm in enumerate(module for module in network.modules() if isinstance(module, nn.BatchNorm2d)):
        with torch.no_grad():
            norm.running_mean.copy_(random(norm.num_features, seed=seed) / 10)
            norm.running_var.copy_(random(norm.num_features, seed=seed + 1).exp())
            norm.weight.copy_(1 + random(norm.num_features, seed=seed + 2) / 10)
            norm.bias.copy_(random(norm.num_features, seed=seed + 3) / 10)


@pytest.mark.parametrize("name", sorted(ARCHITECTURES.keys() - {"resnet101"}))  # made of the parts of resnet50
def test_the_folded_network_gives_the_same_map_without_any_batch_norm(name: BackboneName) -> None:
    network = create_backbone(BackboneConfig(name=name), pretrained=False).double()
    unsettle(network)
    folded = fold_batch_norm(network)
    assert any(isinstance(module, nn.BatchNorm2d) for module in network.modules())
    assert not any(isinstance(module, nn.BatchNorm2d) for module in folded.modules())
    with torch.inference_mode():
        expected_BCHW, found_BCHW = (net(random(2, 3, 64, 96, seed=9).double()) for net in (network, folded))
    scale = expected_BCHW.abs().max()
    assert scale > 0
    torch.testing.assert_close(found_BCHW / scale, expected_BCHW / scale, atol=1e-9, rtol=0)


def test_with_real_weights_descriptors_agree_to_five_digits() -> None:
    network = create_backbone(BackboneConfig())
    with torch.inference_mode():
        maps = [net(random(4, 3, 64, 64)) for net in (network, fold_batch_norm(network))]
    expected_BRC, found_BRC = (pool(feature_map_BCHW, PoolingConfig(kind="gap")) for feature_map_BCHW in maps)
    torch.testing.assert_close(found_BRC, expected_BRC, atol=1e-5, rtol=0)


def test_the_network_itself_stays_as_it_was() -> None:
    network = TinyBackbone().train()
    before = copy.deepcopy(network.state_dict())
    folded = fold_batch_norm(network)
    assert network.training
    assert not folded.training
    assert isinstance(network.norm, nn.BatchNorm2d)
    assert all((network.state_dict()[name] == tensor).all() for name, tensor in before.items())


def test_a_batch_norm_without_a_convolution_before_it_stays() -> None:
    network = nn.Sequential(nn.BatchNorm2d(3), nn.Conv2d(3, 4, 1), nn.ReLU(), nn.BatchNorm2d(4)).eval()
    unsettle(network)
    images_BCHW = random(2, 3, 5, 5)
    torch.testing.assert_close(fold_batch_norm(network)(images_BCHW), network(images_BCHW))
