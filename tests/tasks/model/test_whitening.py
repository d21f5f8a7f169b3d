import pytest
import torch

from tasks.model.whitening import pca_whitening
from tests.tasks.model.making import random


def regions(count: int = 400, channels: int = 6) -> torch.Tensor:
    """Regions with correlated channels of unlike spread around a mean far from 0."""
    return random(count, channels) @ random(channels, channels, seed=1) + 5


def covariance(value_SD: torch.Tensor) -> torch.Tensor:
    return torch.cov(value_SD.T, correction=0)


def test_the_shift_is_the_mean() -> None:
    shift_C, _ = pca_whitening(regions(), 3, power=1)
    torch.testing.assert_close(shift_C, regions().mean(0))


@pytest.mark.parametrize("dimension", [6, 3])
def test_full_power_gives_identity_covariance(dimension: int) -> None:
    shift_C, linear_CD = pca_whitening(regions(), dimension, power=1)
    assert linear_CD.shape == (6, dimension)
    whitened_SD = (regions() - shift_C) @ linear_CD
    torch.testing.assert_close(covariance(whitened_SD), torch.eye(dimension), atol=1e-3, rtol=0)


def test_no_power_rotates_only() -> None:
    shift_C, linear_CD = pca_whitening(regions(), 6, power=0)
    torch.testing.assert_close(linear_CD.T @ linear_CD, torch.eye(6), atol=1e-5, rtol=0)
    centred_SC = regions() - shift_C
    torch.testing.assert_close((centred_SC @ linear_CD).norm(dim=1), centred_SC.norm(dim=1))


@pytest.mark.parametrize("power", [0, 0.3, 0.5, 1])
def test_the_spread_along_each_axis_is_the_eigenvalue_to_what_the_power_leaves(power: float) -> None:
    shift_C, linear_CD = pca_whitening(regions(), 6, power)
    spread_D = ((regions() - shift_C) @ linear_CD).var(0, correction=0)
    eigenvalue_D = torch.linalg.eigvalsh(covariance(regions().double())).flip(0)
    torch.testing.assert_close(spread_D.double(), eigenvalue_D ** (1 - power), rtol=1e-3, atol=1e-3)


def test_fewer_dimensions_are_the_leading_ones() -> None:
    _, all_CD = pca_whitening(regions(), 6, power=0.5)
    _, some_CD = pca_whitening(regions(), 2, power=0.5)
    torch.testing.assert_close(some_CD, all_CD[:, :2])


@pytest.mark.parametrize(("count", "kept"), [(1, 1), (2, 1), (4, 3), (100, 6)])
def test_few_regions_give_fewer_finite_dimensions(count: int, kept: int) -> None:
    shift_C, linear_CD = pca_whitening(regions(count), 10, power=1)
    assert linear_CD.shape == (6, kept)
    assert shift_C.isfinite().all()
    assert linear_CD.isfinite().all()


@pytest.mark.parametrize("power", [0, 0.3, 1])
def test_directions_without_variance_stay_finite(power: float) -> None:
    flat_SC = torch.cat([regions(50, 2), torch.ones(50, 4)], dim=1)
    for values_SC in (flat_SC, torch.ones(9, 6)):
        assert all(part.isfinite().all() for part in pca_whitening(values_SC, 6, power))


def test_the_order_of_regions_does_not_matter_to_the_signs() -> None:
    shuffled = regions()[torch.randperm(400, generator=torch.Generator().manual_seed(0))]
    for one, other in zip(pca_whitening(regions(), 6, 1), pca_whitening(shuffled, 6, 1), strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


def test_each_column_s_largest_entry_is_positive() -> None:
    _, linear_CD = pca_whitening(regions(), 6, power=0.3)
    assert (linear_CD.gather(0, linear_CD.abs().argmax(0, keepdim=True)) > 0).all()
