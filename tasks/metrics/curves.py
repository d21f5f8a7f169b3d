"""Curves of a metric over the rank R: standard ranks, mean over queries, area under the curve (METHOD.md 6)."""

from collections.abc import Sequence

import numpy as np

from tasks.metrics.ranked import Floats

NDCG_AT = (1, 2, 4, 8, 16, 32, 64, 128)
PCC_AT = NDCG_AT[2:]


def cut_ranks(at: Sequence[int], count: int) -> tuple[int, ...]:
    """Return the ranks that are at most `count`, the number of ranked images."""
    return tuple(rank for rank in at if rank <= count)


def mean_curve(value_QR: Floats) -> Floats:
    """Average over the queries with a value at each rank → value_R, NaN if there is none."""
    curve_1R = weighted_curves(value_QR, np.ones((1, len(value_QR))))
    return curve_1R.ravel()


def weighted_curves(value_QR: Floats, weight_BQ: Floats) -> Floats:
    """Compute the weighted mean curve for each row of weights → value_BR, ignoring undefined values."""
    defined_QR = ~np.isnan(value_QR)
    total_BR = weight_BQ @ np.where(defined_QR, value_QR, 0.0)
    weight_BR = weight_BQ @ defined_QR
    return np.divide(total_BR, weight_BR, out=np.full_like(total_BR, np.nan), where=weight_BR > 0)


def left_out(value_QR: Floats) -> int:
    """Count the queries without a value at one or more ranks."""
    return int(np.isnan(value_QR).any(axis=1).sum())


def log_auc(value_R: Floats, at: Sequence[int]) -> Floats:
    """Compute the area under the curve over log2 R by the trapezoid rule, divided by its range, 0–100 (METHOD.md 6).

    Leading axes are kept. A single rank gives 100 times its value, no rank gives NaN.
    """
    return _auc(value_R, np.log2(at))


def linear_auc(value_R: Floats, at: Sequence[int]) -> Floats:
    """Compute `log_auc` over R itself."""
    return _auc(value_R, np.asarray(at, dtype=np.float64))


def _auc(value_R: Floats, x_R: Floats) -> Floats:
    if len(x_R) == 0:
        return np.full(value_R.shape[:-1], np.nan)
    height: Floats = value_R[..., 0] if len(x_R) == 1 else np.trapezoid(value_R, x_R) / (x_R[-1] - x_R[0])
    return 100 * height
