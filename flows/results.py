"""The results of flows, which are the JSON output of their commands."""

from abc import ABC, abstractmethod

from pydantic import BaseModel

from tasks.caching import StageReport
from tasks.evaluation.task import Difference, Evaluation, MethodSummary, MixedMetrics, WordMetrics
from tasks.model.config import ModelConfig
from tasks.phrases import counted
from tasks.registry.task import Registered
from tasks.training.task import HalfFit


class ModelVersion(BaseModel):
    """A registered model."""

    name: str
    version: int
    aliases: tuple[str, ...] = ()


def version_of(registered: Registered) -> ModelVersion:
    """Return the version that a registered model has."""
    return ModelVersion(name="scenekin", version=registered.version, aliases=registered.aliases)


class FlowResult(BaseModel, ABC):
    """The result of a flow."""

    @property
    @abstractmethod
    def headline(self) -> str:
        """One line for the log of a deployed run."""


class MethodMetrics(BaseModel):
    """A method and its validation metrics."""

    method: str
    label: str
    metrics: dict[str, float | None]
    ndcg_auc_interval: tuple[float, float] | None

    @classmethod
    def of(cls, method: str, evaluation: Evaluation) -> "MethodMetrics":
        """Take them from an evaluation."""
        summary = evaluation.methods[method]
        return cls(
            method=method,
            label=summary.label,
            metrics={**evaluation.metrics(method)},
            ndcg_auc_interval=summary.ndcg_auc_interval,
        )


class CandidateMetrics(MethodMetrics):
    """A candidate; `to_best` and `to_baseline` are its differences from the best trained one and the best baseline.

    `seconds` is the time its training took, even if that was in an earlier run.
    """

    to_best: Difference | None
    to_baseline: Difference | None
    seconds: float


class Network(BaseModel):
    """A network of a model, and the licence of its published weights; an unknown one is empty."""

    name: str
    licence: str

    @classmethod
    def all_of(cls, model: ModelConfig) -> "list[Network]":
        """The networks of a model."""
        return [cls(name=network.backbone.name, licence=network.licence) for network in model.networks]


class TrainResult(FlowResult):
    """`scenekin train --json`; `method` is that of the registered model.

    `chance` is the validation NDCG AUC of a random order, `half` what the registered model reaches with half of the
    training images, None unless it is a regression. `warning` is None if the model was trained and is clearly
    better than the best untrained baseline. `champion` is the version in use if its model is another, `to_champion` the
    difference from it on the validation split, None where the two cannot be compared on it.
    """

    run_id: str
    method: str
    model: ModelVersion
    candidates: list[CandidateMetrics]
    baseline: MethodMetrics | None
    chance: float | None = None
    half: HalfFit | None = None
    metrics: dict[str, dict[str, float | None]]
    promoted: bool
    reason: str
    champion: int | None
    to_champion: Difference | None
    warning: str | None
    networks: list[Network]
    report: str
    problem_counts: dict[str, int]
    stages: list[StageReport]

    @property
    def headline(self) -> str:
        """The registered model and the report."""
        return f"model {self.model.version} ({', '.join(self.model.aliases)}): {self.reason}; report: {self.report}"


class IndexResult(FlowResult):
    """`scenekin index --json`."""

    index: dict[str, str | int]
    model: ModelVersion
    refused: list[dict[str, str]]
    problem_counts: dict[str, int]
    seconds: float
    stages: list[StageReport]

    @property
    def headline(self) -> str:
        """The published version and its number of images."""
        index = self.index
        return (
            f"index {index['name']} version {index['version']}: {counted(int(index['images']), 'image')}, "
            f"{len(self.refused):,} refused"
        )


class EvaluateResult(FlowResult):
    """`scenekin evaluate --json`: the model by the method `method`, and other methods beside it.

    `warning` is set if the queries are too few to establish its quality. Relevance and baselines are fitted on the
    split `reference`. If `foreign`, the model was trained on other captions.
    """

    model: ModelVersion
    method: str
    warning: str | None
    split: str
    queries: int
    left_out: int
    reference: str
    foreign: bool
    cut_ranks: tuple[int, ...]
    methods: dict[str, MethodSummary]
    words: dict[str, WordMetrics]
    mixed: dict[str, MixedMetrics]
    report: str
    stages: list[StageReport]

    @property
    def headline(self) -> str:
        """The evaluated model, the number of queries and the report."""
        queries = counted(self.queries, "query", "queries")
        return f"model {self.model.version} on {self.split}: {queries}; report: {self.report}"
