import csv
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
    refused = "b.jpg (line 3): no such file; captions not used: 1"
    assert refused in scenekin("check", folder, "--workspace", workspace).out
    assert not workspace.exists()
    workspace.mkdir()
    with KnownFiles(workspace / "known-files.db") as known:
        known.put(str(folder / "b.jpg"), "", hashlib.sha256((folder / "holiday.jpg").read_bytes()).hexdigest())
    assert "holiday.jpg has the content this file had" in scenekin("check", folder, "--workspace", workspace).out


def test_a_folder_without_files_is_one_sentence(tmp_path: Path) -> None:
    assert scenekin("check", tmp_path).sentence == (
        f"scenekin: {tmp_path} contains no files; give the folder that contains the images."
    )


def test_a_collection_without_usable_images_is_reported(tmp_path: Path) -> None:
    (tmp_path / "torn.jpg").write_bytes(b"no picture")
    done = scenekin("check", tmp_path)
    assert done.out.splitlines()[-1] == "No usable images: there is nothing to train on or to index."
    assert scenekin("check", tmp_path, "--json").answer["trainable"] is False


def test_a_folder_of_images_that_does_not_exist_is_named(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("image,caption\na.jpg,A dog.\n")
    for command in ("check", "train"):
        sentence = scenekin(command, tmp_path, "--images", "nowhere", "--workspace", tmp_path / "workspace").sentence
        assert sentence == "scenekin: No such file or folder: nowhere; --images takes the folder of the images."
    assert not (tmp_path / "workspace").exists()


def test_settings_without_effect_are_noted(tmp_path: Path) -> None:
    (tmp_path / "torn.jpg").write_bytes(b"no picture")
    done = scenekin("check", tmp_path, "--set", "v_v.margin=0.3", "--set", "collection.split_seed=1")
    assert done.err.splitlines()[0] == "--set v_v.margin=0.3 has no effect on `scenekin check`."
    assert "split_seed" not in done.err


def test_all_problems_are_written_into_a_table(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    for name in ("=a.jpg", "b\u00fc, 1.jpg", "c.jpg", "d.jpg", "e.jpg"):
        (tmp_path / "photos" / name).touch()
    (tmp_path / "photos" / "list.csv").write_text("image,caption\ngone.jpg,A cat .\n", encoding="utf-8")
    out = tmp_path / "problems.csv"
    done = scenekin("check", tmp_path / "photos", "--out", out)
    assert f"  and 2 more\nAll 6 problems written to {out}\n" in done.out
    assert out.read_bytes().startswith(b"\xef\xbb\xbfkind,item,line,detail\r\n")
    with out.open(encoding="utf-8-sig", newline="") as stream:
        _, *rows = csv.reader(stream)
    assert rows[:3] == [
        ["missing-image", "gone.jpg", "2", "no such file; captions not used: 1"],
        ["unreadable-image", "'=a.jpg", "", "empty file"],
        ["unreadable-image", "b\u00fc, 1.jpg", "", "empty file"],
    ]
    assert len(rows) == 6
    assert "must end in .csv" in scenekin("check", tmp_path / "photos", "--out", tmp_path / "problems.xlsx").usage_error
