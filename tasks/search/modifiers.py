"""Text modifiers: a query steered towards added words and away from removed ones (METHOD.md 8)."""

from collections.abc import Iterable

import numpy as np

ADD, REMOVE = 1.0, 0.5  # default strengths α and β


def steer(start_D: np.ndarray, directions: Iterable[tuple[float, np.ndarray]]) -> np.ndarray:
    """Return query_D = normalise(start + Σ weight · θ), unit length; the start itself if the sum is 0."""
    sum_D = sum((weight * theta_D for weight, theta_D in directions), np.zeros_like(start_D))
    query_D: np.ndarray = steer_queries(start_D[None], sum_D[None])[0]
    return query_D if query_D.any() else start_D


def steer_queries(start_PD: np.ndarray, theta_PD: np.ndarray, alpha: float = 1.0) -> np.ndarray:
    """Return normalise(φ + α·θ) of each row, unit length; a row whose θ is 0 stays as it is (METHOD.md 8)."""
    sum_PD = start_PD + alpha * theta_PD
    unit_PD: np.ndarray = sum_PD / np.maximum(np.linalg.norm(sum_PD, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return unit_PD
