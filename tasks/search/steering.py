"""Words that steer: a query moved towards what is added and away from what is removed (METHOD.md 8)."""

from collections.abc import Iterable

import numpy as np

ADD, REMOVE = 1.0, 0.5  # how far: α and β


def steer(start_D: np.ndarray, moves: Iterable[tuple[float, np.ndarray]]) -> np.ndarray:
    """query_D = normalise(start + Σ weight · θ), unit length; the start itself where all cancels."""
    moved_D = start_D + sum((weight * theta_D for weight, theta_D in moves), np.zeros_like(start_D))
    length = float(np.linalg.norm(moved_D))
    query_D: np.ndarray = moved_D / length if length > 0 else start_D
    return query_D
