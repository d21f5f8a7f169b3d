import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient

from storage.errors import StorageError
from storage.mlflow_store import tracking_client
from storage.registry import find_model
from storage.tracking import RunPage, ensure_run, log_files, training_run
from storage.workspace import Workspace

PAGE = RunPage("v_v", "(V,V)", "photos", "/photos", "d", "k")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace with one run, whose files are a report."""
    workspace = Workspace(tmp_path_factory.mktemp("original"))
    with training_run(workspace, PAGE, workspace.root / "run_id") as log:
        attach(workspace, log.run_id, "first")
    return workspace


@pytest.fixture
def copy(original: Workspace, tmp_path: Path) -> Workspace:
    shutil.copytree(original.root, tmp_path / "copy")
    return Workspace(tmp_path / "copy")


def attach(workspace: Workspace, run_id: str, text: str) -> None:
    """Attach a report to a run."""
    folder = workspace.root / text
    folder.mkdir()
    (folder / f"{text}.txt").write_text(text)
    log_files(workspace, run_id, folder, "report")


def run_id(workspace: Workspace) -> str:
    return (workspace.root / "run_id").read_text()


def execute(workspace: Workspace, statement: str, *values: str) -> None:
    with sqlite3.connect(workspace.mlflow_database) as database:
        database.execute(statement, values)
    database.close()


def cut(share: float) -> Callable[[Path], object]:
    return lambda file: file.write_bytes(file.read_bytes()[: int(share * file.stat().st_size)])


def replace_by_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


FAULTS: dict[str, Callable[[Path], object]] = {
    "other bytes": lambda file: file.write_text("no database at all"),
    "the first page": cut(0.001),
    "half": cut(0.5),
    "all but the end": cut(0.99),
    "a folder": replace_by_folder,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_damaged_database_is_one_sentence(fault: str, copy: Workspace) -> None:
    FAULTS[fault](copy.mlflow_database)
    sentence = rf"^Cannot use MLflow's database {copy.mlflow_database}: [^\n]*; restore it from a copy, or move it away"
    for use in (
        lambda: find_model(copy, "champion"),
        lambda: ensure_run(copy, "none", "name"),
        lambda: log_files(copy, "none", copy.root, "name"),
        lambda: training_run(copy, PAGE, copy.root / "run_id").__enter__(),
    ):
        with pytest.raises(StorageError, match=sentence):
            use()


@pytest.mark.parametrize("version", ["cc1f77228345", "ffffffffffff"])
def test_a_database_of_another_version_names_the_command_that_migrates_it(version: str, copy: Workspace) -> None:
    spaced = copy.root.with_name("with a blank")
    copy = Workspace(copy.root.rename(spaced))
    execute(copy, "UPDATE alembic_version SET version_num = ?", version)
    before = copy.mlflow_database.read_bytes()
    command = f"`mlflow db upgrade 'sqlite:///{copy.mlflow_database}'`"
    with pytest.raises(StorageError, match=f"was written by another version of MLflow; copy it, then run {command}"):
        find_model(copy, "champion")
    assert copy.mlflow_database.read_bytes() == before


def test_an_error_while_metrics_are_logged_is_one_sentence(copy: Workspace) -> None:
    def train() -> None:
        with training_run(copy, PAGE, copy.root / "other") as log:
            execute(copy, "DROP TABLE metrics")
            log.metrics({"loss": 1.0})

    with pytest.raises(StorageError, match="Cannot use MLflow's database"):
        train()


def test_a_copied_workspace_writes_into_itself(original: Workspace, copy: Workspace) -> None:
    before = sorted(original.root.rglob("*"))
    attach(copy, run_id(copy), "second")
    assert [path.name for path in copy.mlflow_artifacts.rglob("second.txt")] == ["second.txt"]
    assert sorted(original.root.rglob("*")) == before
    client = tracking_client(copy)
    assert client.get_run(run_id(copy)).info.artifact_uri.startswith(copy.mlflow_artifacts.as_uri())
    experiment = client.get_experiment_by_name("scenekin")
    assert experiment.artifact_location == copy.mlflow_artifacts.as_uri()


@pytest.mark.parametrize("scheme", ["file://", ""])
def test_a_run_whose_files_are_elsewhere_is_moved_inside(copy: Workspace, tmp_path: Path, scheme: str) -> None:
    execute(copy, "UPDATE runs SET artifact_uri = ?", f"{scheme}{tmp_path}/elsewhere")
    attach(copy, run_id(copy), "second")
    assert not (tmp_path / "elsewhere").exists()
    assert list(copy.mlflow_artifacts.rglob("second.txt"))


def test_a_run_of_another_experiment_elsewhere_is_refused(copy: Workspace, tmp_path: Path) -> None:
    client = MlflowClient(tracking_uri=copy.mlflow_uri)
    other = client.create_experiment("other", artifact_location=f"file://{tmp_path}/elsewhere")
    run = client.create_run(other).info.run_id
    with pytest.raises(StorageError, match=f"{run} in .* stores its files outside the workspace, in {tmp_path}/else"):
        attach(copy, run, "second")
    assert not (tmp_path / "elsewhere").exists()
    assert ensure_run(copy, run, "ours") != run


def test_links_out_of_the_workspace_are_refused(copy: Workspace, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    shutil.rmtree(copy.mlflow_artifacts / run_id(copy))
    (copy.mlflow_artifacts / run_id(copy)).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError, match="outside the workspace"):
        attach(copy, run_id(copy), "second")
    assert list((tmp_path / "elsewhere").iterdir()) == []
