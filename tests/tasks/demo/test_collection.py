"""The demo's collection: an imagefolder, the same bytes each time, whole or not there."""

import json
from pathlib import Path

import pytest
from PIL import Image

from tasks.collection.config import CollectionConfig
from tasks.collection.readers.imagefolder import ImageFolder
from tasks.collection.records import Files
from tasks.demo import collection
from tasks.demo.collection import write_collection
from tasks.demo.scenes import make_scenes
from tasks.demo.wording import word_captions
from tasks.errors import InputError


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_reader_finds_every_image_with_its_captions_in_its_split(tmp_path: Path) -> None:
    write_collection(tmp_path / "demo", count=20, seed=5)
    paths = sorted(_contents(tmp_path / "demo"))
    files = Files(paths, lambda path: (tmp_path / "demo" / path).open("rb"))
    assert ImageFolder().recognises(files)
    reading = ImageFolder().read(files, files, CollectionConfig())
    assert reading.has_splits
    assert not reading.problems
    items = sorted(reading.items, key=lambda item: Path(item.path).name)
    assert [item.split for item in items] == ["train"] * 14 + ["validation"] * 3 + ["test"] * 3
    for item, scene in zip(items, make_scenes(20, seed=5), strict=True):
        assert item.captions == word_captions(scene)
        with Image.open(tmp_path / "demo" / item.path) as image:
            assert image.size == scene.size


def test_the_same_parameters_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "other"):
        write_collection(tmp_path / name, count=8)
    assert _contents(tmp_path / "one") == _contents(tmp_path / "other")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "other"]


def test_a_whole_collection_is_left_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_collection(tmp_path / "demo", count=8)
    monkeypatch.setattr(collection, "draw_scene", lambda _: pytest.fail("drawn again"))
    write_collection(tmp_path / "demo", count=8)
    assert len(list((tmp_path / "demo").glob("*/*.jpg"))) == 8


def test_a_collection_with_other_parameters_or_a_lost_image_is_made_anew(tmp_path: Path) -> None:
    write_collection(tmp_path / "demo", count=8)
    whole = _contents(tmp_path / "demo")
    (tmp_path / "demo" / "train" / "scene-0001.jpg").unlink()
    write_collection(tmp_path / "demo", count=8)
    assert _contents(tmp_path / "demo") == whole
    write_collection(tmp_path / "demo", count=8, seed=1)
    assert _contents(tmp_path / "demo") != whole


def test_a_stop_half_way_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_collection(tmp_path / "demo", count=8)
    former = _contents(tmp_path)

    def stop(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(collection, "word_captions", stop)
    with pytest.raises(KeyboardInterrupt):
        write_collection(tmp_path / "demo", count=9)
    assert _contents(tmp_path) == former


@pytest.mark.parametrize("name", ["notes.txt", "collection.json", ".collection.json"])
def test_a_folder_with_something_else_is_refused_and_kept(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(json.dumps({"mine": 1}))
    with pytest.raises(InputError, match="is not the demo's collection"):
        write_collection(tmp_path, count=8)
    assert [path.name for path in tmp_path.iterdir()] == [name]
