"""Train and register a model on a captioned collection."""

from collections.abc import Mapping

from flows.candidates import baseline_metrics, candidate_metrics, choose, train_candidates
from flows.config import FINE_TUNED, Config
from flows.results import Network, TrainResult, version_of
from flows.run import open_run
from flows.steps import Prepared, prepare, read, report_on
from storage.artifacts import Artifact, seconds_of
from storage.models import ModelRef
from tasks.caching import Runner
from tasks.collection.task import problem_counts
from tasks.evaluation.task import (
    LABELS,
    Difference,
    Evaluation,
    compare_models,
    compare_with_baseline,
    keep_report,
)
from tasks.model.config import load_config
from tasks.registry.task import (
    Registered,
    attach_report,
    candidate_model,
    log_candidates,
    model_card,
    other_champion,
    register_model,
    run_of,
)
from tasks.training.task import finetune, fit_on_half, sound_candidates

KNOWN = "same model and candidates as before; nothing new was registered"


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
        runs = {method: run_of(run.workspace, artifact) for method, artifact in sound.items()}
        registered = register_best(run, prepared, best, models, runs, evaluation, report, config)
        champion = other_champion(run.workspace, registered)
        return TrainResult(
            run_id=registered.run_id,
            method=best,
            model=version_of(registered),
            candidates=[
                candidate_metrics(method, evaluation, training_seconds(run, method, artifact))
                for method, artifact in sound.items()
            ],
            baseline=baseline_metrics(evaluation),
            half=fit_on_half(run.workspace, trained[best]),
            chance=evaluation.methods["random"].ndcg_auc,
            metrics={"validation": evaluation.metrics(best)},
            promoted="champion" in registered.aliases,
            reason=registered.reason if registered.is_new else KNOWN,
            champion=None if champion is None else champion.version,
            to_champion=compare_with_champion(run, prepared, registered, champion, config.seed),
            warning=compare_with_baseline(evaluation.methods, best),
            networks=Network.all_of(load_config(run.workspace.root / models[best].path)),
            report=str(keep_report(run.workspace, report, f"train-{report.key[:8]}")),
            problem_counts=problem_counts(run.workspace, prepared.collection),
            stages=run.reports,
        )


def training_seconds(run: Runner, method: str, trained: Artifact) -> float:
    """Return the seconds that training a candidate took, without features but with the fine-tuning it builds on."""
    tuning = run.seconds.get(finetune.label, 0.0) if method in FINE_TUNED else 0.0
    return tuning + seconds_of(run.workspace, trained)


def register_best(
    run: Runner,
    prepared: Prepared,
    best: str,
    models: Mapping[str, ModelRef],
    runs: Mapping[str, str],
    evaluation: Evaluation,
    report: Artifact,
    config: Config,
) -> Registered:
    """Register the best candidate and log to MLflow how all of them did."""
    space, metrics = run.workspace, {method: evaluation.metrics(method) for method in models}
    registered = run.action(
        register_model,
        space,
        runs[best],
        best,
        models,
        config.model_dump_json(),
        metrics[best],
        model_card(space, best, models, prepared.collection, report, config),
        prepared.collection,
        evaluation.doubt,
    )
    run.action(attach_report, space, registered.run_id, report, "validation", replace=False)
    run.action(log_candidates, space, runs, metrics, best, registered.version)
    return registered


def compare_with_champion(
    run: Runner, prepared: Prepared, registered: Registered, champion: Registered | None, seed: int
) -> Difference | None:
    """Return the difference between a new model and the champion; None if they cannot be compared."""
    if champion is None:
        return None
    features = prepared.features[prepared.split]
    return run.action(
        compare_models,
        run.workspace,
        prepared.collection,
        features,
        prepared.split,
        registered.model,
        champion.model,
        seed,
    )
