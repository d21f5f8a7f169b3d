"""Why two images match: their largest shared dimensions and where in each image they come from (METHOD.md 7)."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

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

    A map has the cells of the network's last feature map, which cover the upright image evenly. Its values are divided
    by the maximum, so they lie in [0, 1]; all are 0 if there is no positive evidence.
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


def explain(model: SceneModel, pixels_a_HWC: Tensor, pixels_b_HWC: Tensor) -> Explanation:
    """Compute the Grad-CAM variant of METHOD.md 7 for pixels as returned by `to_pixels`, on the model's device.

    The model is unchanged afterwards and keeps no gradients.
    """
    map_a_CHW, embedding_a_D = _last_map(model, pixels_a_HWC)
    map_b_CHW, embedding_b_D = _last_map(model, pixels_b_HWC)
    fixed_a_D, fixed_b_D = embedding_a_D.detach(), embedding_b_D.detach()
    contribution_D = fixed_a_D * fixed_b_D
    largest_J = contribution_D.topk(min(DIMENSIONS, len(contribution_D))).indices
    return Explanation(
        score=min(1.0, float(contribution_D.sum())),
        dimensions=tuple(Dimension(int(index), float(contribution_D[index])) for index in largest_J),
        map_a_HW=_heat(map_a_CHW, (embedding_a_D * fixed_b_D)[largest_J].sum()),
        map_b_HW=_heat(map_b_CHW, (embedding_b_D * fixed_a_D)[largest_J].sum()),
    )


def _last_map(model: SceneModel, pixels_HWC: Tensor) -> tuple[Tensor, Tensor]:
    """Return the last feature map, and the embedding as a function of it with all other maps held fixed."""
    with torch.no_grad():
        outputs = model.outputs(pixels_HWC[None])
    with torch.enable_grad():
        map_CHW = outputs.map_BCHW[0].detach().requires_grad_()
        map_1CHW = map_CHW[None]
        logit_1K = model.backbone.classify(map_1CHW)
        varied = replace(outputs, map_BCHW=map_1CHW, logit_BK=outputs.logit_BK if logit_1K is None else logit_1K)
        return map_CHW, model.embed(varied)[0]


def _heat(map_CHW: Tensor, score: Tensor) -> np.ndarray:
    """Sum channels weighted by the score's mean gradient, clip negatives, divide by the maximum → heat_HW."""
    (gradient_CHW,) = torch.autograd.grad(score, map_CHW)
    weight_C = gradient_CHW.mean((1, 2)).nan_to_num(0, 0, 0)  # undefined for channels that are 0 everywhere
    heat_HW = torch.einsum("c,chw->hw", weight_C, map_CHW.detach()).clamp(min=0)
    most = heat_HW.max()
    is_evident = most * heat_HW.numel() >= MIN_EVIDENCE  # summed over cells, roughly its part of the score
    shown_HW: np.ndarray = (heat_HW / most if is_evident else torch.zeros_like(heat_HW)).cpu().numpy()
    return shown_HW
