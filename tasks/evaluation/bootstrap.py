"""Bootstrap over queries: how far a figure would move with other queries drawn from the same collection."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tasks.metrics.curves import log_auc, mean_curve, weighted_curves
from tasks.metrics.ranked import Floats

RESAMPLES = 1000


def resample_queries(queries: int, seed: int, resamples: int = RESAMPLES) -> npt.NDArray[np.float64]:
    """How often each query is drawn in each resample, with replacement → weight_BQ; rows sum to Q.

    One such matrix serves all methods, so that their figures are paired.
    """
    drawn_BQ = np.random.default_rng(seed).multinomial(queries, np.full(queries, 1 / queries), size=resamples)
    return drawn_BQ.astype(np.float64)


def percentile_interval(sample_B: Floats) -> tuple[float, float]:
    """The 95 % percentile interval of the resamples that have a value; NaN, NaN where none has."""
    defined = sample_B[~np.isnan(sample_B)]
    if not defined.size:
        return np.nan, np.nan
    low, high = np.percentile(defined, [2.5, 97.5])
    return float(low), float(high)


def auc_interval(value_QR: Floats, at: Sequence[int], weight_BQ: Floats) -> tuple[float, float]:
    """The 95 % interval of the mean curve's log AUC, all a query's values drawn together, METHOD.md 6."""
    return percentile_interval(log_auc(weighted_curves(value_QR, weight_BQ), at))


def paired_difference(
    value_QR: Floats, other_QR: Floats, at: Sequence[int], weight_BQ: Floats
) -> tuple[float, tuple[float, float]]:
    """Log AUC of one method minus another's on the same queries, with its 95 % interval, METHOD.md 6."""
    difference = log_auc(mean_curve(value_QR), at) - log_auc(mean_curve(other_QR), at)
    auc_B, other_B = (log_auc(weighted_curves(each, weight_BQ), at) for each in (value_QR, other_QR))
    return float(difference), percentile_interval(auc_B - other_B)
