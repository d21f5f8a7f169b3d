import hashlib
from pathlib import Path

from storage.source.known_files import KnownFiles
from tests.command import scenekin
from tests.tasks.collection.making import pictures


def test_the_new_name_of_a_renamed_image_is_found_in_an_existing_workspace(tmp_path: Path) -> None:
    folder, workspace = tmp_path / "photos", tmp_path / "workspace"
    folder.mkdir()
    for name, data in pictures("a.jpg", "holiday.jpg").items():
        (folder / name).write_bytes(data)
    (folder / "list.csv").write_text("image,caption\na.jpg,A dog .\nb.jpg,A cat .\n")
    refused = "b.jpg (line 3): no such file: b.jpg; captions not used: 1"
    assert refused in scenekin("check", folder, "--workspace", workspace).out
    assert not workspace.exists()
    workspace.mkdir()
    with KnownFiles(workspace / "known-files.db") as known:
        known.put(str(folder / "b.jpg"), "", hashlib.sha256((folder / "holiday.jpg").read_bytes()).hexdigest())
    assert "holiday.jpg has the content this file had" in scenekin("check", folder, "--workspace", workspace).out
