"""Pooling, from feature maps to descriptors: R-MAC regions, GeM, average (METHOD.md 3), several maps (9)."""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

from tasks.model.backbone import Outputs
from tasks.model.config import PoolingConfig

OVERLAP = Fraction(2, 5)


@cache
def region_grid(height: int, width: int, scales: int) -> tuple[tuple[int, int, int], ...]:
    """Return (top, left, side) of the square regions of Tolias et al. (2016) on a map of this size (METHOD.md 3)."""
    shorter, longer = sorted((height, width))
    extra = 0
    if longer > shorter:

        def distance(steps: int) -> Fraction:
            return abs(1 - Fraction(longer - shorter, (steps - 1) * shorter) - OVERLAP)

        extra = min(range(2, 8), key=distance) - 1
    extra_height, extra_width = (extra if height > width else 0), (extra if width > height else 0)
    regions = []
    for scale in range(1, scales + 1):
        side = max(1, 2 * shorter // (scale + 1))
        tops = _starts(height - side, scale + extra_height)
        lefts = _starts(width - side, scale + extra_width)
        regions += [(top, left, side) for top in tops for left in lefts]
    return tuple(regions)


def _starts(room: int, count: int) -> list[int]:
    return [0] if count == 1 else [step * room // (count - 1) for step in range(count)]


def describe(outputs: Sequence[Outputs], config: PoolingConfig) -> Tensor:
    """Compute descriptor_BRC, unit length: one per region for R-MAC, else a single one (R = 1).

    The blocks or pooled maps of several networks are joined with equal weights; R-MAC takes one network.
    """
    if config.kind == "blocks":
        parts = [block_BC.unsqueeze(1) for each in outputs for block_BC in blocks(each)]
    else:
        parts = [pool(each.map_BCHW, config) for each in outputs]
    return torch.cat(parts, 2) / math.sqrt(len(parts))


def pool(feature_map_BCHW: Tensor, config: PoolingConfig) -> Tensor:
    """Compute descriptor_BRC, unit length, of one feature map."""
    match config.kind:
        case "gap":
            pooled_BRC = feature_map_BCHW.mean((2, 3)).unsqueeze(1)
        case "gem":
            powered_BCHW = feature_map_BCHW.clamp(min=1e-6) ** config.gem_power
            pooled_BRC = (powered_BCHW.mean((2, 3)) ** (1 / config.gem_power)).unsqueeze(1)
        case "rmac_max":
            pooled_BRC = torch.stack([crop.amax((2, 3)) for crop in _crops(feature_map_BCHW, config.scales)], 1)
        case "rmac_mean":
            pooled_BRC = torch.stack([crop.mean((2, 3)) for crop in _crops(feature_map_BCHW, config.scales)], 1)
        case "blocks":
            raise ValueError("blocks need more than one map; use `describe`")
    return F.normalize(pooled_BRC.float(), dim=-1)


def blocks(outputs: Outputs) -> list[Tensor]:
    """Compute the blocks of a descriptor, block_BC each of unit length, as far as the network has them (METHOD.md 9).

    They are the signed root of the last map's average, the average of each inner map, the standard deviation of the
    first inner map, the network's own embedding, the class scores, and the root of the class probabilities.
    """
    average_BC = outputs.map_BCHW.mean((2, 3)).float()
    found = [
        average_BC.sign() * average_BC.abs().sqrt(),
        *(map_BCHW.mean((2, 3)) for map_BCHW in outputs.inner_BCHW),
        *(map_BCHW.float().std((2, 3), unbiased=False) for map_BCHW in outputs.inner_BCHW[:1]),
    ]
    if outputs.pooled_BE is not None:
        found.append(outputs.pooled_BE)
    if outputs.logit_BK is not None:
        logit_BK = outputs.logit_BK.float()
        # √softmax, without the infinite gradient of a root at 0
        found += [logit_BK, (logit_BK.log_softmax(1) / 2).exp()]
    return [F.normalize(block_BC.float(), dim=1) for block_BC in found]


def channels_of(outputs: Outputs, config: PoolingConfig) -> tuple[int, ...]:
    """Return the number of channels of each block of a descriptor; there is one, unless the pooling is `blocks`."""
    if config.kind == "blocks":
        return tuple(block_BC.shape[1] for block_BC in blocks(outputs))
    return (outputs.map_BCHW.shape[1],)


def _crops(feature_map_BCHW: Tensor, scales: int) -> list[Tensor]:
    height, width = feature_map_BCHW.shape[-2:]
    return [
        feature_map_BCHW[:, :, top : top + side, left : left + side]
        for top, left, side in region_grid(height, width, scales)
    ]


def rmac(feature_map_BCHW: Tensor, scales: int = 2) -> Tensor:
    """Compute pooled_BC, unit length: R-MAC without whitening (max per region, L2, sum, L2; METHOD.md 3)."""
    descriptor_BRC = pool(feature_map_BCHW, PoolingConfig(kind="rmac_max", scales=scales))
    return F.normalize(descriptor_BRC.sum(1), dim=-1)
