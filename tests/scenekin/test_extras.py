import sys

import pytest

from scenekin.extras import missing_extra
from tests.command import scenekin
from tests.trained import Trained


def test_a_missing_package_of_an_extra_is_one_sentence(monkeypatch: pytest.MonkeyPatch, trained: Trained) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    outcome = scenekin("serve", "--port", 0, "--workspace", trained.workspace)
    assert outcome.sentence == (
        'scenekin: The package uvicorn is missing; install it with: pip install "scenekin[serve]"'
    )


def test_the_extra_of_a_submodule_is_that_of_its_package() -> None:
    assert missing_extra(ModuleNotFoundError(name="sklearn.utils")).endswith('"scenekin[train]"')


def test_any_other_missing_module_is_an_error() -> None:
    with pytest.raises(ModuleNotFoundError):
        missing_extra(ModuleNotFoundError(name="tasks.nothing"))
