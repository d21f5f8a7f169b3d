from pathlib import Path

import pytest

from storage.settings import Settings


def test_the_environment_says_where_the_workspace_and_the_cluster_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCENEKIN_HOME", "/somewhere")
    monkeypatch.setenv("SCENEKIN_DASK_ADDRESS", "tcp://127.0.0.1:8786")
    assert Settings() == Settings.model_construct(home=Path("/somewhere"), dask_address="tcp://127.0.0.1:8786")


@pytest.mark.parametrize("unset", [None, ""])
def test_without_a_word_the_workspace_is_in_the_current_folder(
    unset: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SCENEKIN_HOME", "SCENEKIN_DASK_ADDRESS"):
        monkeypatch.delenv(name, raising=False)
        if unset is not None:  # what a deployment made without SCENEKIN_HOME hands to its runs
            monkeypatch.setenv(name, unset)
    assert Settings() == Settings.model_construct(home=Path(".scenekin"), dask_address=None)
