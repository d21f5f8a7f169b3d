"""What flows answer: the JSON of their commands (CLI.md)."""

from typing import Any

from pydantic import BaseModel

from tasks.caching import StageReport


class ModelVersion(BaseModel):
    """A registered model."""

    name: str
    version: int
    aliases: tuple[str, ...] = ()


class CandidateFigures(BaseModel):
    """A trained method and its validation figures."""

    method: str
    metrics: dict[str, float | None]


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
    report: str
    stages: list[StageReport]
