from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tasks.features.descriptors import (
    Descriptors,
    descriptor_column,
    descriptors_from,
    load_descriptors,
    project,
    spread_scale,
)
from tasks.model.architectures import block_channels, create_backbone
from tasks.model.config import BackboneConfig, PoolingConfig, features_file
from tasks.model.pooling import describe
from tests.tasks.model.making import random, tiny_projection

counts = st.lists(st.integers(1, 6), min_size=1, max_size=6)


def images_of(counts: list[int]) -> list[Tensor]:
    """descriptor_RC of images with so many regions, exact in half precision."""
    return [random(regions, 8, seed=seed).half() for seed, regions in enumerate(counts)]


def descriptors_of(images: list[Tensor]) -> Descriptors:
    column = pa.chunked_array([descriptor_column(image[None]) for image in images])
    return descriptors_from(column, range(len(images)), channels=8)


@given(st.data(), counts)
def test_take_gives_the_regions_of_the_images_asked_for(data: st.DataObject, counts: list[int]) -> None:
    images = images_of(counts)
    rows = data.draw(st.lists(st.integers(0, len(images) - 1)))
    descriptor_SC, owner_S, taken = descriptors_of(images).take(np.array(rows, int))
    assert taken == len(rows)
    assert descriptor_SC.dtype == torch.float32
    for place, row in enumerate(rows):
        assert torch.equal(descriptor_SC[owner_S == place], images[row].float())
    assert len(descriptor_SC) == sum(counts[row] for row in rows)


def test_take_accepts_a_list() -> None:
    _, owner_S, images = descriptors_of(images_of([2, 1, 3])).take([2, 0])
    assert (owner_S.tolist(), images) == ([0, 0, 0, 1, 1], 2)


@given(counts)
def test_summed_is_the_sum_over_regions(counts: list[int]) -> None:
    images = images_of(counts)
    summed_NC = descriptors_of(images).summed()
    torch.testing.assert_close(summed_NC, torch.stack([image.float().sum(0) for image in images]))


def test_single_is_the_one_descriptor() -> None:
    images = images_of([1, 1, 1])
    assert torch.equal(descriptors_of(images).single(), torch.cat(images).float())


def test_rows_choose_and_order_images() -> None:
    images = images_of([2, 1, 3])
    column = pa.chunked_array([descriptor_column(image[None]) for image in images])
    chosen = descriptors_from(column, [2, 0], channels=8)
    assert len(chosen) == 2
    assert torch.equal(chosen.take([0, 1])[0], torch.cat([images[2], images[0]]).float())


def test_a_column_holds_a_row_an_image_in_half_precision() -> None:
    descriptor_BRC = random(3, 2, 8)
    column = descriptor_column(descriptor_BRC)
    assert len(column) == 3
    assert column.type.value_type == pa.float16()
    back = descriptors_from(pa.chunked_array([column]), range(3), channels=8)
    torch.testing.assert_close(back.take(range(3))[0].reshape(3, 2, 8), descriptor_BRC, atol=2e-3, rtol=1e-3)


def test_regions_are_found_by_digest_and_are_those_of_the_first_network(tmp_path: Path) -> None:
    images = [random(regions, 1280, seed=regions).half() for regions in (2, 1, 3)]
    column = pa.chunked_array([descriptor_column(image[None]) for image in images])
    pq.write_table(pa.table({"sha256": ["a", "b", "c"], "descriptor": column}), tmp_path / "rmac_mean_2.parquet")
    pooling, networks = PoolingConfig(kind="rmac_mean"), [BackboneConfig(), BackboneConfig(name="resnet18")]
    folders = [tmp_path, tmp_path / "of another network"]
    found = load_descriptors(folders, ["c", "a", "c"], pooling, block_channels(networks, pooling))
    assert torch.equal(found.take(range(3))[0], torch.cat([images[2], images[0], images[2]]).float())


@pytest.mark.parametrize("kind", ["gap", "gem", "blocks"])
def test_those_of_several_networks_are_joined_as_the_model_joins_them(kind: str, tmp_path: Path) -> None:
    pooling, images = PoolingConfig(kind=kind), random(2, 3, 64, 64)  # type: ignore[arg-type]
    networks = [BackboneConfig(), BackboneConfig(name="resnet18")]
    with torch.inference_mode():
        outputs = [create_backbone(network, pretrained=False).outputs(images) for network in networks]
    folders = []
    for network, each in zip(networks, outputs, strict=True):
        folders.append(tmp_path / network.name)
        folders[-1].mkdir()
        table = pa.table({"sha256": ["a", "b"], "descriptor": descriptor_column(describe([each], pooling))})
        pq.write_table(table, folders[-1] / features_file(pooling))
    channels = block_channels(networks, pooling)
    found = load_descriptors(folders, ["a", "b"], pooling, channels)
    torch.testing.assert_close(found.single(), describe(outputs, pooling)[:, 0], atol=2e-4, rtol=1e-3)
    assert found.value_SC.shape == (2, sum(map(sum, channels)))


@pytest.mark.parametrize("chunk", [1, 2, 1000])
def test_project_is_the_head_on_all_images(chunk: int) -> None:
    head, descriptors = tiny_projection(), descriptors_of(images_of([2, 1, 3, 5, 1]))
    embedding_ND = project(head, descriptors, chunk=chunk)
    torch.testing.assert_close(embedding_ND, head(*descriptors.take(range(5))).detach())
    assert not embedding_ND.requires_grad


def test_the_device_changes_nothing_else() -> None:
    descriptors = descriptors_of(images_of([2, 1]))
    moved = descriptors.to(torch.device("cpu"))
    assert torch.equal(moved.value_SC, descriptors.value_SC)
    assert moved.start_N.tolist() == [0, 2]


def test_every_block_has_the_same_spread() -> None:
    descriptor_NC = random(500, 8) * torch.tensor([1.0] * 5 + [100.0] * 3) + 7
    scaled_NC = descriptor_NC * spread_scale(descriptor_NC, (5, 3))
    for block_NC in scaled_NC.split((5, 3), dim=1):
        assert float((block_NC - block_NC.mean(0)).square().sum(1).mean()) == pytest.approx(1 / 2, rel=1e-4)
