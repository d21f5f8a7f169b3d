"""Triplet loss (METHOD.md 4)."""

from torch import Tensor


def triplet_loss(query_TD: Tensor, relevant_TD: Tensor, nonrelevant_TD: Tensor, margin: float) -> Tensor:
    """loss_T = ½ max(0, m − φ_q·φ_+ + φ_q·φ_−) of each triplet; equation (1)."""
    positive_T = (query_TD * relevant_TD).sum(-1)
    negative_T = (query_TD * nonrelevant_TD).sum(-1)
    return 0.5 * (margin - positive_T + negative_T).clamp(min=0)
