"""Bootstrap over queries: 95 % confidence intervals of AUCs and of paired differences."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tasks.metrics.curves import log_auc, mean_curve, weighted_curves
from tasks.metrics.ranked import Floats

RESAMPLES = 1000


def resample_queries(queries: int, seed: int, resamples: int = RESAMPLES) -> npt.NDArray[np.float64]:
    """Draw queries with replacement → weight_BQ, how often each resample draws each query; rows sum to Q.

    All methods share one such matrix, so that their differences are paired.
    """
    drawn_BQ = np.random.default_rng(seed).multinomial(queries, np.full(queries, 1 / queries), size=resamples)
    return drawn_BQ.astype(np.float64)


def percentile_interval(sample_B: Floats) -> tuple[float, float]:
    """Return the 95 % percentile interval of the resamples that are defined; NaN, NaN if none is."""
    defined = sample_B[~np.isnan(sample_B)]
    if not defined.size:
        return np.nan, np.nan
    low, high = np.percentile(defined, [2.5, 97.5])
    return float(low), float(high)


def auc_interval(value_QR: Floats, at: Sequence[int], weight_BQ: Floats) -> tuple[float, float]:
    """Return the 95 % interval of the mean curve's log AUC; a query's values are drawn together (METHOD.md 6)."""
    return percentile_interval(log_auc(weighted_curves(value_QR, weight_BQ), at))


def paired_difference(
    value_QR: Floats, other_QR: Floats, at: Sequence[int], weight_BQ: Floats
) -> tuple[float, tuple[float, float]]:
    """Return one method's log AUC minus another's on the same queries, with its 95 % interval (METHOD.md 6)."""
    difference = log_auc(mean_curve(value_QR), at) - log_auc(mean_curve(other_QR), at)
    auc_B, other_B = (log_auc(weighted_curves(each, weight_BQ), at) for each in (value_QR, other_QR))
    return float(difference), percentile_interval(auc_B - other_B)
