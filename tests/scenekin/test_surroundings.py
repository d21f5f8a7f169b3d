"""A command works whatever the environment and the current folder hold, and writes into its workspace alone."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.command import scenekin_process
from tests.trained import Trained

PROXY = "http://127.0.0.1:9"
ENVIRONMENTS: dict[str, dict[str, str]] = {
    "http proxy": {"http_proxy": PROXY, "HTTP_PROXY": PROXY},
    "https proxy": {"https_proxy": PROXY, "HTTPS_PROXY": PROXY},
    "socks proxy for everything": {"all_proxy": "socks5://127.0.0.1:9", "ALL_PROXY": "socks5://127.0.0.1:9"},
    "a Prefect server that does not answer": {"PREFECT_API_URL": f"{PROXY}/api"},
    "settings that Prefect refuses": {"PREFECT_API_REQUEST_TIMEOUT": "soon", "PREFECT_SERVER_EPHEMERAL_ENABLED": "0"},
    "settings of another MLflow": {"MLFLOW_TRACKING_URI": f"{PROXY}/mlflow", "MLFLOW_REGISTRY_URI": "nonsense://x"},
    "an MLflow experiment and run": {"MLFLOW_EXPERIMENT_NAME": "theirs", "MLFLOW_RUN_ID": "0" * 32},
    "a home that is not writable": {"HOME": "/proc/nobody", "XDG_CACHE_HOME": "/proc/nobody"},
}


@pytest.mark.parametrize("environment", ENVIRONMENTS.values(), ids=ENVIRONMENTS)
def test_surroundings_do_not_matter(environment: Mapping[str, str], trained_copy: Trained) -> None:
    arguments = [trained_copy.collection, "--workspace", trained_copy.workspace, "--json"]
    trained = scenekin_process("train", *arguments, "--config", trained_copy.config, environment=environment).answer
    assert all(stage["cached"] for stage in trained["stages"])
    assert scenekin_process("index", *arguments, "--name", "second", environment=environment).answer["index"]["images"]


SHADOWS = ("calendar", "types", "logging", "numpy", "prefect", "mlflow", "tasks", "storage", "flows")


def test_the_current_folder_does_not_matter(trained_copy: Trained, tmp_path: Path) -> None:
    current, home = tmp_path / "current", tmp_path / "home"
    current.mkdir()
    home.mkdir()
    for name in SHADOWS:
        (current / f"{name}.py").write_text("raise RuntimeError('this must not run')")
    (current / ".env").write_text("PREFECT_API_URL=http://127.0.0.1:9\nSCENEKIN_HOME=/proc/nobody\nPORT=[")
    (current / "pyproject.toml").write_text("[tool.prefect\nhalf = ")
    before = {path: path.read_bytes() for path in current.iterdir()}
    arguments = [trained_copy.collection, "--workspace", trained_copy.workspace, "--json"]
    outcome = scenekin_process(
        "train", *arguments, "--config", trained_copy.config, environment={"HOME": str(home)}, cwd=current
    )
    assert json.loads(outcome.out)["model"]["version"] == 1
    assert {path: path.read_bytes() for path in current.iterdir()} == before
    assert list(home.rglob("*")) == []
