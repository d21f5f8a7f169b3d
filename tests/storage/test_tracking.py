import math
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from mlflow.entities import Run
from mlflow.tracking import MlflowClient

from storage import tracking
from storage.faults import FaultPoint, inject
from storage.mlflow_store import tracking_client
from storage.tracking import RunPage, log_files, training_run
from storage.workspace import Workspace

PAGE = RunPage("v_v", "(V,V)", "photos", "/archive/photos", "0123456789" * 7, "89abcdef" * 4)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("workspace"))


@pytest.fixture
def run_id(tmp_path: Path) -> Path:
    """Where a run's id is remembered."""
    return tmp_path / "run_id"


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many metrics went to MLflow in each call."""
    sizes: list[int] = []
    write = MlflowClient.log_batch

    def log_batch(client: MlflowClient, run: str, metrics: object = (), **others: object) -> object:
        sizes.extend([len(metrics)] if metrics else [])  # type: ignore[arg-type]
        return write(client, run, metrics, **others)  # type: ignore[arg-type]

    monkeypatch.setattr(MlflowClient, "log_batch", log_batch)
    return sizes


def run_of(workspace: Workspace, file: Path) -> Run:
    return tracking_client(workspace).get_run(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("error", "status"),
    [(None, "FINISHED"), (ValueError, "FAILED"), (KeyboardInterrupt, "KILLED"), (SystemExit, "KILLED")],
)
def test_a_run_ends_as_what_it_was_with_all_its_metrics(
    workspace: Workspace, run_id: Path, error: type[BaseException] | None, status: str
) -> None:
    def work() -> None:
        with training_run(workspace, PAGE, run_id) as log:
            assert run_of(workspace, run_id).info.status == "RUNNING"
            log.metrics({"loss": 0.5}, 1)
            log.metrics({"loss": 0.25}, 2)
            if error is not None:
                raise error

    if error is None:
        work()
    else:
        with pytest.raises(error):
            work()
    run = run_of(workspace, run_id)
    assert (run.info.status, run.info.run_name) == (status, "(V,V) · photos · 89abcde")
    assert run.info.end_time is not None
    history = tracking_client(workspace).get_metric_history(run.info.run_id, "loss")
    assert [(metric.step, metric.value) for metric in history] == [(1, 0.5), (2, 0.25)]


def test_everything_lies_in_the_workspace(workspace: Workspace, run_id: Path, tmp_path: Path) -> None:
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "report.html").write_text("figures")
    with training_run(workspace, PAGE, run_id) as log:
        log_files(workspace, log.run_id, tmp_path / "report", "report")
    stored = list(workspace.mlflow_artifacts.rglob("report.html"))
    assert [file.read_text() for file in stored] == ["figures"]
    assert run_of(workspace, run_id).info.artifact_uri.startswith(workspace.mlflow_artifacts.as_uri())


def test_a_resumed_run_keeps_its_id_and_its_metrics(workspace: Workspace, run_id: Path) -> None:
    def work(step: int, fails: bool) -> str:
        with training_run(workspace, PAGE, run_id) as log:
            assert run_of(workspace, run_id).info.status == "RUNNING"
            log.params({"training": {"margin": 0.1}})
            log.metrics({"loss": 1 / step}, step)
            if fails:
                raise ValueError("stopped")
        return log.run_id

    with pytest.raises(ValueError, match="stopped"):
        work(1, fails=True)
    first = run_id.read_text(encoding="utf-8")
    assert work(2, fails=False) == first
    history = tracking_client(workspace).get_metric_history(first, "loss")
    assert [metric.step for metric in history] == [1, 2]
    assert run_of(workspace, run_id).info.status == "FINISHED"


@pytest.mark.parametrize("remembered", ["0" * 32, "", "not an id"])
def test_a_run_that_is_not_there_is_made_anew(workspace: Workspace, run_id: Path, remembered: str) -> None:
    run_id.write_text(remembered, encoding="utf-8")
    with training_run(workspace, PAGE, run_id) as log:
        assert log.run_id != remembered
    assert run_of(workspace, run_id).info.status == "FINISHED"


def test_a_run_whose_process_was_killed_is_closed_by_the_next(
    workspace: Workspace, run_id: Path, tmp_path: Path
) -> None:
    script = f"""
import time
from pathlib import Path
from storage.tracking import RunPage, training_run
from storage.workspace import Workspace

with training_run(Workspace(Path({str(workspace.root)!r})), {PAGE!r}, Path({str(run_id)!r})):
    print("training", flush=True)
    time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "training\n"
        process.send_signal(signal.SIGKILL)
    assert run_of(workspace, run_id).info.status == "RUNNING"
    with training_run(workspace, PAGE, tmp_path / "other"):
        assert run_of(workspace, run_id).info.status == "KILLED"
        assert run_of(workspace, tmp_path / "other").info.status == "RUNNING"


def test_metrics_are_written_in_batches(
    workspace: Workspace, run_id: Path, batches: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with training_run(workspace, PAGE, run_id) as log:
        for step in range(700):
            log.metrics({"loss": step, "spread": 1 / (1 + step), "rate": 0.1}, step)
        monkeypatch.setattr(tracking, "FLUSH_SECONDS", 0.0)
        time.sleep(0.01)
        log.metrics({"loss": 700.0}, 700)
        log.metrics({"loss": 701.0}, 701)
    assert sum(batches) == 2102
    assert len(batches) < 8
    assert len(tracking_client(workspace).get_metric_history(log.run_id, "loss")) == 702


def test_settings_get_dotted_names_and_any_length(workspace: Workspace, run_id: Path) -> None:
    long = {f"setting_{number}": number for number in range(120)}
    settings = {"seed": 0, "training": {"pooling": {"kind": "gap"}, "text": "x" * 9000}, "more": long, "none": None}
    with training_run(workspace, PAGE, run_id) as log:
        log.params(settings)
        log.metrics({"undefined": math.nan})
    logged = run_of(workspace, run_id).data.params
    assert (logged["seed"], logged["training.pooling.kind"], logged["none"]) == ("0", "gap", "None")
    assert logged["training.text"] == "x" * 6000
    assert len(logged) == 124


def test_a_run_says_what_was_trained_on_what(workspace: Workspace, run_id: Path) -> None:
    for _ in range(2):  # a resumed run too
        with training_run(workspace, PAGE, run_id):
            pass
    run = run_of(workspace, run_id)
    tags = {name: run.data.tags[name] for name in ("method", "label", "collection", "mlflow.note.content")}
    note = "Training of (V,V) on the collection photos."
    assert tags == {"method": "v_v", "label": "(V,V)", "collection": "photos", "mlflow.note.content": note}
    (used,) = run.inputs.dataset_inputs
    assert (used.dataset.name, used.dataset.digest) == ("photos", PAGE.digest[:36])
    assert (used.dataset.source_type, used.dataset.source) == ("local", '{"uri": "/archive/photos"}')


def test_an_interrupt_once_a_run_has_ended_leaves_it_ended(workspace: Workspace, run_id: Path) -> None:
    def interrupt(_: Path) -> None:
        raise KeyboardInterrupt

    with (
        inject(FaultPoint.RUN_ENDED, interrupt),
        pytest.raises(KeyboardInterrupt),
        training_run(workspace, PAGE, run_id),
    ):
        pass
    assert run_of(workspace, run_id).info.status == "FINISHED"


def test_the_id_is_not_written_through_a_link(workspace: Workspace, run_id: Path, tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("valuable")
    run_id.symlink_to(tmp_path / "victim")
    with training_run(workspace, PAGE, run_id):
        pass
    assert (tmp_path / "victim").read_text() == "valuable"
    assert run_of(workspace, run_id).info.status == "FINISHED"
