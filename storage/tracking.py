"""MLflow tracking in the workspace: runs that end as what they were, metrics logged in batches."""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("DO_NOT_TRACK", "true")
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")

from mlflow.entities import Metric, Param, RunStatus
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

from storage.errors import StorageError
from storage.workspace import Workspace

EXPERIMENT = "scenekin"
FLUSH_SECONDS = 5.0


def tracking_client(workspace: Workspace) -> MlflowClient:
    """A client of the workspace's tracking store and registry. Raises StorageError where its file is no database."""
    database = workspace.root / "mlflow.db"
    if database.exists() and database.stat().st_size and database.open("rb").read(6) != b"SQLite":
        raise StorageError(f"{database} is damaged; move it away, and runs and models will be registered anew.")
    return MlflowClient(tracking_uri=workspace.mlflow_uri, registry_uri=workspace.mlflow_uri)


@dataclass
class RunLog:
    """One run in progress; metrics wait for a batch, since each write is a transaction."""

    client: MlflowClient
    run_id: str
    _waiting: list[Metric] = field(default_factory=list)
    _flushed: float = field(default_factory=time.monotonic)

    def params(self, params: Mapping[str, Any]) -> None:
        """Log a nested mapping under dotted names."""
        logged = [Param(name, str(value)[:6000]) for name, value in _flat(params)]
        self.client.log_batch(self.run_id, params=logged)

    def metrics(self, metrics: Mapping[str, float], step: int = 0) -> None:
        """Log metrics at a step."""
        now = time.time_ns() // 1_000_000
        self._waiting += [Metric(name, value, now, step) for name, value in metrics.items()]
        if time.monotonic() - self._flushed > FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        if self._waiting:
            self.client.log_batch(self.run_id, metrics=self._waiting)
        self._waiting, self._flushed = [], time.monotonic()


@contextmanager
def training_run(workspace: Workspace, name: str, resumed: Path) -> Iterator[RunLog]:
    """A run that ends FINISHED, FAILED by an exception or KILLED by a signal; `resumed` remembers its id."""
    client = tracking_client(workspace)
    experiment = _experiment_id(client, workspace)
    _close_orphans(client, experiment)
    run_id = _known_run(client, resumed) or client.create_run(experiment, run_name=name).info.run_id
    resumed.write_text(run_id)
    log = RunLog(client, run_id)
    try:
        yield log
    except BaseException as error:
        log.flush()
        killed = not isinstance(error, Exception)
        client.set_terminated(run_id, RunStatus.to_string(RunStatus.KILLED if killed else RunStatus.FAILED))
        raise
    log.flush()
    client.set_terminated(run_id, RunStatus.to_string(RunStatus.FINISHED))


def _known_run(client: MlflowClient, resumed: Path) -> str | None:
    try:
        run_id = resumed.read_text()
        client.update_run(run_id, status="RUNNING")
    except (OSError, MlflowException):
        return None
    return run_id


def _experiment_id(client: MlflowClient, workspace: Workspace) -> str:
    """The id of our experiment, made with its artifacts inside the workspace where it is absent."""
    experiment = client.get_experiment_by_name(EXPERIMENT)
    if experiment is not None:
        found: str = experiment.experiment_id
        return found
    created: str = client.create_experiment(EXPERIMENT, artifact_location=workspace.mlflow_artifacts.as_uri())
    return created


def _close_orphans(client: MlflowClient, experiment: str) -> None:
    """End the runs that a killed process left RUNNING; whoever trains holds the workspace's lock, so none is alive."""
    for run in client.search_runs([experiment], "attributes.status = 'RUNNING'"):
        client.set_terminated(run.info.run_id, RunStatus.to_string(RunStatus.KILLED))


def known_run(workspace: Workspace, run_id: str, name: str) -> str:
    """The run's id, or that of a new run where the tracking store does not know it any more."""
    client = tracking_client(workspace)
    try:
        client.get_run(run_id)
    except MlflowException:
        run_id = client.create_run(_experiment_id(client, workspace), run_name=name).info.run_id
        client.set_terminated(run_id)
    return run_id


def log_files(workspace: Workspace, run_id: str, folder: Path, name: str) -> None:
    """Attach a folder's files to a run."""
    tracking_client(workspace).log_artifacts(run_id, str(folder), name)


def _flat(params: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in params.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
