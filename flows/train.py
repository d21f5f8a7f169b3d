"""Train and register a model on a captioned collection."""

from collections.abc import Iterable

from flows.config import Config
from flows.results import CandidateMetrics, MethodMetrics, ModelVersion, Network, TrainResult
from flows.run import open_run
from flows.steps import Prepared, prepare, read, report_on
from storage.artifacts import Artifact, narrow, seconds_of
from tasks.caching import Runner
from tasks.collection.task import problem_counts
from tasks.evaluation.task import LABELS, Evaluation, best_of, compare_with_baseline, keep_report
from tasks.model.config import PoolingConfig, load_config
from tasks.registry.task import attach_report, candidate_model, model_card, register_model, run_of
from tasks.surrogate.task import find_neighbours
from tasks.training.inputs import TrainingData
from tasks.training.task import (
    fit_to_memory,
    score_to_beat,
    sound_candidates,
    train_regression_head,
    train_triplet_head,
    train_untrained,
)


def train(
    collection: str | None = None,
    config: Config | None = None,
    workspace: str | None = None,
    images: str | None = None,
    format: str | None = None,
    rehash: bool = False,
    follow_links: bool = False,
    wait: bool = False,
) -> TrainResult:
    """Train the candidates, compare them on validation and register the best.

    Without a collection, the demo's is used; `wait` waits for the workspace. Raises InputError and StorageError.
    """
    config = config or Config()
    with open_run(
        "train",
        workspace=workspace,
        collection=collection,
        images=images,
        runtime=config.runtime,
        rehash=rehash,
        follow_links=follow_links,
        wait=wait,
        new=True,
    ) as run:
        prepared = prepare(run, read(run, format, config), "validation", config)
        trained = train_candidates(run, prepared, config)
        sound, notes = sound_candidates(run.workspace, trained)
        models = {method: candidate_model(run.workspace, artifact) for method, artifact in sound.items()}
        title, labels = "Candidates on the validation split", ", ".join(LABELS[method] for method in models)
        evaluation, report = report_on(run, prepared, models, title, labels, notes, config)
        best = choose(evaluation, models)
        registered = run.action(
            register_model,
            run.workspace,
            run_of(run.workspace, trained[best]),
            best,
            models,
            config.model_dump_json(),
            evaluation.metrics(best),
            model_card(run.workspace, best, models, prepared.collection, report, config),
            prepared.collection,
        )
        run.action(attach_report, run.workspace, registered.run_id, report, "validation")
        return TrainResult(
            run_id=registered.run_id,
            method=best,
            model=ModelVersion(name="scenekin", version=registered.version, aliases=registered.aliases),
            candidates=[
                candidate_metrics(method, evaluation, seconds_of(run.workspace, trained[method])) for method in models
            ],
            baseline=baseline_metrics(evaluation),
            metrics={"validation": evaluation.metrics(best)},
            promoted="champion" in registered.aliases,
            reason=registered.reason,
            warning=compare_with_baseline(evaluation.methods, best),
            network=Network.of(load_config(run.workspace.root / models[best].path)),
            report=str(keep_report(run.workspace, report, f"train-{report.key[:8]}")),
            problem_counts=problem_counts(run.workspace, prepared.collection),
            stages=run.reports,
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


def train_candidates(run: Runner, prepared: Prepared, config: Config) -> dict[str, Artifact]:
    """Train each configured candidate. The fast ones come first, and give the others a score to beat."""
    trained: dict[str, Artifact] = {}
    triplet_settings = config.triplet_settings()
    if not triplet_settings.keys().isdisjoint(config.candidates):
        neighbours = run(find_neighbours, narrow(run.workspace, prepared.vocabulary, "tfidf.parquet"), config.surrogate)
    for method in sorted(config.candidates, key=lambda method: method not in {"regression", "untrained"}):
        data = training_data(run, prepared, *config.poolings(method))
        if method == "untrained":
            trained[method] = run(train_untrained, data, config.backbone, config.seed)
        elif method == "regression":
            regression = fit_to_memory(run.workspace, config.regression, data.train_images)
            trained[method] = run(train_regression_head, data, config.backbone, regression, config.seed)
        else:
            settings = triplet_settings[method].resolved(method)
            beat = score_to_beat(run.workspace, trained, settings) if config.stop_hopeless else None
            trained[method] = run(
                train_triplet_head, data, neighbours, config.backbone, method, settings, config.seed, beat
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
