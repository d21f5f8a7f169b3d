"""Train the candidates of a configuration, and choose the best."""

from collections.abc import Iterable
from dataclasses import replace

from flows.config import FINE_TUNED, Config
from flows.results import CandidateMetrics, MethodMetrics
from flows.steps import Prepared, extract
from storage.artifacts import Artifact, narrow
from tasks.caching import Runner
from tasks.evaluation.task import Evaluation, best_of
from tasks.features.config import FeaturesConfig
from tasks.features.task import features_of
from tasks.model.config import PoolingConfig, joined
from tasks.surrogate.task import find_neighbours
from tasks.training.config import GAP
from tasks.training.inputs import TrainingData
from tasks.training.task import (
    finetune,
    finetuned_weights,
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
        source = prepared_for(run, prepared, method, config)
        data = training_data(run, source, *config.poolings(method))
        match method:
            case "untrained":
                trained[method] = run(train_untrained, data, prepared.networks, config.seed)
            case "regression" | "finetuned" | "joined":
                regression = fit_to_memory(run.workspace, config.regression, data.train_images)
                trained[method] = run(train_regression_head, data, source.networks, regression, config.seed, method)
            case _:
                settings = triplet_settings[method].resolved(method)
                networks = joined(prepared.networks, settings.pooling)
                beat = score_to_beat(run.workspace, trained, settings) if config.stop_hopeless else None
                trained[method] = run(
                    train_triplet_head, data, neighbours, networks, method, settings, config.seed, beat
                )
    return {method: trained[method] for method in config.candidates}


def prepared_for(run: Runner, prepared: Prepared, method: str, config: Config) -> Prepared:
    """Return the features that a candidate is trained on: of a network fine-tuned first, if it asks so."""
    if method not in FINE_TUNED:
        return prepared
    (frozen,) = features_of(config.fine_tuned_backbones(), (GAP,), beside=config.backbone)
    data = training_data(run, with_features(run, prepared, frozen), GAP)
    settings = config.finetuning.model_copy(update={"backbone": None})
    weights = finetuned_weights(run.workspace, run(finetune, data, frozen.network, settings, config.seed))
    backbone = frozen.network.backbone.model_copy(update={"weights": weights})
    network = frozen.network.model_copy(update={"backbone": backbone, "finetuned": True})
    tuned = with_features(run, prepared, FeaturesConfig(network=network, poolings=config.poolings(method)))
    return tuned if method == "finetuned" else prepared.beside(tuned)


def with_features(run: Runner, prepared: Prepared, described: FeaturesConfig) -> Prepared:
    """Return the prepared collection with other features in the place of its own."""
    features = {part: extract(run, prepared.collection, part, (described,)) for part in prepared.features}
    return replace(prepared, described=(described,), features=features)


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
