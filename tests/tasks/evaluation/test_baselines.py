import numpy as np
import pytest
import torch

from tasks.evaluation.baselines import baseline_embeddings
from tasks.evaluation.methods import LABELS
from tasks.features.descriptors import Descriptors
from tasks.model import whitening
from tasks.model.config import PoolingConfig
from tasks.training.config import BLOCKS, GAP, RMAC_MAX, RMAC_MEAN
from tests.tasks.model.making import random

CHANNELS, REGIONS, TRAIN, SPLIT = 6, 5, 60, 7


def descriptors(images: int, regions: int, seed: int) -> Descriptors:
    """Unit descriptors around a common centre, as those of a network are; images lie in the file back to front."""
    value_SC = random(images * regions, CHANNELS, seed=seed) * torch.linspace(1, 3, CHANNELS) + 2
    start_N = np.arange(images)[::-1] * regions
    return Descriptors(torch.nn.functional.normalize(value_SC, dim=-1), start_N, np.full(images, regions))


BLOCK_CHANNELS = (2, 4)


def features(images: int, seed: int) -> dict[PoolingConfig, Descriptors]:
    """Descriptors for each pooling."""
    regions = {GAP: 1, BLOCKS: 1, RMAC_MAX: REGIONS, RMAC_MEAN: REGIONS}
    return {pooling: descriptors(images, count, seed + place) for place, (pooling, count) in enumerate(regions.items())}


TRAIN_SET, SPLIT_SET = features(TRAIN, seed=0), features(SPLIT, seed=10)


def embeddings(seed: int = 0) -> dict[str, np.ndarray]:
    loaders = baseline_embeddings(TRAIN_SET.__getitem__, SPLIT_SET.__getitem__, BLOCK_CHANNELS, seed=seed)
    return {name: load() for name, load in loaders.items()}


def regions_of(set_: Descriptors, image: int) -> np.ndarray:
    start, count = set_.start_N[image], set_.count_N[image]
    return set_.value_SC[start : start + count].double().numpy()


def unit(value: np.ndarray) -> np.ndarray:
    return value / np.linalg.norm(value)


def test_they_are_named_and_of_unit_length() -> None:
    found = embeddings()
    assert list(found) == [name for name in LABELS if name.startswith("baseline_")]
    for embedding_ND in found.values():
        assert (embedding_ND.shape, embedding_ND.dtype) == ((SPLIT, CHANNELS), np.float32)
        np.testing.assert_allclose(np.linalg.norm(embedding_ND, axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("image", range(SPLIT))
def test_each_is_what_its_formula_says(image: int) -> None:
    found = {name: embedding_ND[image] for name, embedding_ND in embeddings().items()}
    gap, regions = regions_of(SPLIT_SET[GAP], image)[0], regions_of(SPLIT_SET[RMAC_MAX], image)
    centre = TRAIN_SET[GAP].value_SC.double().numpy().mean(0)
    np.testing.assert_allclose(found["baseline_gap"], unit(gap), atol=1e-6)
    np.testing.assert_allclose(found["baseline_gap_centred"], unit(gap - centre), atol=1e-5)
    np.testing.assert_allclose(found["baseline_rmac"], unit(regions.sum(0)), atol=1e-6)


def test_centred_blocks_are_scaled_to_equal_spread() -> None:
    train = TRAIN_SET[BLOCKS].value_SC.double().numpy()
    value = np.stack([regions_of(SPLIT_SET[BLOCKS], image)[0] for image in range(SPLIT)])
    parts = []
    for channels in (slice(0, 2), slice(2, 6)):
        centre = train[:, channels].mean(0)
        spread = np.sqrt(((train[:, channels] - centre) ** 2).sum(1).mean())
        parts.append((value[:, channels] - centre) / spread)
    expected_ND = np.stack([unit(row) for row in np.hstack(parts)])
    np.testing.assert_allclose(embeddings()["baseline_blocks_centred"], expected_ND, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "pooling"), [("baseline_rmac_pca", RMAC_MAX), ("baseline_rmac_mean_white", RMAC_MEAN)]
)
def test_the_whitened_ones_are_what_their_formula_says(name: str, pooling: PoolingConfig) -> None:
    train = TRAIN_SET[pooling].value_SC.double().numpy()
    scale, axes = np.linalg.eigh(np.cov(train.T, bias=True))

    def by_hand(image: int) -> np.ndarray:
        whitened = (regions_of(SPLIT_SET[pooling], image) - train.mean(0)) @ (axes / np.sqrt(scale))
        return unit(np.sum([unit(region) for region in whitened], axis=0))

    expected_ND = np.stack([by_hand(image) for image in range(SPLIT)])
    found_ND = embeddings()[name]
    # The axes' order and signs are free: similarities are compared.
    np.testing.assert_allclose(found_ND @ found_ND.T, expected_ND @ expected_ND.T, atol=1e-4)


def test_past_the_sample_the_whitening_is_drawn_by_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = embeddings()
    assert (embeddings(seed=1)["baseline_rmac"] == whole["baseline_rmac"]).all()
    np.testing.assert_allclose(embeddings(seed=1)["baseline_rmac_pca"], whole["baseline_rmac_pca"], atol=1e-4)
    monkeypatch.setattr(whitening, "WHITENING_REGIONS", 50)
    sampled = embeddings()
    assert (sampled["baseline_rmac_pca"] == embeddings()["baseline_rmac_pca"]).all()
    assert not np.allclose(sampled["baseline_rmac_pca"], embeddings(seed=1)["baseline_rmac_pca"], atol=1e-3)
    assert (sampled["baseline_gap_centred"] == whole["baseline_gap_centred"]).all()
