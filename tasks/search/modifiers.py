"""Words that steer: a query moved towards what is added and away from what is removed (METHOD.md 8)."""

from collections.abc import Iterable

import numpy as np

ADD, REMOVE = 1.0, 0.5  # how far: α and β


def steer(start_D: np.ndarray, moves: Iterable[tuple[float, np.ndarray]]) -> np.ndarray:
    """query_D = normalise(start + Σ weight · θ), unit length; the start itself where all cancels."""
    move_D = sum((weight * theta_D for weight, theta_D in moves), np.zeros_like(start_D))
    query_D: np.ndarray = moved(start_D[None], move_D[None])[0]
    return query_D if query_D.any() else start_D


def moved(start_PD: np.ndarray, theta_PD: np.ndarray, alpha: float = 1.0) -> np.ndarray:
    """normalise(φ + α·θ) of each row, unit length; a row whose θ is 0 stays where it is (METHOD.md 9)."""
    sum_PD = start_PD + alpha * theta_PD
    unit_PD: np.ndarray = sum_PD / np.maximum(np.linalg.norm(sum_PD, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return unit_PD
