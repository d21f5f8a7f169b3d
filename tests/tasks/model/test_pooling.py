from typing import get_args

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tasks.model.backbone import Outputs
from tasks.model.config import PoolingConfig
from tasks.model.pooling import describe, pool, region_grid, rmac
from tests.tasks.model.making import random

KINDS = [kind for kind in get_args(PoolingConfig.model_fields["kind"].annotation) if kind != "blocks"]
cells = st.integers(1, 60)
scales = st.integers(1, 4)


def slow_extra(longer: int, shorter: int) -> int:
    """How many regions more there are along the longer side; METHOD.md 3 in whole numbers."""
    if longer == shorter:
        return 0
    best = 2
    for steps in range(3, 8):
        # |overlap − 2/5| = |3 (steps − 1) m − 5 (longer − m)| / (5 (steps − 1) m)
        here = abs(3 * (steps - 1) * shorter - 5 * (longer - shorter)) * (best - 1)
        before = abs(3 * (best - 1) * shorter - 5 * (longer - shorter)) * (steps - 1)
        if here < before:
            best = steps
    return best - 1


def slow_rmac(feature_map_CHW: Tensor, regions: tuple[tuple[int, int, int], ...]) -> Tensor:
    total_C = torch.zeros(len(feature_map_CHW))
    for top, left, side in regions:
        largest_C = torch.tensor(
            [
                max(channel[y][x] for y in range(top, top + side) for x in range(left, left + side))
                for channel in feature_map_CHW.tolist()
            ]
        )
        total_C += largest_C / largest_C.norm()
    return total_C / total_C.norm()


@pytest.mark.parametrize(
    ("height", "width", "count"), [(18, 14, 8), (18, 12, 8), (18, 10, 8), (18, 18, 5), (1, 1, 5), (7, 7, 5)]
)
def test_number_of_regions_at_two_scales(height: int, width: int, count: int) -> None:
    assert len(region_grid(height, width, 2)) == len(region_grid(width, height, 2)) == count


def test_regions_by_hand() -> None:
    coarse = [(0, 0, 14), (4, 0, 14)]
    fine = [(top, left, 9) for top in (0, 4, 9) for left in (0, 5)]
    assert region_grid(18, 14, 2) == (*coarse, *fine)


@given(cells, cells, scales)
def test_regions_are_as_many_as_the_formula_says(height: int, width: int, scales: int) -> None:
    extra = slow_extra(max(height, width), min(height, width))
    expected = sum(scale * (scale + extra) for scale in range(1, scales + 1))
    assert len(region_grid(height, width, scales)) == expected


@given(cells, cells, scales)
def test_regions_lie_within_the_map_and_touch_its_ends(height: int, width: int, scales: int) -> None:
    regions = region_grid(height, width, scales)
    for top, left, side in regions:
        assert side >= 1
        assert 0 <= top <= height - side
        assert 0 <= left <= width - side
    assert regions[0] == (0, 0, min(height, width))
    assert max(top + side for top, _, side in regions) == height
    assert max(left + side for _, left, side in regions) == width


@given(cells, cells, scales)
def test_a_turned_map_has_turned_regions(height: int, width: int, scales: int) -> None:
    turned = sorted((left, top, side) for top, left, side in region_grid(height, width, scales))
    assert sorted(region_grid(width, height, scales)) == turned


@pytest.mark.parametrize(("height", "width"), [(18, 14), (7, 7), (3, 8), (1, 50), (1, 1)])
def test_rmac_is_the_sum_of_unit_maxima(height: int, width: int) -> None:
    feature_map_BCHW = random(2, 6, height, width).abs()
    for scales in (1, 2, 3):
        expected = [slow_rmac(image, region_grid(height, width, scales)) for image in feature_map_BCHW]
        torch.testing.assert_close(rmac(feature_map_BCHW, scales), torch.stack(expected))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("height", "width"), [(7, 7), (1, 1), (1, 50), (18, 5)])
def test_descriptors_have_unit_length(kind: str, height: int, width: int) -> None:
    config = PoolingConfig(kind=kind)
    descriptor_BRC = pool(random(3, 5, height, width).abs(), config)
    regions = len(region_grid(height, width, 2)) if kind.startswith("rmac") else 1
    assert descriptor_BRC.shape == (3, regions, 5)
    torch.testing.assert_close(descriptor_BRC.norm(dim=-1), torch.ones(3, regions))


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_map_stays_finite(kind: str) -> None:
    assert pool(torch.zeros(1, 5, 4, 6), PoolingConfig(kind=kind)).isfinite().all()


def test_mean_regions_are_means() -> None:
    feature_map_BCHW = random(2, 5, 6, 9)
    descriptor_BRC = pool(feature_map_BCHW, PoolingConfig(kind="rmac_mean"))
    for region, (top, left, side) in enumerate(region_grid(6, 9, 2)):
        mean_BC = feature_map_BCHW[:, :, top : top + side, left : left + side].flatten(2).mean(2)
        torch.testing.assert_close(descriptor_BRC[:, region], mean_BC / mean_BC.norm(dim=1, keepdim=True))


def test_gem_lies_between_average_and_maximum() -> None:
    feature_map_BCHW = 0.5 + torch.rand(2, 5, 6, 6, generator=torch.Generator().manual_seed(0)) / 2
    unit = torch.nn.functional.normalize
    average_BC, largest_BC = unit(feature_map_BCHW.mean((2, 3))), unit(feature_map_BCHW.amax((2, 3)))
    for power, expected_BC, close in [(1, average_BC, 1e-6), (10, largest_BC, 3e-2)]:
        pooled_BC = pool(feature_map_BCHW, PoolingConfig(kind="gem", gem_power=power))[:, 0]
        torch.testing.assert_close(pooled_BC, expected_BC, atol=close, rtol=0)


def test_gem_by_hand() -> None:
    feature_map_BCHW = torch.tensor([[[[1.0, 2.0]], [[3.0, -1.0]]]])
    pooled_C = torch.tensor([((1 + 8) / 2) ** (1 / 3), (27 / 2) ** (1 / 3)])
    descriptor_BRC = pool(feature_map_BCHW, PoolingConfig(kind="gem"))
    torch.testing.assert_close(descriptor_BRC, (pooled_C / pooled_C.norm()).reshape(1, 1, 2))


def test_blocks_by_the_formula() -> None:
    last_BCHW = random(2, 4, 3, 5).relu()
    first_BCHW, second_BCHW = random(2, 3, 6, 10, seed=1), random(2, 2, 3, 5, seed=2)
    logit_BK = random(2, 6, seed=3)
    outputs = Outputs(last_BCHW, (first_BCHW, second_BCHW), logit_BK)
    descriptor_BRC = describe([outputs], PoolingConfig(kind="blocks"))
    assert descriptor_BRC.shape == (2, 1, 4 + 3 + 2 + 3 + 6 + 6)
    for image, found_C in enumerate(descriptor_BRC[:, 0].double().numpy()):
        last, first, second = (x[image].double().numpy() for x in (last_BCHW, first_BCHW, second_BCHW))
        logit_K = logit_BK[image].double().numpy()
        probability_K = np.exp(logit_K) / np.exp(logit_K).sum()
        blocks = [np.sqrt(last.mean((1, 2))), first.mean((1, 2)), second.mean((1, 2)), first.std((1, 2)), logit_K]
        blocks.append(np.sqrt(probability_K))
        expected_C = np.concatenate([block / np.linalg.norm(block) for block in blocks]) / np.sqrt(6)
        np.testing.assert_allclose(found_C, expected_C, atol=1e-6)


def test_blocks_of_nothing_are_finite() -> None:
    empty = Outputs(torch.zeros(1, 4, 1, 1), (torch.zeros(1, 3, 1, 1),), torch.zeros(1, 6))
    assert describe([empty], PoolingConfig(kind="blocks")).isfinite().all()


def test_certain_classes_leave_gradients_finite() -> None:
    """Probabilities that are 0 in single precision: their roots have no slope there, and every score hangs on all."""
    logit_BK = torch.tensor([[300.0, 0.0, -300.0]], requires_grad=True)
    outputs = Outputs(torch.ones(1, 4, 1, 1), (torch.ones(1, 3, 1, 1),), logit_BK)
    describe([outputs], PoolingConfig(kind="blocks"))[..., -3:].sum().backward()
    assert logit_BK.grad is not None
    assert logit_BK.grad.isfinite().all()


def test_other_poolings_look_at_the_last_map_alone() -> None:
    outputs = Outputs(random(2, 4, 3, 5), (random(2, 3, 6, 10),), random(2, 6))
    for kind in KINDS:
        expected_BRC = pool(outputs.map_BCHW, PoolingConfig(kind=kind))
        torch.testing.assert_close(describe([outputs], PoolingConfig(kind=kind)), expected_BRC)
    with pytest.raises(ValueError, match="more than one map"):
        pool(outputs.map_BCHW, PoolingConfig(kind="blocks"))
