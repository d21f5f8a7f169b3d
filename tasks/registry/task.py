"""The tasks of the model registry: not cached, but idempotent by the digest of the model."""

import json
from collections.abc import Mapping

from pydantic import BaseModel

from storage.artifacts import Artifact, folder_of
from storage.models import ModelRef, refer_to_model, sound_model
from storage.registry import Registered, find_model
from storage.tracking import log_files
from storage.workspace import Workspace


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


def register_model(
    workspace: Workspace,
    run_id: str,
    best: str,
    candidates: Mapping[str, ModelRef],
    config: str,
    metrics: Mapping[str, float],
    card: str,
    collection: Artifact,
) -> Registered:
    """Register the best candidate, or return its existing version; all candidates are kept in the workspace."""
    from tasks.registry.stage import register_model as run_registration

    return run_registration(workspace, run_id, best, candidates, config, metrics, card, collection)


def attach_report(workspace: Workspace, run_id: str, report: Artifact, split: str) -> None:
    """Log the report on a split to a training run."""
    log_files(workspace, run_id, folder_of(workspace, report), f"report/{split}")
