"""The model registry: versions of `scenekin`, their folders in the workspace, their aliases."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException
from mlflow.models import ModelSignature
from mlflow.models.model import ModelInfo
from mlflow.tracking import MlflowClient
from mlflow.types import ColSpec, Schema, TensorSpec

from storage.errors import StorageError
from storage.models import ModelRef
from storage.tracking import tracking_client
from storage.workspace import Workspace

MODEL = "scenekin"
DIGEST, CANDIDATES, REASON, CONFIG = "digest", "candidates", "reason", "config"
CARD = "model_card.md"


@dataclass(frozen=True)
class Served:
    """How plain MLflow serves a model: the file that defines it, the code that travels, an input, what it needs."""

    python_model: Path
    code: Path
    input_example: pd.DataFrame
    requirements: tuple[str, ...]
    dimension: int


@dataclass(frozen=True)
class Registered:
    """One registered version: its model, its aliases, and the models trained beside it, by method."""

    version: int
    run_id: str
    aliases: tuple[str, ...]
    model: ModelRef
    candidates: Mapping[str, ModelRef]
    reason: str
    config: str


def renew_version(
    workspace: Workspace, model: ModelRef, *, candidates: Mapping[str, ModelRef], config: str, card: str
) -> Registered | None:
    """The version that this model is registered as, brought up to date with what was trained beside it and how."""
    client = tracking_client(workspace)
    found = client.search_model_versions(f"name = '{MODEL}'")
    matching = [version for version in found if version.tags.get(DIGEST) == model.digest]
    if not matching:
        return None
    version = matching[0].version
    for tag, value in _tags(candidates, config).items():
        client.set_model_version_tag(MODEL, version, tag, value)
    if matching[0].description != card:
        _describe(client, matching[0], card)
    _give_alias(client, version)
    return _registered(workspace, client, client.get_model_version(MODEL, version))


def _tags(candidates: Mapping[str, ModelRef], config: str) -> dict[str, str]:
    digests = {method: candidate.digest for method, candidate in candidates.items()}
    return {CANDIDATES: json.dumps(digests), CONFIG: config}


def _describe(client: MlflowClient, version: ModelVersion, card: str) -> None:
    """The model card with the version's run, and as the version's description."""
    client.log_text(str(version.run_id), card, CARD)
    client.update_model_version(MODEL, version.version, description=card)


def _give_alias(client: MlflowClient, version: str) -> None:
    """Champion where there is none, else challenger where the version has no alias yet."""
    aliases = {alias: str(held) for alias, held in client.get_registered_model(MODEL).aliases.items()}
    if "champion" not in aliases:
        client.set_registered_model_alias(MODEL, "champion", version)
        alone = len(client.search_model_versions(f"name = '{MODEL}'")) == 1
        client.set_model_version_tag(MODEL, version, REASON, "the first version" if alone else "no other was champion")
    elif str(version) not in aliases.values():
        client.set_registered_model_alias(MODEL, "challenger", version)
        client.set_model_version_tag(MODEL, version, REASON, "waits beside the champion")


def register(
    workspace: Workspace,
    run_id: str,
    model: ModelRef,
    *,
    candidates: Mapping[str, ModelRef],
    config: str,
    card: str,
    metrics: Mapping[str, float],
    served: Served,
) -> Registered:
    """Log the model to its run and register it as a new version: champion if it is the first, else challenger."""
    client = tracking_client(workspace)
    try:
        client.create_registered_model(MODEL)
    except MlflowException:
        client.get_registered_model(MODEL)  # it is there already; anything else is raised here
    logged = _log_model(workspace, run_id, model, metrics, served)
    tags = {DIGEST: model.digest, **_tags(candidates, config)}
    version = client.create_model_version(MODEL, logged.model_uri, run_id, tags=tags, model_id=logged.model_id)
    _describe(client, version, card)
    _give_alias(client, version.version)
    return _registered(workspace, client, client.get_model_version(MODEL, version.version))


def _log_model(
    workspace: Workspace, run_id: str, model: ModelRef, metrics: Mapping[str, float], served: Served
) -> ModelInfo:
    mlflow.set_tracking_uri(workspace.mlflow_uri)
    signature = ModelSignature(
        inputs=Schema([ColSpec("binary", "image")]),
        outputs=Schema([TensorSpec(np.dtype(np.float32), (-1, served.dimension))]),
    )
    with mlflow.start_run(run_id=run_id):
        info: ModelInfo = mlflow.pyfunc.log_model(
            name=MODEL,
            python_model=str(served.python_model),
            artifacts={"model": str(workspace.root / model.path)},
            code_paths=[str(path) for path in sorted(served.code.iterdir())],
            signature=signature,
            input_example=served.input_example,
            pip_requirements=list(served.requirements),
        )
        mlflow.log_metrics(dict(metrics), model_id=info.model_id)
    return info


def find_model(workspace: Workspace, name: str) -> Registered:
    """The version of an alias or number. Raises StorageError that says what there is."""
    client = tracking_client(workspace)
    try:
        by_number = name.isdecimal()
        version = client.get_model_version(MODEL, name) if by_number else client.get_model_version_by_alias(MODEL, name)
    except MlflowException:
        raise StorageError(
            f"There is no model {name!r} in {workspace.root}; train one with `scenekin train`, "
            "or name an alias or version that is there."
        ) from None
    return _registered(workspace, client, client.get_model_version(MODEL, version.version))


def _registered(workspace: Workspace, client: MlflowClient, version: ModelVersion) -> Registered:
    aliases = client.get_registered_model(MODEL).aliases
    return Registered(
        version=int(version.version),
        run_id=str(version.run_id),
        aliases=tuple(sorted(alias for alias, held in aliases.items() if str(held) == str(version.version))),
        model=_kept(workspace, version.tags[DIGEST]),
        candidates={
            method: _kept(workspace, digest) for method, digest in json.loads(version.tags[CANDIDATES]).items()
        },
        reason=version.tags[REASON],
        config=version.tags[CONFIG],
    )


def _kept(workspace: Workspace, digest: str) -> ModelRef:
    return ModelRef(path=(workspace.models / digest).relative_to(workspace.root).as_posix(), digest=digest)
