"""The metrics of every method on one split, with intervals and paired differences."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

from tasks.errors import InputError
from tasks.evaluation.jackknife import Estimate, estimate_aucs, mean_over_runs
from tasks.evaluation.methods import LABELS, Kind, method_kind
from tasks.evaluation.rankings import Rankings
from tasks.metrics.curves import left_out, linear_auc, mean_curve
from tasks.metrics.formatting import format_difference, format_metric

LEAST_QUERIES = 10  # with fewer, one query more or less can move an average by a tenth of the scale


def _none_if_undefined(value: Any) -> Any:
    """JSON has no NaN: an undefined metric or interval is null."""
    parts = value if isinstance(value, tuple | list) else (value,)
    return None if any(part is None or math.isnan(part) for part in parts) else value


Metric = Annotated[float | None, BeforeValidator(_none_if_undefined)]
Interval = Annotated[tuple[float, float] | None, BeforeValidator(_none_if_undefined)]


class Difference(BaseModel):
    """A method's AUCs minus those of others on the same queries, with 95% intervals.

    `over` is the method that NDCG is compared with, `pcc_over` the one for PCC.
    """

    model_config = ConfigDict(frozen=True)

    over: str
    pcc_over: str
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


def summarise(rankings: Rankings, labels: Mapping[str, str] = LABELS, *, seed: int = 0) -> dict[str, MethodSummary]:
    """Measure each method's rankings, averaged over its runs (METHOD.md 6).

    Trained methods are compared with the best untrained baseline of each metric, and with the best trained method.
    Raises InputError if no query has a relevant image.
    """
    if not (rankings.ideal.relevance_QK > 0).any():
        raise InputError(
            "No query shares a caption word with another image; evaluate a split with overlapping captions "
            "in the language of the training captions."
        )
    estimates = estimate_aucs(rankings, seed=seed)
    summaries = {name: _summary(labels.get(name, name), rankings, name, estimates[name]) for name in rankings.runs}
    best = best_of(summaries, "trained")
    baselines = best_of(summaries, "untrained"), best_of(summaries, "untrained", auc="pcc_auc")

    def difference(name: str, ndcg_over: str | None, pcc_over: str | None) -> Difference | None:
        if ndcg_over is None or pcc_over is None or name == ndcg_over:
            return None
        return paired_difference(estimates, name, ndcg_over, pcc_over)

    return {
        name: summary.model_copy(
            update={
                "gain": difference(name, *baselines) if method_kind(name) not in {"reference", "untrained"} else None,
                "to_best": difference(name, best, best) if method_kind(name) in {"trained", "features"} else None,
            }
        )
        for name, summary in summaries.items()
    }


def paired_difference(
    estimates: Mapping[str, tuple[Estimate, Estimate]], name: str, over: str, pcc_over: str
) -> Difference:
    """Return a method's AUCs minus those of others, measured on the same queries."""
    ndcg, pcc = estimates[name][0] - estimates[over][0], estimates[name][1] - estimates[pcc_over][1]
    return Difference(
        over=over,
        pcc_over=pcc_over,
        ndcg_auc=ndcg.value,
        ndcg_auc_interval=ndcg.interval(),
        pcc_auc=pcc.value,
        pcc_auc_interval=pcc.interval(),
    )


def best_of(
    summaries: Mapping[str, MethodSummary], *kinds: Kind, auc: Literal["ndcg_auc", "pcc_auc"] = "ndcg_auc"
) -> str | None:
    """Return the method of these kinds with the highest AUC; ties go to the first; None if there is none."""

    def height(name: str) -> float:
        value: float | None = getattr(summaries[name], auc)
        return -math.inf if value is None else value

    return max((name for name in summaries if method_kind(name) in kinds), key=height, default=None)


def compare_with_baseline(summaries: Mapping[str, MethodSummary], name: str) -> str | None:
    """Return a clause on a model that does not clearly beat the best untrained baseline; None if it does."""
    if method_kind(name) == "features":
        return _compare_with_trained(summaries, name)
    gain = summaries[name].gain
    if gain is None or gain.ndcg_auc is None or gain.is_clear_gain:
        return None
    baseline = summaries[gain.over]
    verdict = "is not clearly better than" if gain.ndcg_auc > 0 else "does not beat"
    return (
        f"{verdict} the best untrained baseline ({baseline.label}, {format_metric(baseline.ndcg_auc)}): "
        f"{format_difference(gain.ndcg_auc, gain.ndcg_auc_interval)}"
    )


def _compare_with_trained(summaries: Mapping[str, MethodSummary], name: str) -> str:
    """Return a clause on the untrained network as a model."""
    lead = summaries[name].to_best
    clause = "is the untrained network, which takes no words"
    if lead is None or lead.ndcg_auc is None:
        return clause
    trained = summaries[lead.over]
    position = "ahead of" if lead.ndcg_auc > 0 else "behind"
    return (
        f"{clause}; it is {position} the best trained candidate ({trained.label}, {format_metric(trained.ndcg_auc)}): "
        f"{format_difference(lead.ndcg_auc, lead.ndcg_auc_interval)}"
    )


def doubt_quality(queries: int, summaries: Mapping[str, MethodSummary]) -> str | None:
    """Return why so few queries do not establish a model's quality; None if there are enough.

    Queries without any relevant image do not count.
    """
    counted = queries - (summaries["captions"].ndcg_left_out if "captions" in summaries else 0)
    if counted >= LEAST_QUERIES:
        return None
    measured = "1 query was" if counted == 1 else f"{counted} queries were"
    return f"only {measured} measured, and at least {LEAST_QUERIES} are needed"


def best_methods(summaries: Mapping[str, MethodSummary], evaluated: str | None = None) -> list[str]:
    """Return what the report shows in detail: the best untrained baseline, and the evaluated or best trained method."""
    best = best_of(summaries, "untrained"), evaluated or best_of(summaries, "trained")
    return [name for name in best if name is not None]


def _summary(label: str, rankings: Rankings, name: str, estimates: tuple[Estimate, Estimate]) -> MethodSummary:
    ndcg_QR, pcc_QR = mean_over_runs(rankings, rankings.runs[name])
    ndcg_R, pcc_R = mean_curve(ndcg_QR), mean_curve(pcc_QR)
    ndcg, pcc = estimates
    return MethodSummary(
        label=label,
        ndcg=dict(zip(rankings.ndcg_at, ndcg_R.tolist(), strict=True)),
        pcc=dict(zip(rankings.pcc_at, pcc_R.tolist(), strict=True)),
        ndcg_auc=ndcg.value,
        ndcg_auc_interval=ndcg.interval(0, 100),
        ndcg_auc_linear=float(linear_auc(ndcg_R, rankings.ndcg_at)),
        ndcg_left_out=left_out(ndcg_QR),
        pcc_auc=pcc.value,
        pcc_auc_interval=pcc.interval(-100, 100),
        pcc_auc_linear=float(linear_auc(pcc_R, rankings.pcc_at)),
        pcc_left_out=left_out(pcc_QR),
    )
