"""Why two images match: their largest shared dimensions and where in each image they come from (METHOD.md 7)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from tasks.images.preprocess import Inputs
from tasks.model.backbone import Backbone, Outputs
from tasks.model.scene_model import SceneModel

DIMENSIONS = 5
MIN_EVIDENCE = 1e-5  # of a cosine; smaller contributions are rounding


@dataclass(frozen=True)
class Dimension:
    """One coordinate of both embeddings; φ_a · φ_b is the sum of all contributions φ_a[index] · φ_b[index]."""

    index: int
    contribution: float


@dataclass(frozen=True)
class Explanation:
    """A pair's cosine, its largest contributions, and for each image a heat map of where they come from.

    A map has the cells of the network's last feature map, the largest of several, which cover the upright image evenly.
    Its values are divided by the maximum, so they lie in [0, 1]; all are 0 if there is no positive evidence.
    """

    score: float
    dimensions: tuple[Dimension, ...]
    map_a_HW: np.ndarray
    map_b_HW: np.ndarray

    @property
    def evidence_a(self) -> bool:
        """Whether image a has evidence for the match."""
        return bool(self.map_a_HW.any())

    @property
    def evidence_b(self) -> bool:
        """Whether image b has evidence for the match."""
        return bool(self.map_b_HW.any())

    @property
    def evidence(self) -> bool:
        """Whether either image has evidence for the match."""
        return self.evidence_a or self.evidence_b


def explain(model: SceneModel, image_a: Inputs, image_b: Inputs) -> Explanation:
    """Compute the Grad-CAM variant of METHOD.md 7 for images as returned by `to_inputs`, on the model's device.

    The model is unchanged afterwards and keeps no gradients.
    """
    maps_a, embedding_a_D = _last_maps(model, image_a)
    maps_b, embedding_b_D = _last_maps(model, image_b)
    fixed_a_D, fixed_b_D = embedding_a_D.detach(), embedding_b_D.detach()
    contribution_D = fixed_a_D * fixed_b_D
    largest_J = contribution_D.topk(min(DIMENSIONS, len(contribution_D))).indices
    return Explanation(
        score=min(1.0, float(contribution_D.sum())),
        dimensions=tuple(Dimension(int(index), float(contribution_D[index])) for index in largest_J),
        map_a_HW=_heat(maps_a, (embedding_a_D * fixed_b_D)[largest_J].sum()),
        map_b_HW=_heat(maps_b, (embedding_b_D * fixed_a_D)[largest_J].sum()),
    )


def _last_maps(model: SceneModel, image: Inputs) -> tuple[list[Tensor], Tensor]:
    """Return each network's last feature map, and the embedding as a function of them with all other maps fixed."""
    with torch.no_grad():
        outputs = model.outputs(tuple(pixels_HWC[None] for pixels_HWC in image))
    with torch.enable_grad():
        maps = [each.map_BCHW[0].detach().requires_grad_() for each in outputs]
        varied = [
            _with_map(backbone, each, map_CHW[None])
            for backbone, each, map_CHW in zip(model.backbones, outputs, maps, strict=True)
        ]
        return maps, model.embed(varied)[0]


def _with_map(backbone: Backbone, outputs: Outputs, map_1CHW: Tensor) -> Outputs:
    """Return the outputs with another last map, and the class scores that follow from it."""
    logit_1K = backbone.classify(map_1CHW)
    return replace(outputs, map_BCHW=map_1CHW, logit_BK=outputs.logit_BK if logit_1K is None else logit_1K)


def _heat(maps: Sequence[Tensor], score: Tensor) -> np.ndarray:
    """Sum the evidence in the maps of all networks and divide it by the maximum → heat_HW."""
    gradients = torch.autograd.grad(score, maps)
    each = [_evidence(map_CHW.detach(), gradient_CHW) for map_CHW, gradient_CHW in zip(maps, gradients, strict=True)]
    height, width = max(evidence_HW.shape for evidence_HW in each)
    heat_HW = torch.stack([_resized(evidence_HW, height, width) for evidence_HW in each]).sum(0)
    most = heat_HW.max()
    is_evident = most * heat_HW.numel() >= MIN_EVIDENCE  # summed over cells, roughly its part of the score
    shown_HW: np.ndarray = (heat_HW / most if is_evident else torch.zeros_like(heat_HW)).cpu().numpy()
    return shown_HW


def _evidence(map_CHW: Tensor, gradient_CHW: Tensor) -> Tensor:
    """Sum channels weighted by the score's mean gradient, and clip negatives → evidence_HW."""
    weight_C = gradient_CHW.mean((1, 2)).nan_to_num(0, 0, 0)  # undefined for channels that are 0 everywhere
    return torch.einsum("c,chw->hw", weight_C, map_CHW).clamp(min=0)


def _resized(evidence_HW: Tensor, height: int, width: int) -> Tensor:
    """Interpolate to a finer grid; the sum over all cells stays roughly the same."""
    if evidence_HW.shape == (height, width):
        return evidence_HW
    share = evidence_HW.numel() / (height * width)
    return F.interpolate(evidence_HW[None, None], (height, width), mode="bilinear")[0, 0] * share
