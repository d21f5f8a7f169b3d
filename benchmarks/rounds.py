"""Measure variants in turns, so that other load on the machine slows them alike."""

import time
from collections.abc import Callable, Mapping

import numpy as np

Variants = Mapping[str, Callable[[], object]]


def seconds(variants: Variants, rounds: int) -> dict[str, np.ndarray]:
    """Return seconds_R of each variant in every round, after one round of warm-up."""
    taken: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(rounds + 1):
        for name, run in variants.items():
            started = time.perf_counter()
            run()
            taken[name].append(time.perf_counter() - started)
    return {name: np.array(times[1:]) for name, times in taken.items()}
