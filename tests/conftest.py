"""Shared by the tests: quiet libraries, one trained workspace, one Prefect server for tests of deployments."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.trained import Trained

SCENES = 140

# Before anything imports these libraries.
os.environ |= {
    "PREFECT_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "MLFLOW_LOGGING_LEVEL": "ERROR",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "OMP_NUM_THREADS": "1",  # matrices are small, and threads wait for one another where the machine is busy
}
os.environ.pop("SCENEKIN_HOME", None)


@pytest.fixture(scope="session")
def prefect_server() -> Iterator[str]:
    """Return the URL of a Prefect server for the deployed flows."""
    from prefect.settings import (
        PREFECT_API_URL,
        PREFECT_FLOWS_HEARTBEAT_FREQUENCY,
        PREFECT_LOGGING_TO_API_ENABLED,
        temporary_settings,
    )
    from prefect.testing.utilities import prefect_test_harness

    quick = {PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None, PREFECT_LOGGING_TO_API_ENABLED: False}
    with prefect_test_harness(server_startup_timeout=120), temporary_settings(quick):
        yield PREFECT_API_URL.value()


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> "Trained":
    """Trained, indexed and evaluated once; a test that changes anything takes `trained_copy`.

    Beside the scenes the collection has a byte copy of one, without captions, and a captioned file that is no image.
    """
    from tasks.demo.collection import write_collection
    from tests.trained import QUICK, Trained, write_config

    folder = tmp_path_factory.mktemp("trained")
    write_collection(folder / "collection", SCENES)
    extra = folder / "collection" / "extra"
    extra.mkdir()
    shutil.copy(sorted((folder / "collection" / "test").glob("*.jpg"))[0], extra / "copy.jpg")
    (folder / "collection" / "train" / "zz-broken.jpg").write_bytes(b"no picture")
    with (folder / "collection" / "train" / "metadata.jsonl").open("a") as rows:
        rows.write('{"file_name": "zz-broken.jpg", "captions": ["A picture that is none."]}\n')
    trained = Trained(folder / "workspace", folder / "collection", write_config(folder / "quick.yaml", QUICK))
    (folder / "train.json").write_text(trained.train().out)
    (folder / "index.json").write_text(trained.run("index").out)
    (folder / "evaluate.json").write_text(trained.run("evaluate").out)
    return trained


@pytest.fixture
def trained_copy(trained: "Trained", tmp_path: Path) -> "Trained":
    """A copy of the trained workspace and its collection, to be changed."""
    return trained.copy(tmp_path)
