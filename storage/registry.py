"""The model registry: versions of `scenekin` with their aliases, and their folders in the workspace."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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

from storage.errors import NoChampion, StorageError
from storage.faults import FaultPoint, reach
from storage.mlflow_store import (
    attach,
    check_inside,
    files_of,
    find_run,
    is_missing,
    reports_database_errors,
    tracking_client,
)
from storage.models import ModelRef
from storage.tracking import VERSION
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
    """What the registry stores about a version: its candidates by method, config, model card and tags.

    `doubt` is the reason why its quality is not established; a model with a doubt does not become champion.
    """

    candidates: Mapping[str, ModelRef]
    config: str
    card: str
    tags: Mapping[str, str] = field(default_factory=dict)
    doubt: str | None = None

    @property
    def all_tags(self) -> dict[str, str]:
        """The tags of the version."""
        digests = {method: candidate.digest for method, candidate in self.candidates.items()}
        return {**self.tags, CANDIDATES: json.dumps(digests), CONFIG: self.config}


@dataclass(frozen=True)
class Registered:
    """A registered version: its model, its aliases, the candidates trained with it, and its collection's name.

    `is_new` means that it has just been registered.
    """

    version: int
    run_id: str
    aliases: tuple[str, ...]
    model: ModelRef
    candidates: Mapping[str, ModelRef]
    reason: str
    config: str
    collection: str = ""
    is_new: bool = False

    @property
    def method(self) -> str:
        """The method of the model."""
        return next((method for method, model in self.candidates.items() if model == self.model), MODEL)


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
    """Log the model to its run and register it as a new version.

    It becomes champion if there is none and its quality is not in doubt, else challenger.
    """
    client = tracking_client(workspace)
    if not client.search_registered_models(f"name = '{MODEL}'"):
        client.create_registered_model(MODEL, description=DESCRIPTION)
    if run := find_run(client, run_id):
        check_inside(workspace, run)
    logged = _log_model(workspace, run_id, model, metrics, package)
    tags = {DIGEST: model.digest, **info.all_tags}
    version = client.create_model_version(MODEL, logged.model_uri, run_id, tags=tags, model_id=logged.model_id)
    reach(FaultPoint.MODEL_REGISTERED, workspace.root)
    return replace(_complete(workspace, client, version, info), is_new=True)


@reports_database_errors
def known_version(workspace: Workspace, model: ModelRef, info: VersionInfo) -> Registered | None:
    """Return the version that this model is registered as with these candidates; None if there is none.

    With other candidates it gets a version of its own, by which they can be evaluated. Nothing that is stored about a
    version is changed; what an interrupted registration left out is added.
    """
    client = tracking_client(workspace)
    found = client.search_model_versions(f"name = '{MODEL}'")
    ours = {method: candidate.digest for method, candidate in info.candidates.items()}
    version = next(
        (
            each
            for each in found
            if each.tags.get(DIGEST) == model.digest and _digests(each.tags.get(CANDIDATES)) in ({}, ours)
        ),
        None,
    )
    if version is None:
        return None
    for tag, value in info.all_tags.items():
        if tag not in version.tags:
            client.set_model_version_tag(MODEL, version.version, tag, value)
    return _complete(workspace, client, version, info)


def _complete(workspace: Workspace, client: MlflowClient, version: ModelVersion, info: VersionInfo) -> Registered:
    """Name and describe a version, and give it its alias: all that follows its creation, and may be repeated."""
    run = find_run(client, version.run_id)
    if not version.description:
        if run is not None:
            _attach_card(workspace, run, info.card)
        client.update_model_version(MODEL, version.version, description=info.card)
    if run is not None:
        _name_run(client, version, run, info)
    _give_alias(workspace, client, version.version, info.doubt)
    return _registered(workspace, client, client.get_model_version(MODEL, version.version))


def _attach_card(workspace: Workspace, run: Run, card: str) -> None:
    """Store the card with the run, unless it has that of an earlier version with the same model."""
    if any(file.path == CARD for file in files_of(run).list_artifacts()):
        return
    with TemporaryDirectory() as folder:
        Path(folder, CARD).write_text(card, encoding="utf-8")
        attach(workspace, run, Path(folder))


def _name_run(client: MlflowClient, version: ModelVersion, run: Run, info: VersionInfo) -> None:
    """Add the version to the name and the tags of its run, unless that has those of an earlier one, and copy tags."""
    run_id, tags = run.info.run_id, run.data.tags
    parts = [tags.get("label", MODEL), tags.get("collection", ""), f"v{version.version}"]
    if tags.get(VERSION, str(version.version)) == str(version.version):
        client.update_run(run_id, name=" · ".join(filter(None, parts)))
        client.set_tag(run_id, VERSION, str(version.version))
    for tag, value in info.tags.items():
        if tag not in tags:
            client.set_tag(run_id, tag, value)
    for tag in ("method", "collection"):
        if tag in tags:
            client.set_model_version_tag(MODEL, version.version, tag, tags[tag])


def _give_alias(workspace: Workspace, client: MlflowClient, version: str, doubt: str | None) -> None:
    """Make the version champion if there is none and no doubt about it, else challenger if it has no alias yet."""
    aliases = {alias: str(number) for alias, number in client.get_registered_model(MODEL).aliases.items()}
    versions = client.search_model_versions(f"name = '{MODEL}'")
    if "champion" not in aliases and doubt is None:
        alone = len(versions) == 1
        alias, reason = "champion", "the first version" if alone else "there was no champion"
    elif str(version) not in aliases.values():
        alias, reason = "challenger", _reason_of_challenger(versions, version, doubt)
    elif not client.get_model_version(MODEL, version).tags.get(REASON):  # lost, or never stored
        alias = next(alias for alias, number in aliases.items() if number == str(version))
        reason = "the first version" if str(version) == "1" else "unknown"
    else:
        return
    client.set_model_version_tag(MODEL, version, REASON, reason)
    reach(FaultPoint.REASON_SET, workspace.root)
    client.set_registered_model_alias(MODEL, alias, version)
    if alias == "champion" and aliases.get("challenger") == str(version):
        client.delete_registered_model_alias(MODEL, "challenger")


def _reason_of_challenger(versions: Sequence[ModelVersion], version: str, doubt: str | None) -> str:
    digest = {str(each.version): each.tags.get(DIGEST) for each in versions}
    twins = sorted(
        int(number) for number in digest if digest[number] == digest[str(version)] and number != str(version)
    )
    if twins:
        return f"same model as version {twins[0]}, beside other candidates"
    return f"not promoted, its quality is not established: {doubt}" if doubt else "kept as challenger; not in use"


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
            raise StorageError(
                f"No model has been trained in {workspace.root} yet; run `scenekin train`, or index without captions "
                "and words: `scenekin index --untrained`."
            ) from None
        if name == "champion":
            raise NoChampion(
                f"No model in {workspace.root} is in use yet: none became champion; name another alias or a version."
            ) from None
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
    return {method: _kept(workspace, digest) for method, digest in _digests(tag).items()}


def _digests(tag: str | None) -> dict[str, str]:
    """The digests of a version's candidates by method; none if they were lost."""
    try:
        return {str(method): str(digest) for method, digest in json.loads(tag or "{}").items()}
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
