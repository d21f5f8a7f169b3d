"""The metrics of every method on one split, with intervals and paired differences."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict

from tasks.errors import InputError
from tasks.evaluation.bootstrap import auc_interval, paired_difference, resample_queries
from tasks.evaluation.methods import LABELS, Kind, method_kind
from tasks.metrics.curves import NDCG_AT, PCC_AT, cut_ranks, left_out, linear_auc, log_auc, mean_curve
from tasks.metrics.formatting import format_difference, format_metric
from tasks.metrics.ndcg import ndcg
from tasks.metrics.pcc import pcc
from tasks.metrics.ranked import Floats


def _none_if_undefined(value: Any) -> Any:
    """JSON has no NaN: an undefined metric or interval is null."""
    parts = value if isinstance(value, tuple | list) else (value,)
    return None if any(part is None or math.isnan(part) for part in parts) else value


Metric = Annotated[float | None, BeforeValidator(_none_if_undefined)]
Interval = Annotated[tuple[float, float] | None, BeforeValidator(_none_if_undefined)]


class Difference(BaseModel):
    """A method's AUCs minus those of another, `over`, on the same queries, with 95 % intervals."""

    model_config = ConfigDict(frozen=True)

    over: str
    ndcg_auc: Metric
    ndcg_auc_interval: Interval
    pcc_auc: Metric
    pcc_auc_interval: Interval

    @property
    def is_clear_gain(self) -> bool:
        """Whether the whole interval of the NDCG AUC difference lies above 0."""
        return self.ndcg_auc_interval is not None and self.ndcg_auc_interval[0] > 0


class MethodSummary(BaseModel):
    """One method's metrics: NDCG and PCC at each rank 0–1, AUCs 0–100, None where undefined.

    `gain` is the difference from the best untrained baseline, `to_best` that from the best trained method.
    """

    model_config = ConfigDict(frozen=True)

    label: str
    ndcg: dict[int, Metric]
    pcc: dict[int, Metric]
    ndcg_auc: Metric
    ndcg_auc_interval: Interval
    ndcg_auc_linear: Metric
    ndcg_left_out: int
    pcc_auc: Metric
    pcc_auc_interval: Interval
    pcc_auc_linear: Metric
    pcc_left_out: int
    gain: Difference | None = None
    to_best: Difference | None = None


@dataclass(frozen=True)
class _Values:
    """One method's NDCG and PCC, (Q, R) each, and their ranks."""

    ndcg: Floats
    ndcg_at: tuple[int, ...]
    pcc: Floats
    pcc_at: tuple[int, ...]


def summarise(
    relevance_QN: Floats,
    scores: Mapping[str, Floats | Sequence[Floats]],
    labels: Mapping[str, str] = LABELS,
    *,
    seed: int = 0,
) -> dict[str, MethodSummary]:
    """Measure each method's score_QN, or several runs of it, against the true similarity (METHOD.md 6).

    Columns are the ranked images in id order, without the query. The bootstrap draws the same queries for all methods;
    trained methods are compared with the best untrained baseline and with the best trained method. Raises InputError
    if no query has a relevant image, ValueError if shapes differ or values are not finite.
    """
    if not (relevance_QN > 0).any():
        raise InputError(
            "No query shares a caption word with another image; evaluate a split with overlapping captions "
            "in the language of the training captions."
        )
    values = {name: _measure(relevance_QN, score) for name, score in scores.items()}
    weight_BQ = resample_queries(len(relevance_QN), seed)
    summaries = {name: _summary(labels.get(name, name), each, weight_BQ) for name, each in values.items()}
    baseline, best = best_of(summaries, "untrained"), best_of(summaries, "trained")

    def difference(name: str, over: str | None, *kinds: Kind) -> Difference | None:
        if over is None or name == over or method_kind(name) not in kinds:
            return None
        return _difference(over, values[name], values[over], weight_BQ)

    return {
        name: each.model_copy(
            update={
                "gain": difference(name, baseline, "trained", "captioned"),
                "to_best": difference(name, best, "trained"),
            }
        )
        for name, each in summaries.items()
    }


def best_of(
    summaries: Mapping[str, MethodSummary], *kinds: Kind, auc: Literal["ndcg_auc", "pcc_auc"] = "ndcg_auc"
) -> str | None:
    """Return the method of these kinds with the highest AUC, the first of equals; None if there is none."""

    def height(name: str) -> float:
        value: float | None = getattr(summaries[name], auc)
        return -math.inf if value is None else value

    return max((name for name in summaries if method_kind(name) in kinds), key=height, default=None)


def compare_with_baseline(summaries: Mapping[str, MethodSummary], name: str) -> str | None:
    """Return a clause on a trained method that does not clearly beat the best untrained baseline; None if it does."""
    gain = summaries[name].gain
    if gain is None or gain.ndcg_auc is None or gain.is_clear_gain:
        return None
    baseline = summaries[gain.over]
    verdict = "is not clearly better than" if gain.ndcg_auc > 0 else "does not beat"
    return (
        f"{verdict} the best untrained baseline ({baseline.label}, {format_metric(baseline.ndcg_auc)}): "
        f"{format_difference(gain.ndcg_auc, gain.ndcg_auc_interval)}"
    )


def _measure(relevance_QN: Floats, score: Floats | Sequence[Floats]) -> _Values:
    """Compute both metrics of one method for each query, averaged over its runs."""
    runs = [score] if isinstance(score, np.ndarray) else score
    width = relevance_QN.shape[1]
    ndcg_at, pcc_at = cut_ranks(NDCG_AT, width), cut_ranks(PCC_AT, width)
    return _Values(
        ndcg=_mean_over_runs([ndcg(relevance_QN, score_QN, ndcg_at) for score_QN in runs]),
        ndcg_at=ndcg_at,
        pcc=_mean_over_runs([pcc(relevance_QN, score_QN, pcc_at) for score_QN in runs]),
        pcc_at=pcc_at,
    )


def _mean_over_runs(runs: Sequence[Floats]) -> Floats:
    """Average the runs that are defined → value_QR."""
    return mean_curve(np.reshape(runs, (len(runs), -1))).reshape(runs[0].shape)


def _summary(label: str, values: _Values, weight_BQ: Floats) -> MethodSummary:
    ndcg_R, pcc_R = mean_curve(values.ndcg), mean_curve(values.pcc)
    return MethodSummary(
        label=label,
        ndcg=dict(zip(values.ndcg_at, ndcg_R.tolist(), strict=True)),
        pcc=dict(zip(values.pcc_at, pcc_R.tolist(), strict=True)),
        ndcg_auc=float(log_auc(ndcg_R, values.ndcg_at)),
        ndcg_auc_interval=auc_interval(values.ndcg, values.ndcg_at, weight_BQ),
        ndcg_auc_linear=float(linear_auc(ndcg_R, values.ndcg_at)),
        ndcg_left_out=left_out(values.ndcg),
        pcc_auc=float(log_auc(pcc_R, values.pcc_at)),
        pcc_auc_interval=auc_interval(values.pcc, values.pcc_at, weight_BQ),
        pcc_auc_linear=float(linear_auc(pcc_R, values.pcc_at)),
        pcc_left_out=left_out(values.pcc),
    )


def _difference(over: str, values: _Values, other: _Values, weight_BQ: Floats) -> Difference:
    ndcg_auc, ndcg_interval = paired_difference(values.ndcg, other.ndcg, values.ndcg_at, weight_BQ)
    pcc_auc, pcc_interval = paired_difference(values.pcc, other.pcc, values.pcc_at, weight_BQ)
    return Difference(
        over=over,
        ndcg_auc=ndcg_auc,
        ndcg_auc_interval=ndcg_interval,
        pcc_auc=pcc_auc,
        pcc_auc_interval=pcc_interval,
    )
