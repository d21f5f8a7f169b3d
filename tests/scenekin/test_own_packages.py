"""The packages flows, storage and tasks beside other people's modules of these names."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scenekin.own_packages import OWN_PACKAGES
from tests.command import scenekin_process
from tests.trained import Trained

ROOT = Path(__file__).parents[2]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with modules and packages named like ours."""
    for name in ("tasks", "storage"):
        (tmp_path / f"{name}.py").write_text("def build():\n    return 'built'\n")
    (tmp_path / "flows").mkdir()
    (tmp_path / "flows" / "__init__.py").touch()
    return tmp_path


def test_modules_named_like_ours_are_no_trouble(project: Path, trained_copy: Trained) -> None:
    environment = {"PYTHONPATH": os.pathsep.join((str(project), str(ROOT)))}
    arguments = [trained_copy.collection, "--workspace", trained_copy.workspace, "--json"]
    assert scenekin_process("check", trained_copy.collection, environment=environment).code == 0
    settings = ["--config", trained_copy.config, "--set", "captions.language=german"]
    trained = scenekin_process("train", *arguments, *settings, environment=environment, cwd=project).answer
    assert not all(stage["cached"] for stage in trained["stages"])
    assert scenekin_process("index", *arguments, "--name", "second", environment=environment).answer["index"]["images"]
    found = scenekin_process("search", "--id", "extra/copy.jpg", *arguments[1:], environment=environment).answer
    assert found["results"][0]["image_id"] == "extra/copy.jpg"


@pytest.mark.parametrize("room", OWN_PACKAGES)
def test_a_module_that_is_imported_already_is_named(project: Path, room: str) -> None:
    script = f"import {room}\ntry:\n    import scenekin\nexcept ImportError as error:\n    print(error)"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=project, capture_output=True, text=True, check=True, env=environment()
    )
    file = project / (f"{room}.py" if room != "flows" else "flows/__init__.py")
    assert done.stdout == (
        f"scenekin has a package {room!r} of its own, but {file} is imported under that name; rename it, or use "
        "scenekin in another process.\n"
    )


def test_our_own_may_be_imported_before(project: Path) -> None:
    script = "import tasks.errors, scenekin; print(scenekin.InputError is tasks.errors.InputError)"
    command = [sys.executable, "-c", script]
    assert subprocess.check_output(command, text=True, cwd=project.parent, env=environment()).strip() == "True"


def environment() -> dict[str, str]:
    """Where ours are found last."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}
