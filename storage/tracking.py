"""MLflow tracking in the workspace: training runs with their pages, and metrics logged in batches."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mlflow.entities import Dataset, DatasetInput, Metric, Param, RunStatus
from mlflow.tracking import MlflowClient
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NOTE

from storage.atomic import fresh_file
from storage.faults import FaultPoint, reach
from storage.mlflow_store import (
    attach,
    database_errors,
    experiment_id,
    files_of,
    find_run,
    reports_database_errors,
    tracking_client,
)
from storage.workspace import Workspace

FLUSH_SECONDS = 5.0
VERSION = "version"  # the tag of a run whose model is registered
DATASET_DIGEST = 36  # characters that MLflow stores
KEY_SHOWN = 7  # characters of a stage's key in the name of its run


@dataclass(frozen=True)
class RunPage:
    """What MLflow shows of a training run: the method and its label, and the collection it learned from.

    `source` is the collection's path or URL, `digest` that of its training images, `key` that of the training stage.
    """

    method: str
    label: str
    collection: str
    source: str
    digest: str
    key: str

    @property
    def name(self) -> str:
        """The run's name until its model is registered; the key tells several runs of one method apart."""
        return f"{self.label} · {self.collection} · {self.key[:KEY_SHOWN]}"

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

    workspace: Workspace
    client: MlflowClient
    run_id: str
    _pending: list[Metric] = field(default_factory=list)
    _flushed: float = field(default_factory=time.monotonic)

    def params(self, params: Mapping[str, Any]) -> None:
        """Log a nested mapping under dotted names."""
        logged = [Param(name, str(value)[:6000]) for name, value in _flat(params)]
        with database_errors(self.workspace):
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
            with database_errors(self.workspace):
                self.client.log_batch(self.run_id, metrics=self._pending)
        self._pending, self._flushed = [], time.monotonic()


@contextmanager
def training_run(workspace: Workspace, page: RunPage, resumed: Path) -> Iterator[RunLog]:
    """Open a run that ends as FINISHED, as FAILED after an exception, or as KILLED after a signal.

    The file `resumed` stores the run's id, so that a resumed training continues its run.
    """
    log = _start(workspace, page, resumed)
    try:
        yield log
    except BaseException as error:
        _end(log, RunStatus.FAILED if isinstance(error, Exception) else RunStatus.KILLED)
        raise
    _end(log, RunStatus.FINISHED)


@reports_database_errors
def _start(workspace: Workspace, page: RunPage, resumed: Path) -> RunLog:
    client = tracking_client(workspace)
    experiment = experiment_id(client, workspace)
    _close_orphans(client, experiment)
    run_id = _resume(client, resumed, experiment) or client.create_run(experiment, run_name=page.name).info.run_id
    with fresh_file(resumed) as temporary:  # never through a link
        temporary.write_text(run_id, encoding="utf-8")
    for tag, value in page.tags.items():
        client.set_tag(run_id, tag, value)
    client.log_inputs(run_id, datasets=[page.dataset])
    return RunLog(workspace, client, run_id)


def _end(log: RunLog, status: int) -> None:
    log.flush()
    with database_errors(log.workspace):
        log.client.set_terminated(log.run_id, RunStatus.to_string(status))
    reach(FaultPoint.RUN_ENDED, log.workspace.root)


def _resume(client: MlflowClient, resumed: Path, experiment: str) -> str | None:
    """Reopen the run of an interrupted training; None if there is none."""
    try:
        run_id = resumed.read_text(encoding="utf-8")
    except OSError:
        return None
    if not _is_ours(client, run_id, experiment):
        return None
    client.update_run(run_id, status="RUNNING")
    return run_id


def _is_ours(client: MlflowClient, run_id: str, experiment: str) -> bool:
    """Whether there is a run of that id in our experiment."""
    run = find_run(client, run_id)
    return run is not None and run.info.experiment_id == experiment


def _close_orphans(client: MlflowClient, experiment: str) -> None:
    """End the runs that killed processes left RUNNING. The caller holds the workspace's lock, so none is alive."""
    for run in client.search_runs([experiment], "attributes.status = 'RUNNING'"):
        client.set_terminated(run.info.run_id, RunStatus.to_string(RunStatus.KILLED))


@reports_database_errors
def ensure_run(workspace: Workspace, run_id: str, name: str) -> str:
    """Return the run's id, or that of a new run if the tracking store does not have it any more."""
    client = tracking_client(workspace)
    experiment = experiment_id(client, workspace)
    if not _is_ours(client, run_id, experiment):
        run_id = client.create_run(experiment, run_name=name).info.run_id
        client.set_terminated(run_id)
    return run_id


@reports_database_errors
def log_files(workspace: Workspace, run_id: str, folder: Path, name: str, *, replace: bool = True) -> None:
    """Attach the files of a folder to a run, unless it was deleted or, without `replace`, has some of that name.

    Raises StorageError if the run stores its files outside the workspace.
    """
    client = tracking_client(workspace)
    run = find_run(client, run_id)
    if run is not None and (replace or not files_of(run).list_artifacts(name)):
        attach(workspace, run, folder, name)


@reports_database_errors
def log_outcome(workspace: Workspace, run_id: str, metrics: Mapping[str, float], version: int | None) -> None:
    """Log to a run the metrics that it lacks and, if its model won, the version that it is registered as.

    A run that was deleted is passed over.
    """
    client = tracking_client(workspace)
    run = find_run(client, run_id)
    if run is None:
        return
    now = time.time_ns() // 1_000_000
    lacking = [Metric(name, value, now, 0) for name, value in metrics.items() if name not in run.data.metrics]
    client.log_batch(run_id, metrics=lacking)
    if version is not None and VERSION not in run.data.tags:  # a run may have won before
        client.set_tag(run_id, VERSION, str(version))


def _flat(params: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in params.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
