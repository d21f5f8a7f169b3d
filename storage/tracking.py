"""MLflow tracking in the workspace: training runs with their pages, and metrics logged in batches."""

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("DO_NOT_TRACK", "true")
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")

from mlflow.entities import Dataset, DatasetInput, Metric, Param, RunStatus
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NOTE

from storage.errors import StorageError
from storage.faults import FaultPoint, reach
from storage.workspace import Workspace

EXPERIMENT = "scenekin"
FLUSH_SECONDS = 5.0
DATASET_DIGEST = 36  # characters that MLflow stores


@dataclass(frozen=True)
class RunPage:
    """What MLflow shows of a training run: the method and its label, and the collection it learned from.

    `source` is the collection's path or URL, `digest` that of its training images.
    """

    method: str
    label: str
    collection: str
    source: str
    digest: str

    @property
    def name(self) -> str:
        """The run's name until its model is registered."""
        return f"{self.label} · {self.collection}"

    @property
    def tags(self) -> dict[str, str]:
        """Tags to filter runs by, and the description."""
        note = f"Training of {self.label} on the collection {self.collection}."
        return {"method": self.method, "label": self.label, "collection": self.collection, MLFLOW_RUN_NOTE: note}

    @property
    def dataset(self) -> DatasetInput:
        """The collection as MLflow's dataset of the run."""
        source = json.dumps({"uri": self.source})
        source_type = "local" if "://" not in self.source else self.source.partition("://")[0]
        return DatasetInput(Dataset(self.collection[:500], self.digest[:DATASET_DIGEST], source_type, source), tags=[])


@dataclass
class RunLog:
    """A run in progress. Metrics are collected and written in batches, since each write is a transaction."""

    client: MlflowClient
    run_id: str
    _pending: list[Metric] = field(default_factory=list)
    _flushed: float = field(default_factory=time.monotonic)

    def params(self, params: Mapping[str, Any]) -> None:
        """Log a nested mapping under dotted names."""
        logged = [Param(name, str(value)[:6000]) for name, value in _flat(params)]
        self.client.log_batch(self.run_id, params=logged)

    def metrics(self, metrics: Mapping[str, float], step: int = 0) -> None:
        """Log metrics at a step."""
        now = time.time_ns() // 1_000_000
        self._pending += [Metric(name, value, now, step) for name, value in metrics.items()]
        if time.monotonic() - self._flushed > FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write the pending metrics."""
        if self._pending:
            self.client.log_batch(self.run_id, metrics=self._pending)
        self._pending, self._flushed = [], time.monotonic()


def tracking_client(workspace: Workspace) -> MlflowClient:
    """Return a client of the workspace's tracking store and registry. Raises StorageError if its file is damaged."""
    database = workspace.root / "mlflow.db"
    if database.exists():
        with database.open("rb") as stream:
            head = stream.read(6)
        if head and head != b"SQLite":
            raise StorageError(f"{database} is damaged; move it away to start with an empty registry.")
    return MlflowClient(tracking_uri=workspace.mlflow_uri, registry_uri=workspace.mlflow_uri)


@contextmanager
def training_run(workspace: Workspace, page: RunPage, resumed: Path) -> Iterator[RunLog]:
    """Open a run that ends as FINISHED, as FAILED after an exception, or as KILLED after a signal.

    The file `resumed` stores the run's id, so that a resumed training continues its run.
    """
    client = tracking_client(workspace)
    experiment = _experiment_id(client, workspace)
    _close_orphans(client, experiment)
    run_id = _resume(client, resumed) or client.create_run(experiment, run_name=page.name).info.run_id
    resumed.write_text(run_id)
    for tag, value in page.tags.items():
        client.set_tag(run_id, tag, value)
    client.log_inputs(run_id, datasets=[page.dataset])
    log = RunLog(client, run_id)
    try:
        yield log
    except BaseException as error:
        _end(workspace, log, RunStatus.FAILED if isinstance(error, Exception) else RunStatus.KILLED)
        raise
    _end(workspace, log, RunStatus.FINISHED)


def _end(workspace: Workspace, log: RunLog, status: int) -> None:
    log.flush()
    log.client.set_terminated(log.run_id, RunStatus.to_string(status))
    reach(FaultPoint.RUN_ENDED, workspace.root)


def _resume(client: MlflowClient, resumed: Path) -> str | None:
    """Reopen the run of an interrupted training; None if there is none."""
    try:
        run_id = resumed.read_text()
        client.update_run(run_id, status="RUNNING")
    except (OSError, MlflowException):
        return None
    return run_id


def _experiment_id(client: MlflowClient, workspace: Workspace) -> str:
    """Return the id of our experiment, creating it with its artifacts inside the workspace if it is missing."""
    experiment = client.get_experiment_by_name(EXPERIMENT)
    if experiment is not None:
        found: str = experiment.experiment_id
        return found
    created: str = client.create_experiment(EXPERIMENT, artifact_location=workspace.mlflow_artifacts.as_uri())
    return created


def _close_orphans(client: MlflowClient, experiment: str) -> None:
    """End the runs that killed processes left RUNNING. The caller holds the workspace's lock, so none is alive."""
    for run in client.search_runs([experiment], "attributes.status = 'RUNNING'"):
        client.set_terminated(run.info.run_id, RunStatus.to_string(RunStatus.KILLED))


def ensure_run(workspace: Workspace, run_id: str, name: str) -> str:
    """Return the run's id, or that of a new run if the tracking store does not have it any more."""
    client = tracking_client(workspace)
    try:
        client.get_run(run_id)
    except MlflowException:
        run_id = client.create_run(_experiment_id(client, workspace), run_name=name).info.run_id
        client.set_terminated(run_id)
    return run_id


def log_files(workspace: Workspace, run_id: str, folder: Path, name: str) -> None:
    """Attach the files of a folder to a run."""
    tracking_client(workspace).log_artifacts(run_id, str(folder), name)


def _flat(params: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in params.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
