"""A command works whatever the environment and the current folder hold, and writes into its workspace alone."""

import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.command import Environment, scenekin_process, serve
from tests.trained import Trained

PROXY = "http://127.0.0.1:9"
MEMORY = Path("/dev/shm")
SOCKS = "socks5://127.0.0.1:9"
ENVIRONMENTS: dict[str, Environment] = {
    "proxies": {
        **{name: PROXY for scheme in ("http", "https") for name in (f"{scheme}_proxy", f"{scheme}_proxy".upper())},
        **{"all_proxy": SOCKS, "ALL_PROXY": SOCKS},
    },
    "Prefect settings": {
        "PREFECT_API_URL": f"{PROXY}/api",
        "PREFECT_API_REQUEST_TIMEOUT": "soon",
        "PREFECT_SERVER_EPHEMERAL_ENABLED": "0",
    },
    "MLflow settings": {
        "MLFLOW_TRACKING_URI": f"{PROXY}/mlflow",
        "MLFLOW_REGISTRY_URI": "nonsense://x",
        "MLFLOW_EXPERIMENT_NAME": "theirs",
        "MLFLOW_RUN_ID": "0" * 32,
    },
    "no home": {"HOME": None},
    "a home that is not writable": {"HOME": "/proc/nobody", "XDG_CACHE_HOME": "/proc/nobody"},
    "a locale without UTF-8": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
}


def works(trained: Trained, environment: Environment, cwd: Path | None = None) -> None:
    """Train, index, serve and search."""
    image = sorted(trained.collection.glob("test/*.jpg"))[1].relative_to(trained.collection).as_posix()
    workspace = "--workspace", trained.workspace
    arguments = [trained.collection, *workspace, "--json"]
    surroundings = {"environment": environment, "cwd": cwd}
    answer = scenekin_process("train", *arguments, "--config", trained.config, **surroundings).answer
    assert all(stage["cached"] for stage in answer["stages"])
    assert scenekin_process("index", *arguments, "--name", "second", **surroundings).answer["index"]["images"] == 141
    server, address = serve(*workspace, **surroundings)
    try:
        with httpx.Client(trust_env=False, timeout=60) as client:
            found = client.get(f"{address}/api/search", params={"id": image}).json()["results"]
    finally:
        server.send_signal(signal.SIGINT)
        assert server.communicate(timeout=60)[1] == ""
    assert found[0]["image_id"] == image


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home folder into which nothing may be written."""
    folder = tmp_path / "home"
    folder.mkdir()
    yield folder
    assert list(folder.rglob("*")) == []


@pytest.mark.parametrize("environment", ENVIRONMENTS.values(), ids=ENVIRONMENTS)
def test_surroundings_do_not_matter(environment: Environment, trained_copy: Trained, home: Path) -> None:
    works(trained_copy, {"HOME": str(home), **environment})


NAMES = (
    *sys.stdlib_module_names,
    "numpy",
    "yaml",
    "torch",
    "prefect",
    "mlflow",
    "tasks",
    "storage",
    "flows",
    "scenekin",
)


def test_the_current_folder_does_not_matter(trained_copy: Trained, tmp_path: Path, home: Path) -> None:
    current = tmp_path / "current"
    (current / "torch").mkdir(parents=True)
    for file in (*(f"{name}.py" for name in NAMES), "torch/__init__.py"):
        (current / file).write_text("raise RuntimeError('this must not run')")
    (current / ".env").write_text("PREFECT_API_URL=http://127.0.0.1:9\nSCENEKIN_HOME=/proc/nobody\nPORT=[")
    (current / "pyproject.toml").write_text("[tool.prefect\nhalf = ")
    before = {path: path.read_bytes() for path in current.rglob("*.*")}
    works(trained_copy, {"HOME": str(home)}, cwd=current)
    assert {path: path.read_bytes() for path in current.rglob("*.*")} == before


@pytest.mark.skipif(not MEMORY.is_dir(), reason="no second file system")
def test_the_place_of_the_workspace_does_not_matter(trained: Trained, home: Path) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        workspace = Path(folder, "Fotos & 写真 (2), 'neu'+[x] $HOME;é")
        shutil.copytree(trained.workspace, workspace, ignore=shutil.ignore_patterns("mlflow"))
        works(Trained(workspace, trained.collection, trained.config), {"HOME": str(home)})


@pytest.mark.slow
def test_the_demo_runs_in_all_of_them_at_once(tmp_path: Path, home: Path) -> None:
    everything = {name: value for variables in ENVIRONMENTS.values() for name, value in variables.items()}
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('this must not run')")
    done = scenekin_process("demo", environment={**everything, "HOME": str(home)}, cwd=tmp_path)
    assert done.code == 0, done.err
    assert "Next, search for similar scenes:" in done.out
    assert {path.name for path in tmp_path.iterdir()} == {".scenekin", "home", *(f"{name}.py" for name in NAMES)}
