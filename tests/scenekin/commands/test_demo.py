from pathlib import Path

import pytest

from scenekin.commands.demo import next_steps


def test_the_demo_ends_with_commands_to_try(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/scenekin")
    query = tmp_path / ".scenekin" / "a scene.jpg"
    for workspace in (".scenekin", "other"):
        (tmp_path / workspace).mkdir()
    assert next_steps(tmp_path / ".scenekin", query).splitlines() == [
        "Next, search for similar scenes:",
        "  scenekin search '.scenekin/a scene.jpg' --name demo",
        "or in the browser:",
        "  scenekin serve --name demo",
    ]
    assert next_steps(tmp_path / "other", query).endswith("  scenekin serve --name demo --workspace other")
