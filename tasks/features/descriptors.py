"""Descriptors of many images, with different numbers of regions, in one matrix."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch import Tensor

from tasks.model.config import PoolingConfig, features_file
from tasks.model.head import Head

SCHEMA = pa.schema([("sha256", pa.string()), ("descriptor", pa.large_list(pa.float16()))])


@dataclass(frozen=True)
class Descriptors:
    """Image n has the count_N[n] regions in the rows of value_SC from start_N[n] on."""

    value_SC: Tensor
    start_N: np.ndarray
    count_N: np.ndarray

    def __len__(self) -> int:
        return len(self.start_N)

    def take(self, rows: Sequence[int] | np.ndarray) -> tuple[Tensor, Tensor, int]:
        """Return (descriptor_SC, owner_S, B), float32, the arguments of a head, for the images in these rows."""
        start_B, count_B = self.start_N[rows], self.count_N[rows]
        owner_S = np.repeat(np.arange(len(start_B)), count_B)
        within_S = np.arange(len(owner_S)) - np.repeat(np.cumsum(count_B) - count_B, count_B)
        device = self.value_SC.device
        picked_SC = self.value_SC[torch.from_numpy(start_B[owner_S] + within_S).to(device)]
        return picked_SC.float(), torch.from_numpy(owner_S).to(device), len(start_B)

    def single(self) -> Tensor:
        """Return descriptor_NC, float32, of images with one descriptor each (every pooling but R-MAC)."""
        return self.value_SC[torch.from_numpy(self.start_N)].float()

    def summed(self) -> Tensor:
        """Compute descriptor_NC, float32: the sum over each image's regions."""
        value_SC, owner_S, images = self.take(np.arange(len(self)))
        return value_SC.new_zeros(images, value_SC.shape[1]).index_add(0, owner_S, value_SC)

    def to(self, device: torch.device) -> "Descriptors":
        """Move them to a device."""
        return Descriptors(self.value_SC.to(device), self.start_N, self.count_N)


def descriptor_column(descriptor_BRC: Tensor) -> pa.ListArray:
    """Return a column with one float16 list per image: its R descriptors of C channels, concatenated."""
    images, regions, channels = descriptor_BRC.shape
    values = descriptor_BRC.cpu().to(torch.float16).reshape(-1).numpy()
    offsets = pa.array(np.arange(images + 1, dtype=np.int64) * regions * channels)
    return pa.LargeListArray.from_arrays(offsets, pa.array(values))


def load_descriptors(
    folders: Sequence[Path], sha256_N: Sequence[str], pooling: PoolingConfig, channels: Sequence[Sequence[int]]
) -> Descriptors:
    """Read the descriptors of N images, given the digests of their bytes, from a folder of features for each network.

    `channels` are those of the blocks of each network that the pooling joins, as `describe` joins them.
    """
    blocks = sum(map(len, channels))
    parts = [
        (_load(folder, sha256_N, pooling, sum(each)), math.sqrt(len(each) / blocks))
        for folder, each in zip(folders[: len(channels)], channels, strict=True)
    ]
    if len(parts) == 1:
        return parts[0][0]
    rows = np.arange(len(sha256_N))
    value_NC = torch.cat([weight * part.single() for part, weight in parts], 1)
    return Descriptors(value_NC, rows, np.ones_like(rows))


def _load(folder: Path, sha256_N: Sequence[str], pooling: PoolingConfig, channels: int) -> Descriptors:
    table = pq.read_table(folder / features_file(pooling))
    row_of = {sha256: row for row, sha256 in enumerate(table["sha256"].to_pylist())}
    return descriptors_from(table["descriptor"], [row_of[sha256] for sha256 in sha256_N], channels)


def descriptors_from(column: pa.ChunkedArray, rows: Sequence[int], channels: int) -> Descriptors:
    """Invert `descriptor_column` for the images in these rows of the column."""
    array = column.combine_chunks()
    count = array.value_lengths().to_numpy() // channels
    start = np.cumsum(count) - count
    value_SC = torch.from_numpy(array.flatten().to_numpy().reshape(-1, channels).copy())
    return Descriptors(value_SC, start[list(rows)], count[list(rows)])


def spread_scale(descriptor_NC: Tensor, block_channels: Sequence[int]) -> Tensor:
    """Return scale_C, which gives every block the same variance, and all blocks together a total variance of 1."""
    scales = []
    for block_NC in descriptor_NC.split(list(block_channels), dim=1):
        spread = (block_NC - block_NC.mean(0)).square().sum(1).mean()
        scales.append((spread.clamp(min=1e-12) * len(block_channels)).rsqrt().expand(block_NC.shape[1]))
    return torch.cat(scales)


def project(head: Head, descriptors: Descriptors, chunk: int = 1024) -> Tensor:
    """Compute embedding_ND, on the CPU, of images given by the descriptors of a frozen backbone."""
    rows_N = np.arange(len(descriptors))
    with torch.inference_mode():
        chunks = [head(*descriptors.take(rows)) for rows in np.array_split(rows_N, -(-len(rows_N) // chunk))]
    return torch.cat(chunks).cpu()
