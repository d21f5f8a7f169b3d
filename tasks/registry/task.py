"""The tasks of the model registry: not cached, but idempotent by the digest of the model."""

import json
from collections.abc import Mapping
from contextlib import suppress

from pydantic import BaseModel

from storage.artifacts import Artifact, folder_of
from storage.errors import NoChampion
from storage.models import ModelRef, refer_to_model, sound_model
from storage.registry import Registered, find_model
from storage.tracking import log_files, log_outcome
from storage.workspace import Workspace

__all__ = [
    "Registered",
    "attach_report",
    "candidate_model",
    "find_registered",
    "log_candidates",
    "model_card",
    "other_champion",
    "register_model",
    "run_of",
]


def candidate_model(workspace: Workspace, training: Artifact) -> ModelRef:
    """Return the model written by a training stage."""
    return refer_to_model(workspace, folder_of(workspace, training) / "model")


def run_of(workspace: Workspace, training: Artifact) -> str:
    """Return the id of a training stage's MLflow run."""
    run_id: str = json.loads((folder_of(workspace, training) / "training.json").read_text(encoding="utf-8"))["run_id"]
    return run_id


def model_card(
    workspace: Workspace,
    best: str,
    candidates: Mapping[str, ModelRef],
    collection: Artifact,
    report: Artifact,
    config: BaseModel,
) -> str:
    """Write the best candidate's card from its training data, the validation report and the settings."""
    from tasks.registry.stage import model_card as run_card

    return run_card(workspace, best, candidates, collection, report, config)


def find_registered(workspace: Workspace, name: str) -> Registered:
    """Find a version by alias or number and verify its model. Raises StorageError."""
    registered = find_model(workspace, name)
    sound_model(workspace, registered.model)
    return registered


def other_champion(workspace: Workspace, registered: Registered) -> Registered | None:
    """Return the version in use; None if there is none, or if it is the same model."""
    with suppress(NoChampion):
        champion = find_model(workspace, "champion")
        return None if champion.model == registered.model else champion
    return None


def register_model(
    workspace: Workspace,
    run_id: str,
    best: str,
    candidates: Mapping[str, ModelRef],
    config: str,
    metrics: Mapping[str, float],
    card: str,
    collection: Artifact,
    doubt: str | None = None,
) -> Registered:
    """Register the best candidate, or return its existing version; all candidates are kept in the workspace.

    `doubt` is the reason why its quality is not established; a model with a doubt does not become champion.
    """
    from tasks.registry.stage import register_model as run_registration

    return run_registration(workspace, run_id, best, candidates, config, metrics, card, collection, doubt)


def attach_report(workspace: Workspace, run_id: str, report: Artifact, split: str, *, replace: bool = True) -> None:
    """Log the report on a split to a training run; without `replace`, an earlier one stays."""
    log_files(workspace, run_id, folder_of(workspace, report), f"report/{split}", replace=replace)


def log_candidates(
    workspace: Workspace, runs: Mapping[str, str], metrics: Mapping[str, Mapping[str, float]], best: str, version: int
) -> None:
    """Log every candidate's validation metrics to its run, and the registered version to that of the best."""
    for method, run_id in runs.items():
        log_outcome(workspace, run_id, metrics[method], version if method == best else None)
