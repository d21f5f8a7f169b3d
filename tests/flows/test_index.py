import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from PIL import Image

from storage.workspace import Workspace
from tasks.collection import gather
from tasks.images import loader
from tests.command import scenekin
from tests.tasks.images.making import noise
from tests.trained import Trained, change_caption, change_image

BROKEN = {
    "item": "train/zz-broken.jpg",
    "reason": "not an image, or of an unknown type; captions not used: 1",
    "kind": "unreadable-image",
}
COLUMNS = ["image_id", "path", "sha256", "width", "height", "caption", "embedding"]


def counts(answer: dict[str, Any]) -> tuple[int, int, int, int]:
    """Added, changed, removed, unchanged."""
    index = answer["index"]
    return index["added"], index["changed"], index["removed"], index["unchanged"]


def current(workspace: Path, name: str) -> Path:
    folder = workspace / "index" / name
    return folder / (folder / "CURRENT").read_text()


def embeddings(workspace: Path) -> pd.Series:
    """The embeddings of the index `copy`, by image id."""
    return pd.read_parquet(next(current(workspace, "copy").glob("part-*"))).set_index("image_id").embedding


@pytest.fixture(scope="module")
def answer(trained: Trained) -> dict[str, Any]:
    """What the first indexing answered."""
    answer: dict[str, Any] = json.loads((trained.workspace.parent / "index.json").read_text())
    return answer


@pytest.fixture
def indexed(trained_copy: Trained) -> Trained:
    """The copied collection with an index `copy` of its own."""
    assert counts(trained_copy.run("index", "--name", "copy").answer) == (141, 0, 0, 0)
    return trained_copy


# What an index holds.


def test_the_answer_is_as_promised(answer: dict[str, Any]) -> None:
    assert answer.keys() == {"index", "model", "refused", "problem_counts", "seconds", "stages"}
    assert answer["index"] == {
        "name": "main",
        "version": 1,
        "images": 141,
        "captioned": 140,
        "captioned_before": 0,
        "added": 141,
        "changed": 0,
        "removed": 0,
        "renamed": 0,
        "unchanged": 0,
    }
    assert answer["model"] == {"name": "scenekin", "version": 1, "aliases": ["champion"]}


def test_what_is_listed_is_indexed_or_refused(trained: Trained, answer: dict[str, Any]) -> None:
    listed = sum(1 for _ in trained.collection.rglob("*.jpg"))
    assert listed == answer["index"]["images"] + len(answer["refused"])
    assert answer["refused"] == [BROKEN]
    assert answer["problem_counts"]["unreadable-image"] == 1


def test_others_can_read_it(trained: Trained) -> None:
    folder = current(trained.workspace, "main")
    (part,) = folder.glob("part-*.parquet")
    table = pq.read_table(part)
    assert table.column_names == COLUMNS
    assert [str(table.schema.field(name).type) for name in COLUMNS[:6]] == [*3 * ["string"], "int32", "int32", "string"]
    assert str(table.schema.field("embedding").type) == "fixed_size_list<element: halffloat>[24]"
    frame = pd.read_parquet(part)
    assert list(frame.image_id) == sorted(frame.image_id)
    norm_N = np.linalg.norm(np.stack(frame.embedding.tolist()).astype(np.float32), axis=1)
    assert np.abs(norm_N - 1).max() < 2e-3
    assert all((trained.collection / path).is_file() for path in frame.path)


def test_the_file_says_which_model_made_it(trained: Trained) -> None:
    folder = current(trained.workspace, "main")
    manifest = json.loads((folder / "manifest.json").read_text())
    told = {
        key.decode(): value.decode()
        for key, value in pq.read_schema(folder / next(iter(manifest["parts"]))).metadata.items()
    }
    assert (told["model"], told["model_version"]) == ("scenekin", "1")
    assert (told["dimension"], told["preprocessing"]) == ("24", manifest["preprocessing"])
    assert not Path(manifest["model"]["reference"]["path"]).is_absolute()
    assert (trained.workspace / manifest["model"]["reference"]["path"] / "model.safetensors").is_file()


# What a refresh does.


def test_nothing_changed_makes_no_version(indexed: Trained) -> None:
    again = indexed.run("index", "--name", "copy").answer
    assert counts(again) == (0, 0, 0, 141)
    assert again["index"]["version"] == 1
    assert all(stage["cached"] for stage in again["stages"])
    assert [path.name for path in (indexed.workspace / "index" / "copy").glob("[0-9]*")] == ["1"]


def test_other_captions_are_kept_in_a_new_version(indexed: Trained) -> None:
    def captions() -> pd.Series:
        (part,) = current(indexed.workspace, "copy").glob("part-*.parquet")
        return pd.read_parquet(part).set_index("image_id").caption.fillna("none")

    before = captions()
    assert before["extra/copy.jpg"] == "none"
    change_caption(indexed.collection, "train")
    answer = indexed.run("index", "--name", "copy").answer
    assert (answer["index"]["version"], counts(answer)) == (2, (0, 0, 0, 141))
    changed = before.compare(captions())
    assert list(changed["other"]) == ["A purple submarine beside a lighthouse."]


def test_a_refresh_embeds_what_is_new(indexed: Trained) -> None:
    test = indexed.collection / "test"
    change_image(indexed.collection, "train")
    removed = sorted(test.glob("*.jpg"))[-1]
    shutil.copy(removed, test / "zz.jpg")
    (test / "torn.jpg").write_bytes(removed.read_bytes()[:2000])
    removed.unlink()
    answer = indexed.run("index", "--name", "copy").answer
    assert counts(answer) == (0, 1, 0, 139)
    assert (answer["index"]["version"], answer["index"]["renamed"]) == (2, 1)
    refused = {refusal["item"]: refusal["reason"] for refusal in answer["refused"]}
    assert refused.keys() == {"train/zz-broken.jpg", "test/torn.jpg", f"test/{removed.name}"}
    assert "no such file" in refused[f"test/{removed.name}"]
    assert "truncated" in refused["test/torn.jpg"]
    ids = embeddings(indexed.workspace).index
    assert "test/zz.jpg" in ids
    assert f"test/{removed.name}" not in ids


def test_unchanged_images_are_not_embedded_again(indexed: Trained) -> None:
    before = embeddings(indexed.workspace)
    changed = change_image(indexed.collection, "train").relative_to(indexed.collection).as_posix()
    assert counts(indexed.run("index", "--name", "copy").answer) == (0, 1, 0, 140)
    after = embeddings(indexed.workspace)
    differing = [name for name in before.index if (before[name] != after[name]).any()]
    assert differing == [changed]


def test_old_versions_are_kept_as_many_as_are_wanted(indexed: Trained) -> None:
    for number, kept in enumerate([[1, 2], [2, 3]]):
        shutil.copy(sorted((indexed.collection / "test").glob("*.jpg"))[0], indexed.collection / f"{number}.jpg")
        assert indexed.run("index", "--name", "copy", "--set", f"index.keep={3 - 2 * number}").code == 0
        there = (indexed.workspace / "index" / "copy").glob("[0-9]*")
        assert sorted(int(path.name) for path in there) == kept
    assert scenekin("versions", "rollback", "--name", "copy", "--workspace", indexed.workspace).code == 0
    answer = indexed.run("index", "--name", "copy").answer
    assert (answer["index"]["version"], counts(answer)) == (4, (1, 0, 0, 142))


def test_a_large_index_has_an_approximate_one_too(indexed: Trained) -> None:
    answer = indexed.run("index", "--name", "copy", "--set", "index.approximate_from=141").answer
    assert (answer["index"]["version"], counts(answer)) == (2, (0, 0, 0, 141))
    manifest = json.loads((current(indexed.workspace, "copy") / "manifest.json").read_text())
    assert manifest["approximate_from"] == 141
    assert manifest["approximate"]["recall"].keys() == {"10", "100"}
    assert list(manifest["approximate"]["file"]) == ["approximate.faiss"]


def test_a_refresh_opens_only_what_is_new(indexed: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storage.source.digests.SETTLED_NS", -(10**18))
    shutil.copy(sorted((indexed.collection / "test").glob("*.jpg"))[0], indexed.collection / "copy.jpg")
    assert indexed.run("index", "--name", "copy").code == 0  # now all files are known
    looked: list[str] = []
    look = gather.inspect_file
    monkeypatch.setattr(gather, "inspect_file", lambda path, read: looked.append(path) or look(path, read))
    changed = change_image(indexed.collection, "train").relative_to(indexed.collection).as_posix()
    answer = indexed.run("index", "--name", "copy").answer
    assert (counts(answer), answer["refused"]) == ((0, 1, 0, 141), [BROKEN])
    assert looked == [changed]


@pytest.mark.parametrize("batch", [1, 4, 64])
def test_no_image_is_lost_that_a_decoder_failed_on(
    batch: int, trained_copy: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P20."""
    few = tmp_path / "few"
    few.mkdir()
    for number, file in enumerate(sorted((trained_copy.collection / "test").glob("*.jpg"))[:14]):
        change_bytes(file, few / f"{number:02}.jpg")
    (few / "empty.jpg").write_bytes(b"")
    (few / "text.jpg").write_text("hello")
    (few / "torn.jpg").write_bytes((few / "00.jpg").read_bytes()[:900])
    command = "index", few, "--name", "few", "--set", f"runtime.batch_size={batch}"
    command = *command, "--workspace", trained_copy.workspace, "--json"
    decode = loader.load_inputs

    def every_seventh_fails(path: str, *others: Any) -> Any:
        if int(Path(path).stem) % 7 == 6:
            raise OSError("the decoder gave up")
        return decode(path, *others)

    with monkeypatch.context() as patched:
        patched.setattr(loader, "load_inputs", every_seventh_fails)
        answer = scenekin(*command).answer
    reasons = {refusal["item"]: refusal["reason"] for refusal in answer["refused"]}
    assert counts(answer) == (12, 0, 0, 0)
    assert reasons.keys() == {"06.jpg", "13.jpg", "empty.jpg", "text.jpg", "torn.jpg"}
    assert reasons["06.jpg"] == reasons["13.jpg"] == "the decoder gave up"
    embedded: list[str] = []
    monkeypatch.setattr(loader, "load_inputs", lambda path, *others: embedded.append(path) or decode(path, *others))
    again = scenekin(*command).answer
    assert (counts(again), len(again["refused"])) == ((2, 0, 0, 12), 3)
    assert sorted(embedded) == ["06.jpg", "13.jpg"]
    assert all(stage["cached"] for stage in scenekin(*command).answer["stages"])


def change_bytes(file: Path, target: Path) -> None:
    """The same picture in other bytes, which no embedding is known of."""
    with Image.open(file) as image:
        image.save(target, quality=71)


def test_another_collection_needs_another_name_and_a_moved_one_its_option(trained_copy: Trained) -> None:
    sentence = trained_copy.run("index").sentence
    assert "'main'" in sentence
    assert "add --moved; otherwise choose another --name" in sentence
    assert counts(trained_copy.run("index", "--moved").answer) == (0, 0, 0, 141)
    assert counts(trained_copy.run("index").answer) == (0, 0, 0, 141)


def test_an_index_is_its_collections_by_whichever_path(indexed: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(indexed.workspace)
    roundabout = "../workspace/../collection/"
    answer = scenekin("index", roundabout, "--name", "copy", "--workspace", indexed.workspace, "--json").answer
    assert counts(answer) == (0, 0, 0, 141)


def test_a_fifth_may_not_vanish_unasked(indexed: Trained) -> None:
    for image in sorted((indexed.collection / "train").glob("*.jpg"))[:30]:
        image.unlink()
    sentence = indexed.run("index", "--name", "copy").sentence
    assert "30 of the 141 images" in sentence
    assert "--allow-shrink" in sentence
    assert current(indexed.workspace, "copy").name == "1"
    answer = indexed.run("index", "--name", "copy", "--allow-shrink").answer
    assert counts(answer) == (0, 0, 30, 111)
    assert len(answer["refused"]) == 31


def test_a_collection_needs_no_captions(trained_copy: Trained, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    shutil.copytree(trained_copy.collection / "test", bare, ignore=shutil.ignore_patterns("*.jsonl"))
    answer = scenekin("index", bare, "--name", "bare", "--workspace", trained_copy.workspace, "--json").answer
    assert counts(answer) == (21, 0, 0, 0)
    assert answer["refused"] == []


def test_an_alias_or_version_names_the_model(trained_copy: Trained) -> None:
    by_number = trained_copy.run("index", "--name", "copy", "--model", "1").answer
    assert by_number["model"] == {"name": "scenekin", "version": 1, "aliases": ["champion"]}
    for unknown in ("99", "nobody", "0", "a b"):
        assert f"no model {unknown!r}" in trained_copy.run("index", "--name", "copy", "--model", unknown).sentence


@pytest.mark.parametrize("name", ["../main", "", "a/b", ".hidden"])
def test_a_name_is_no_path(trained_copy: Trained, name: str) -> None:
    assert "Invalid index name" in trained_copy.run("index", "--name", name).usage_error


def test_captions_are_read_from_the_columns_of_the_training(trained_copy: Trained, tmp_path: Path) -> None:
    """Unless they are set: those of the index itself or, on the collection that the model was trained on, of that."""
    photos = tmp_path / "photos" / trained_copy.collection.name
    photos.mkdir(parents=True)
    pictures = sorted((trained_copy.collection / "test").glob("*.jpg"))[:3]
    for picture in pictures:
        shutil.copy(picture, photos)
    rows = [f"{picture.name};eine Beschreibung" for picture in pictures]
    (photos / "liste.csv").write_text("\n".join(["Dateiname;Beschreibung", *rows]), encoding="utf-8")

    def captioned(name: str, folder: Path, *options: str) -> int:
        outcome = scenekin("index", folder, "--name", name, *options, "--workspace", trained_copy.workspace, "--json")
        return int(outcome.answer["index"]["captioned"])

    assert captioned("before", photos) == 0
    settings = {"collection": {"caption_column": "Beschreibung"}}
    with closing(sqlite3.connect(Workspace(trained_copy.workspace).mlflow_database)) as database, database:
        database.execute("UPDATE model_version_tags SET value = ? WHERE key = 'config'", (json.dumps(settings),))
    assert captioned("after", photos) == 3
    elsewhere = photos.rename(photos.with_name("elsewhere"))
    assert captioned("other", elsewhere) == 0
    assert captioned("after", elsewhere, "--moved") == 3


# Without a trained model.


def test_a_collection_without_captions_is_indexed_by_untrained_networks(tmp_path: Path) -> None:
    photos, space = tmp_path / "photos", tmp_path / "space"
    photos.mkdir()
    for number in range(6):
        noise(64, 64, seed=number).save(photos / f"{number}.png")
    (photos / "broken.jpg").write_bytes(b"no image")
    small = "--set", "backbone={name: efficientnet_lite0, size: 64}", "--workspace", space
    index = "index", photos, "--untrained", *small, "--json"
    first = scenekin(*index).answer
    assert (first["model"]["version"], first["index"]["images"], len(first["refused"])) == (0, 6, 1)
    results = scenekin("search", photos / "3.png", "--workspace", space, "--json").answer["results"]
    assert (results[0]["image_id"], len(results)) == ("3.png", 6)
    assert results[0]["score"] == pytest.approx(1, abs=1e-3)
    assert "knows no words" in scenekin("search", "--text", "a dog", "--workspace", space).sentence

    noise(64, 64, seed=9).save(photos / "9.png")
    again = scenekin(*index).answer
    assert [stage["name"] for stage in again["stages"]] == ["read_collection", "embed_images"]  # the model stays
    assert (again["index"]["images"], again["index"]["added"]) == (7, 1)
    assert "scenekin train" in scenekin("index", photos, "--workspace", space).sentence
    other = scenekin("index", photos, "--untrained", *small, "--set", "backbone={name: efficientnet_lite1, size: 64}")
    assert "7 images" in other.out


def test_a_trained_model_takes_the_place_of_an_untrained_one(trained_copy: Trained) -> None:
    small = "--set", "backbone={name: efficientnet_lite0, size: 64}", "--name", "plain"
    assert trained_copy.run("index", "--untrained", *small).answer["model"] == {
        "name": "scenekin",
        "version": 0,
        "aliases": [],
    }
    text = scenekin("index", trained_copy.collection, "--name", "plain", "--workspace", trained_copy.workspace).out
    assert "model 1 instead of the untrained model" in text
    assert "To keep model" not in text


def test_images_that_cannot_be_read_have_no_untrained_model(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "broken.jpg").write_bytes(b"no image")
    found = scenekin("index", tmp_path / "photos", "--untrained", "--workspace", tmp_path / "space")
    assert "no usable image" in found.sentence or "an index needs at least 2" in found.sentence
