"""Descriptors to the embedding: a learnable shift and linear layer a region, L2, sum over regions, L2 (METHOD.md 3)."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Projection(nn.Module):
    """φ = normalise( Σ_regions normalise( (descriptor − shift_C) · linear_CD ) )."""

    def __init__(self, shift_C: Tensor, linear_CD: Tensor) -> None:
        super().__init__()
        self.shift_C = nn.Parameter(shift_C.clone())
        self.linear_CD = nn.Parameter(linear_CD.clone())

    def forward(self, descriptor_SC: Tensor, owner_S: Tensor, images: int) -> Tensor:
        """embedding_BD, unit length, of B = `images` images; the region in row s belongs to image owner_S[s]."""
        projected_SD = F.normalize((descriptor_SC.to(self.shift_C.dtype) - self.shift_C) @ self.linear_CD, dim=-1)
        summed_BD = projected_SD.new_zeros(images, projected_SD.shape[1]).index_add(0, owner_S, projected_SD)
        return F.normalize(summed_BD, dim=-1)


def flatten_regions(descriptor_BRC: Tensor) -> tuple[Tensor, Tensor, int]:
    """(descriptor_SC, owner_S, B): a batch with the same number of regions in the form that the projection takes."""
    images, regions, channels = descriptor_BRC.shape
    owner_S = torch.arange(images, device=descriptor_BRC.device).repeat_interleave(regions)
    return descriptor_BRC.reshape(-1, channels), owner_S, images
