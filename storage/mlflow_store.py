"""MLflow's database in the workspace: opened, its errors in one sentence, its artifacts kept inside the workspace."""

import os
import shlex
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar
from urllib.parse import unquote, urlparse

os.environ.setdefault("DO_NOT_TRACK", "true")
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")

from mlflow.entities import LifecycleStage, Run
from mlflow.exceptions import MlflowException
from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository
from mlflow.tracking import MlflowClient
from sqlalchemy.exc import SQLAlchemyError

from storage.errors import StorageError
from storage.workspace import Workspace

EXPERIMENT = "scenekin"
MISSING = {"RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"}  # the second is for names that cannot exist
OTHER_VERSION = ("out-of-date database schema", "Can't locate revision")

# Where MLflow stores files of our experiment, by table: the column, its proper value, and which rows are ours.
LOCATIONS = (
    ("experiments", "artifact_location", ":root", "name = :experiment"),
    ("runs", "artifact_uri", ":root || '/' || run_uuid || '/artifacts'", "experiment_id = :id"),
    ("logged_models", "artifact_location", ":root || '/models/' || model_id || '/artifacts'", "experiment_id = :id"),
    (
        *("model_versions", "storage_location"),
        *(":root || '/models/' || substr(source, 9) || '/artifacts'", "source LIKE 'models:/m-%'"),
    ),
)

P = ParamSpec("P")
T = TypeVar("T")


def tracking_client(workspace: Workspace) -> MlflowClient:
    """Return a client of the workspace's tracking store and registry. The caller holds the workspace's lock.

    Raises StorageError if the database is damaged or was written by another version of MLflow.
    """
    with database_errors(workspace):
        _check_readable(workspace.mlflow_database)
        client = MlflowClient(tracking_uri=workspace.mlflow_uri, registry_uri=workspace.mlflow_uri)
        experiment = client.get_experiment_by_name(EXPERIMENT)
        if experiment is not None:
            _keep_inside(workspace, experiment.experiment_id)
    return client


def experiment_id(client: MlflowClient, workspace: Workspace) -> str:
    """Return the id of our experiment, creating it with its artifacts inside the workspace if it is missing."""
    experiment = client.get_experiment_by_name(EXPERIMENT)
    if experiment is not None:
        found: str = experiment.experiment_id
        if experiment.lifecycle_stage == LifecycleStage.DELETED:
            client.restore_experiment(found)
        return found
    created: str = client.create_experiment(EXPERIMENT, artifact_location=workspace.mlflow_artifacts.as_uri())
    return created


def find_run(client: MlflowClient, run_id: str | None) -> Run | None:
    """Return a run; None if it does not exist or was deleted."""
    try:
        run = None if run_id is None else client.get_run(run_id)
    except MlflowException as error:
        if not is_missing(error):
            raise
        return None
    return None if run is None or run.info.lifecycle_stage == LifecycleStage.DELETED else run


def attach(workspace: Workspace, run: Run, folder: Path, name: str | None = None) -> None:
    """Copy the files of a folder to those of a run. Raises StorageError if those lie outside the workspace."""
    check_inside(workspace, run)
    files_of(run).log_artifacts(str(folder), name)


def files_of(run: Run) -> Any:  # without types
    """Return MLflow's access to the files of a run.

    MlflowClient remembers the place of a run by its id alone, even for a copied database.
    """
    return get_artifact_repository(run.info.artifact_uri)


def check_inside(workspace: Workspace, run: Run) -> None:
    """Raise StorageError if files of a run would be written outside the workspace."""
    uri = urlparse(run.info.artifact_uri)
    folder = Path(unquote(uri.path)).resolve()
    if uri.scheme not in ("", "file") or not folder.is_relative_to(workspace.mlflow_artifacts.resolve()):
        raise StorageError(
            f"The run {run.info.run_id} in {workspace.mlflow_database} stores its files outside the workspace, "
            f"in {folder}; nothing was written there. Move the database away to start with an empty registry."
        )


@contextmanager
def database_errors(workspace: Workspace) -> Iterator[None]:
    """Turn errors of MLflow and its database into a StorageError of one sentence."""
    try:
        yield
    except (MlflowException, SQLAlchemyError, sqlite3.Error) as error:
        database, text = workspace.mlflow_database, " ".join(str(error).split())
        if any(sign in text for sign in OTHER_VERSION):
            raise StorageError(
                f"{database} was written by another version of MLflow; copy it, then run `mlflow db upgrade "
                f"{shlex.quote(workspace.mlflow_uri)}`, or install the version of MLflow that wrote it."
            ) from error
        reason = text.partition(" [SQL:")[0].removesuffix(".")
        raise StorageError(
            f"Cannot use MLflow's database {database}: {reason}; restore it from a copy, "
            "or move it away to start with an empty registry."
        ) from error


def reports_database_errors(
    function: Callable[Concatenate[Workspace, P], T],
) -> Callable[Concatenate[Workspace, P], T]:
    """Decorate a function of a workspace with `database_errors`."""

    @wraps(function)
    def wrapped(workspace: Workspace, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with database_errors(workspace):
            return function(workspace, *args, **kwargs)

    return wrapped


def is_missing(error: MlflowException) -> bool:
    """Whether MLflow reports that what was named does not exist, and not that something failed."""
    return error.error_code in MISSING


def _check_readable(database: Path) -> None:
    """Raise sqlite3.Error at once for a file that is no database; MLflow would try to open it for minutes."""
    if database.exists():
        with closing(sqlite3.connect(database)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master")


def _keep_inside(workspace: Workspace, experiment: str) -> None:
    """Let every location of our experiment lie in the workspace, wherever it was copied or moved from.

    MLflow stores absolute paths and trusts them: a copy would write into the original.
    """
    values = {"root": workspace.mlflow_artifacts.as_uri(), "experiment": EXPERIMENT, "id": experiment}
    with closing(sqlite3.connect(workspace.mlflow_database)) as database, database:
        for table, column, proper, ours in LOCATIONS:
            elsewhere = f"{ours} AND {column} IS NOT {proper}"
            if database.execute(f"SELECT 1 FROM {table} WHERE {elsewhere} LIMIT 1", values).fetchone():
                database.execute(f"UPDATE {table} SET {column} = {proper} WHERE {elsewhere}", values)
