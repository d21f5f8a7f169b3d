"""Evaluate a registered model and the candidates trained with it on a split of a collection."""

from collections.abc import Mapping, Sequence
from typing import Literal

from flows.config import registered_settings
from flows.results import EvaluateResult, version_of
from flows.run import open_run
from flows.steps import prepare, read, report_on
from tasks.caching import Runtime
from tasks.collection.task import has_training_captions
from tasks.evaluation.task import LABELS, keep_report
from tasks.registry.task import attach_report, find_registered


def evaluate(
    collection: str | None = None,
    split: Literal["train", "validation", "test"] = "test",
    model: str = "champion",
    workspace: str | None = None,
    images: str | None = None,
    format: str | None = None,
    runtime: Runtime | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    rehash: bool = False,
    follow_links: bool = False,
    wait: bool = False,
) -> EvaluateResult:
    """Evaluate with the settings that the model was trained with.

    Without a collection, the demo's is used. `columns` overrides the column names in CollectionConfig for a collection
    whose columns differ from those of the training collection. `wait` waits for another process to release the
    workspace. Raises InputError and StorageError.
    """
    with open_run(
        "evaluate",
        workspace=workspace,
        collection=collection,
        images=images,
        runtime=runtime or Runtime(),
        rehash=rehash,
        follow_links=follow_links,
        wait=wait,
    ) as run:
        registered = run.action(find_registered, run.workspace, model)
        config = registered_settings(registered.version, registered.config)
        method = registered.method
        version = version_of(registered)
        content = read(run, format, config.with_columns(columns or {}))
        reference = "train" if has_training_captions(run.workspace, content) else split
        prepared = prepare(run, content, split, config, reference)
        evaluation, report = report_on(
            run,
            prepared,
            registered.candidates,
            f"Evaluation on the {split} split",
            f"version {registered.version}, {LABELS.get(method, method)}",
            (),
            config,
            evaluated=method,
            mixed=split != "train",
        )
        run.action(attach_report, run.workspace, registered.run_id, report, split)
        return EvaluateResult(
            model=version,
            method=method,
            split=split,
            **evaluation.model_dump(exclude={"evaluated"}),
            warning=evaluation.doubt,
            report=str(keep_report(run.workspace, report, f"evaluate-{split}-{report.key[:8]}")),
            stages=run.reports,
        )
