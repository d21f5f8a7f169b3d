"""Train the candidates of a configuration, and choose the best."""

from collections.abc import Iterable

from flows.config import Config
from flows.results import CandidateMetrics, MethodMetrics
from flows.steps import Prepared
from storage.artifacts import Artifact, narrow
from tasks.caching import Runner
from tasks.evaluation.task import Evaluation, best_of
from tasks.model.config import PoolingConfig
from tasks.surrogate.task import find_neighbours
from tasks.training.inputs import TrainingData
from tasks.training.task import (
    fit_to_memory,
    score_to_beat,
    train_regression_head,
    train_triplet_head,
    train_untrained,
)


def train_candidates(run: Runner, prepared: Prepared, config: Config) -> dict[str, Artifact]:
    """Train each configured candidate. The fast ones come first, and give the others a score to beat."""
    trained: dict[str, Artifact] = {}
    triplet_settings = config.triplet_settings()
    if not triplet_settings.keys().isdisjoint(config.candidates):
        neighbours = run(find_neighbours, narrow(run.workspace, prepared.vocabulary, "tfidf.parquet"), config.surrogate)
    for method in sorted(config.candidates, key=lambda method: method not in {"regression", "untrained"}):
        data = training_data(run, prepared, *config.poolings(method))
        if method == "untrained":
            trained[method] = run(train_untrained, data, prepared.networks, config.seed)
        elif method == "regression":
            regression = fit_to_memory(run.workspace, config.regression, data.train_images)
            trained[method] = run(train_regression_head, data, prepared.networks, regression, config.seed)
        else:
            settings = triplet_settings[method].resolved(method)
            beat = score_to_beat(run.workspace, trained, settings) if config.stop_hopeless else None
            trained[method] = run(
                train_triplet_head, data, neighbours, prepared.networks, method, settings, config.seed, beat
            )
    return {method: trained[method] for method in config.candidates}


def training_data(run: Runner, prepared: Prepared, *poolings: PoolingConfig) -> TrainingData:
    """Collect the inputs of a candidate with these poolings."""
    space, collection = run.workspace, prepared.collection
    return TrainingData(
        vocabulary=prepared.vocabulary,
        train_images=narrow(space, collection, "captioned/train.parquet"),
        train_features=prepared.pooled("train", *poolings),
        validation_images=narrow(space, collection, "captioned/validation.parquet"),
        validation_features=prepared.pooled("validation", *poolings),
        validation_captions=narrow(space, collection, "captions/validation.parquet"),
    )


def choose(evaluation: Evaluation, candidates: Iterable[str]) -> str:
    """Return the candidate with the highest NDCG AUC on validation; a tie goes to a trained one."""
    trained_first = sorted(candidates, key=lambda method: method == "untrained")
    return max(trained_first, key=lambda method: evaluation.methods[method].ndcg_auc or 0.0)


def baseline_metrics(evaluation: Evaluation) -> MethodMetrics | None:
    """Return the validation metrics of the best untrained baseline."""
    baseline = best_of(evaluation.methods, "untrained")
    return None if baseline is None else MethodMetrics.of(baseline, evaluation)


def candidate_metrics(method: str, evaluation: Evaluation, seconds: float) -> CandidateMetrics:
    """Collect the validation metrics of a candidate and its differences from the best and from the baseline."""
    summary = evaluation.methods[method]
    return CandidateMetrics(
        **MethodMetrics.of(method, evaluation).model_dump(),
        to_best=summary.to_best,
        to_baseline=summary.gain,
        seconds=seconds,
    )
