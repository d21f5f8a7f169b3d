"""The model registry: versions of `scenekin` with their aliases, and their folders in the workspace."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import mlflow
import numpy as np
import pandas as pd
from mlflow.entities import Run
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException
from mlflow.models import ModelSignature
from mlflow.models.model import ModelInfo
from mlflow.tracking import MlflowClient
from mlflow.types import ColSpec, Schema, TensorSpec

from storage.errors import StorageError
from storage.faults import FaultPoint, reach
from storage.mlflow_store import attach, check_inside, find_run, is_missing, reports_database_errors, tracking_client
from storage.models import ModelRef
from storage.workspace import Workspace

MODEL = "scenekin"
DIGEST, CANDIDATES, REASON, CONFIG = "digest", "candidates", "reason", "config"
CARD = "model_card.md"
DESCRIPTION = (
    "Image embeddings of scenes, learned from captions. The `champion` is the version that scenekin uses by default; "
    "the `challenger` is the version trained last that did not replace it."
)


@dataclass(frozen=True)
class ModelPackage:
    """What plain MLflow needs to load a model: the file that defines it, the code it imports, an input, libraries."""

    python_model: Path
    code: Path
    input_example: pd.DataFrame
    requirements: tuple[str, ...]
    dimension: int


@dataclass(frozen=True)
class VersionInfo:
    """What the registry stores about a version: its candidates by method, config, model card and tags."""

    candidates: Mapping[str, ModelRef]
    config: str
    card: str
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def all_tags(self) -> dict[str, str]:
        """The tags of the version."""
        digests = {method: candidate.digest for method, candidate in self.candidates.items()}
        return {**self.tags, CANDIDATES: json.dumps(digests), CONFIG: self.config}


@dataclass(frozen=True)
class Registered:
    """A registered version: its model, its aliases, the candidates trained with it, and its collection's name."""

    version: int
    run_id: str
    aliases: tuple[str, ...]
    model: ModelRef
    candidates: Mapping[str, ModelRef]
    reason: str
    config: str
    collection: str = ""


@reports_database_errors
def register(
    workspace: Workspace,
    run_id: str,
    model: ModelRef,
    *,
    info: VersionInfo,
    metrics: Mapping[str, float],
    package: ModelPackage,
) -> Registered:
    """Log the model to its run and register it as a new version: champion if there is none, else challenger."""
    client = tracking_client(workspace)
    if not client.search_registered_models(f"name = '{MODEL}'"):
        client.create_registered_model(MODEL, description=DESCRIPTION)
    if run := find_run(client, run_id):
        check_inside(workspace, run)
    logged = _log_model(workspace, run_id, model, metrics, package)
    tags = {DIGEST: model.digest, **info.all_tags}
    version = client.create_model_version(MODEL, logged.model_uri, run_id, tags=tags, model_id=logged.model_id)
    reach(FaultPoint.MODEL_REGISTERED, workspace.root)
    return _complete(workspace, client, version, info)


@reports_database_errors
def renew_version(workspace: Workspace, model: ModelRef, info: VersionInfo) -> Registered | None:
    """Update the version that this model is registered as; None if it is not registered."""
    client = tracking_client(workspace)
    found = client.search_model_versions(f"name = '{MODEL}'")
    version = next((version for version in found if version.tags.get(DIGEST) == model.digest), None)
    if version is None:
        return None
    for tag, value in info.all_tags.items():
        client.set_model_version_tag(MODEL, version.version, tag, value)
    return _complete(workspace, client, version, info)


def _complete(workspace: Workspace, client: MlflowClient, version: ModelVersion, info: VersionInfo) -> Registered:
    """Name and describe a version, and give it its alias: all that follows its creation, and may be repeated."""
    run = find_run(client, version.run_id)
    if version.description != info.card:
        if run is not None:
            _attach_card(workspace, run, info.card)
        client.update_model_version(MODEL, version.version, description=info.card)
    if run is not None:
        _name_run(client, version, run, info)
    _give_alias(workspace, client, version.version)
    return _registered(workspace, client, client.get_model_version(MODEL, version.version))


def _attach_card(workspace: Workspace, run: Run, card: str) -> None:
    with TemporaryDirectory() as folder:
        Path(folder, CARD).write_text(card, encoding="utf-8")
        attach(workspace, run, Path(folder))


def _name_run(client: MlflowClient, version: ModelVersion, run: Run, info: VersionInfo) -> None:
    """Add the version to the name of its run, and the version's tags to the run's."""
    run_id, tags = run.info.run_id, run.data.tags
    parts = [tags.get("label", MODEL), tags.get("collection", ""), f"v{version.version}"]
    client.update_run(run_id, name=" · ".join(filter(None, parts)))
    for tag, value in info.tags.items():
        client.set_tag(run_id, tag, value)
    for tag in ("method", "collection"):
        if tag in tags:
            client.set_model_version_tag(MODEL, version.version, tag, tags[tag])


def _give_alias(workspace: Workspace, client: MlflowClient, version: str) -> None:
    """Make the version champion if there is none, else challenger if it has no alias yet."""
    aliases = {alias: str(number) for alias, number in client.get_registered_model(MODEL).aliases.items()}
    if "champion" not in aliases:
        alone = len(client.search_model_versions(f"name = '{MODEL}'")) == 1
        alias, reason = "champion", "the first version" if alone else "there was no champion"
    elif str(version) not in aliases.values():
        alias, reason = "challenger", "kept as challenger; not in use"
    elif not client.get_model_version(MODEL, version).tags.get(REASON):  # lost, or never stored
        alias = next(alias for alias, number in aliases.items() if number == str(version))
        reason = "the first version" if str(version) == "1" else "unknown"
    else:
        return
    client.set_model_version_tag(MODEL, version, REASON, reason)
    reach(FaultPoint.REASON_SET, workspace.root)
    client.set_registered_model_alias(MODEL, alias, version)


def _log_model(
    workspace: Workspace, run_id: str, model: ModelRef, metrics: Mapping[str, float], package: ModelPackage
) -> ModelInfo:
    mlflow.set_tracking_uri(workspace.mlflow_uri)
    signature = ModelSignature(
        inputs=Schema([ColSpec("binary", "image")]),
        outputs=Schema([TensorSpec(np.dtype(np.float32), (-1, package.dimension))]),
    )
    with mlflow.start_run(run_id=run_id):
        info: ModelInfo = mlflow.pyfunc.log_model(
            name=MODEL,
            python_model=str(package.python_model),
            artifacts={"model": str(workspace.root / model.path)},
            code_paths=[str(path) for path in sorted(package.code.iterdir())],
            signature=signature,
            input_example=package.input_example,
            pip_requirements=list(package.requirements),
        )
        mlflow.log_metrics(dict(metrics), model_id=info.model_id)
    return info


@reports_database_errors
def find_model(workspace: Workspace, name: str) -> Registered:
    """Return the version of an alias or number. Raises StorageError if there is none."""
    client = tracking_client(workspace)
    try:
        by_number = name.isdecimal()
        version = client.get_model_version(MODEL, name) if by_number else client.get_model_version_by_alias(MODEL, name)
    except MlflowException as error:
        if not is_missing(error):
            raise
        if not client.search_model_versions(f"name = '{MODEL}'"):
            raise StorageError(f"No model has been trained in {workspace.root} yet; run `scenekin train`.") from None
        raise StorageError(
            f"There is no model {name!r} in {workspace.root}; choose an existing alias or version."
        ) from None
    return _registered(workspace, client, client.get_model_version(MODEL, version.version))


def _registered(workspace: Workspace, client: MlflowClient, version: ModelVersion) -> Registered:
    """Read a version back. Whatever the registry lost gets a neutral value, except for the model itself."""
    if DIGEST not in version.tags:
        raise StorageError(
            f"Version {version.version} in {workspace.mlflow_database} does not name its model; "
            "run `scenekin train` again, or name another alias or version."
        )
    model = _kept(workspace, version.tags[DIGEST])
    aliases = client.get_registered_model(MODEL).aliases
    return Registered(
        version=int(version.version),
        run_id=str(version.run_id),
        aliases=tuple(sorted(alias for alias, number in aliases.items() if str(number) == str(version.version))),
        model=model,
        candidates=_candidates(workspace, version.tags.get(CANDIDATES)) or {_method(workspace, model): model},
        reason=version.tags.get(REASON, "unknown"),
        config=version.tags.get(CONFIG, "{}"),
        collection=version.tags.get("collection", ""),
    )


def _candidates(workspace: Workspace, tag: str | None) -> dict[str, ModelRef]:
    try:
        return {method: _kept(workspace, digest) for method, digest in json.loads(tag or "{}").items()}
    except (ValueError, AttributeError):
        return {}


def _method(workspace: Workspace, model: ModelRef) -> str:
    """The method that the model's folder names."""
    try:
        return str(json.loads((workspace.root / model.path / "config.json").read_text(encoding="utf-8"))["method"])
    except (OSError, ValueError, KeyError, TypeError):
        return MODEL


def _kept(workspace: Workspace, digest: str) -> ModelRef:
    return ModelRef(path=(workspace.models / digest).relative_to(workspace.root).as_posix(), digest=digest)
