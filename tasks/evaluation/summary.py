"""The figures of every method on one split, with intervals and differences from the untrained."""

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
from tasks.metrics.ndcg import ndcg
from tasks.metrics.pcc import pcc
from tasks.metrics.ranked import Floats


def _none_if_undefined(value: Any) -> Any:
    """JSON has no NaN: an undefined figure, or interval of figures, is null."""
    parts = value if isinstance(value, tuple | list) else (value,)
    return None if any(part is None or math.isnan(part) for part in parts) else value


Figure = Annotated[float | None, BeforeValidator(_none_if_undefined)]
Interval = Annotated[tuple[float, float] | None, BeforeValidator(_none_if_undefined)]


class Gain(BaseModel):
    """What a method adds to another, `over`, or lacks, below 0: paired differences of AUCs."""

    model_config = ConfigDict(frozen=True)

    over: str
    ndcg_auc: Figure
    ndcg_auc_interval: Interval
    pcc_auc: Figure
    pcc_auc_interval: Interval


class MethodSummary(BaseModel):
    """One method's figures: NDCG and PCC at each rank 0–1, AUCs 0–100, None where undefined.

    `gain` is over the best untrained baseline, `to_best` over the best trained method, for the others trained.
    """

    model_config = ConfigDict(frozen=True)

    label: str
    ndcg: dict[int, Figure]
    pcc: dict[int, Figure]
    ndcg_auc: Figure
    ndcg_auc_interval: Interval
    ndcg_auc_linear: Figure
    ndcg_left_out: int
    pcc_auc: Figure
    pcc_auc_interval: Interval
    pcc_auc_linear: Figure
    pcc_left_out: int
    gain: Gain | None = None
    to_best: Gain | None = None


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
    """Summarise each method's score_QN, or several runs of one, against the true similarity, METHOD.md 6.

    Columns are the ranked images in id order, the query's own already removed. The bootstrap draws the same
    queries for all methods; trained ones are compared with the best untrained baseline and with the best of them.
    Raises InputError where no query has a relevant image, ValueError for unlike shapes and values that are not finite.
    """
    if not (relevance_QN > 0).any():
        raise InputError(
            "No query's captions share a word with another image's: evaluate a split whose captions do, "
            "in the language of the training captions."
        )
    values = {name: _measure(relevance_QN, score) for name, score in scores.items()}
    weight_BQ = resample_queries(len(relevance_QN), seed)
    summaries = {name: _summary(labels.get(name, name), each, weight_BQ) for name, each in values.items()}
    baseline, best = best_of(summaries, "untrained"), best_of(summaries, "trained")

    def gain(name: str, over: str | None, *kinds: Kind) -> Gain | None:
        if over is None or name == over or method_kind(name) not in kinds:
            return None
        return _gain(over, values[name], values[over], weight_BQ)

    return {
        name: each.model_copy(
            update={"gain": gain(name, baseline, "trained", "captioned"), "to_best": gain(name, best, "trained")}
        )
        for name, each in summaries.items()
    }


def best_of(
    summaries: Mapping[str, MethodSummary], *kinds: Kind, auc: Literal["ndcg_auc", "pcc_auc"] = "ndcg_auc"
) -> str | None:
    """The method of these kinds with the highest AUC, the first of equals; None where there is none."""

    def height(name: str) -> float:
        value: float | None = getattr(summaries[name], auc)
        return -math.inf if value is None else value

    return max((name for name in summaries if method_kind(name) in kinds), key=height, default=None)


def _measure(relevance_QN: Floats, score: Floats | Sequence[Floats]) -> _Values:
    """Both metrics of one method for each query, averaged over its runs."""
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
    """Mean of the runs that are defined → value_QR."""
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


def _gain(over: str, values: _Values, other: _Values, weight_BQ: Floats) -> Gain:
    ndcg_auc, ndcg_interval = paired_difference(values.ndcg, other.ndcg, values.ndcg_at, weight_BQ)
    pcc_auc, pcc_interval = paired_difference(values.pcc, other.pcc, values.pcc_at, weight_BQ)
    return Gain(
        over=over,
        ndcg_auc=ndcg_auc,
        ndcg_auc_interval=ndcg_interval,
        pcc_auc=pcc_auc,
        pcc_auc_interval=pcc_interval,
    )
