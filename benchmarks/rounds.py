"""Variants measured by turns, so that whatever else the machine does slows them alike."""

import time
from collections.abc import Callable, Mapping

import numpy as np

Variants = Mapping[str, Callable[[], object]]


def seconds(variants: Variants, rounds: int) -> dict[str, np.ndarray]:
    """seconds_R that each variant took in every round; one more round before warms up."""
    taken: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(rounds + 1):
        for name, run in variants.items():
            started = time.perf_counter()
            run()
            taken[name].append(time.perf_counter() - started)
    return {name: np.array(times[1:]) for name, times in taken.items()}
