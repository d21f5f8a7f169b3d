"""Jackknife over images: 95% confidence intervals of AUCs and of their differences (METHOD.md 6).

Images are queries and database at once, and both differ from one collection to another. Therefore groups of images are
left out of both, one group at a time: how much the AUCs change tells how much they vary between collections.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from tasks.evaluation.rankings import Ranking, Rankings, measure
from tasks.metrics.curves import log_auc, mean_curve
from tasks.metrics.ranked import Floats

GROUPS = 50


@dataclass(frozen=True)
class Estimate:
    """An AUC or a difference of AUCs: its value, and what it is without each group.

    `left_out_G` leaves a group out of queries and database; `change_GQ` is each query's part in the change where it is
    left out of the database alone.
    """

    value: float
    left_out_G: Floats
    change_GQ: Floats

    def __sub__(self, other: "Estimate") -> "Estimate":
        """Return the difference of two AUCs on the same queries."""
        return Estimate(self.value - other.value, self.left_out_G - other.left_out_G, self.change_GQ - other.change_GQ)

    def interval(self, low: float = -np.inf, high: float = np.inf) -> tuple[float, float]:
        """Return the 95% interval within low…high; NaN, NaN if it is undefined."""
        left_out_G = self.left_out_G[~np.isnan(self.left_out_G)]
        if np.isnan(self.value) or len(left_out_G) < 2:
            return np.nan, np.nan
        both = jackknife_variance(left_out_G)
        # A pair's noise counts once with its query and once with its result: one of the two is taken off again.
        noise = float(np.sum(np.var(self.change_GQ, axis=1) / self.change_GQ.shape[1]))
        margin = student.ppf(0.975, len(left_out_G) - 1) * np.sqrt(max(both - noise, both / 2))
        return max(low, self.value - margin), min(high, self.value + margin)


def draw_groups(count: int, seed: int) -> np.ndarray:
    """Draw up to 50 groups of nearly equal size: group_N."""
    group_N: np.ndarray = np.random.default_rng(seed).permutation(count) % GROUPS
    return group_N


def groups(count: int, seed: int) -> Iterator[np.ndarray]:
    """Yield each of up to 50 seeded groups of nearly equal size as a mask: in_group_N."""
    group_N = draw_groups(count, seed)
    for group in range(min(GROUPS, count)):
        yield group_N == group


def jackknife_variance(left_out_G: Floats) -> float:
    """Estimate the variance of a value from what it is without each group."""
    return float((len(left_out_G) - 1) * np.var(left_out_G))


def estimate_aucs(rankings: Rankings, *, seed: int) -> Mapping[str, tuple[Estimate, Estimate]]:
    """Estimate the NDCG AUC and the PCC AUC of each method; all methods leave out the same groups."""
    ats = rankings.ndcg_at, rankings.pcc_at
    whole = {name: mean_over_runs(rankings, runs) for name, runs in rankings.runs.items()}
    left_out: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in whole}
    changes: dict[str, tuple[list[Floats], list[Floats]]] = {name: ([], []) for name in whole}
    for out_N in groups(rankings.images, seed):
        kept_Q = ~out_N[rankings.query_Q]
        for name, runs in rankings.runs.items():
            values = mean_over_runs(rankings, runs, ~out_N)
            for metric, at in enumerate(ats):
                left_out[name][metric].append(auc(values[metric][kept_Q], at))
                change_Q = query_parts(values[metric], at) - query_parts(whole[name][metric], at)
                changes[name][metric].append(change_Q)

    def estimate(name: str, metric: int) -> Estimate:
        value = auc(whole[name][metric], ats[metric])
        return Estimate(value, np.array(left_out[name][metric]), np.array(changes[name][metric]))

    return {name: (estimate(name, 0), estimate(name, 1)) for name in whole}


def mean_over_runs(
    rankings: Rankings, runs: Sequence[Ranking], kept_N: np.ndarray | None = None
) -> tuple[Floats, Floats]:
    """Measure a method's runs and average those that are defined → (ndcg_QR, pcc_QR)."""
    measured = [measure(rankings, ranking, kept_N) for ranking in runs]
    ndcg_QR, pcc_QR = (
        mean_curve(np.reshape(values, (len(values), -1))).reshape(values[0].shape)
        for values in zip(*measured, strict=True)
    )
    return ndcg_QR, pcc_QR


def auc(value_QR: Floats, at: Sequence[int]) -> float:
    """Return the log AUC of the mean curve."""
    return float(log_auc(mean_curve(value_QR), at))


def query_parts(value_QR: Floats, at: Sequence[int]) -> Floats:
    """Return each query's deviation from the mean curve, as log AUC → part_Q; 0 where it has no value."""
    defined_QR = ~np.isnan(value_QR)
    share_R = np.maximum(defined_QR.sum(axis=0), 1) / len(value_QR)
    return log_auc(np.where(defined_QR, (value_QR - mean_curve(value_QR)) / share_R, 0.0), at)
