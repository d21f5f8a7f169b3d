"""The results of flows, which are the JSON output of their commands."""

from typing import Any

from pydantic import BaseModel

from tasks.caching import StageReport
from tasks.evaluation.task import Evaluation, Gain


class ModelVersion(BaseModel):
    """A registered model."""

    name: str
    version: int
    aliases: tuple[str, ...] = ()


class CandidateFigures(BaseModel):
    """A trained method and its validation figures; `to_best` is what it adds to the best one: less than 0.

    `seconds` is what its training took, whenever that was.
    """

    method: str
    label: str
    metrics: dict[str, float | None]
    ndcg_auc_interval: tuple[float, float] | None
    to_best: Gain | None
    seconds: float

    @classmethod
    def of(cls, method: str, evaluation: Evaluation, seconds: float) -> "CandidateFigures":
        """Those of an evaluation."""
        summary = evaluation.methods[method]
        return cls(
            method=method,
            label=summary.label,
            metrics={**evaluation.figures(method)},
            ndcg_auc_interval=summary.ndcg_auc_interval,
            to_best=summary.to_best,
            seconds=seconds,
        )


class TrainResult(BaseModel):
    """`scenekin train --json`."""

    run_id: str
    model: ModelVersion
    candidates: list[CandidateFigures]
    metrics: dict[str, dict[str, float | None]]
    promoted: bool
    reason: str
    report: str
    problem_counts: dict[str, int]
    stages: list[StageReport]


class IndexResult(BaseModel):
    """`scenekin index --json`."""

    index: dict[str, str | int]
    model: ModelVersion
    refused: list[dict[str, str]]
    problem_counts: dict[str, int]
    seconds: float
    stages: list[StageReport]


class EvaluateResult(BaseModel):
    """`scenekin evaluate --json`."""

    model: ModelVersion
    split: str
    queries: int
    left_out: int
    methods: dict[str, Any]
    words: dict[str, Any]
    report: str
    stages: list[StageReport]
