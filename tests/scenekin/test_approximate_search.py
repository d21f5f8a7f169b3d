"""An index so large, by its settings, that it has an approximate one."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from scenekin import Searcher
from scenekin.web.app import create_app
from scenekin.web.served_index import ServedIndex
from storage.index.versions import current_manifest
from storage.workspace import Workspace
from tasks.search.stage import write_approximate
from tests.command import scenekin
from tests.indexes import counts, publish_images, versions

IMAGES = {f"{number:04}.jpg": f"sha-{number}" for number in range(2000)}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    space = Workspace(tmp_path)
    publish_images(space, IMAGES, approximate_from=2000, approximate=write_approximate)
    return space


@pytest.fixture
def searcher(workspace: Workspace) -> Searcher:
    return Searcher.open(workspace.root)


def test_it_answers_where_enough_is_found(searcher: Searcher) -> None:
    approximate = searcher.manifest.approximate
    assert approximate is not None
    lists, share = searcher.effort(10, 0.9)
    assert share == approximate.recall[10][lists] >= 0.9
    same = 0
    for image_id in [*IMAGES][:50]:
        query = searcher.query(image_id=image_id)
        exact = {result.image_id: result.score for result in searcher.nearest(query, recall=1)}
        found = searcher.nearest(query, recall=0.9)
        assert [result.score for result in found] == sorted((result.score for result in found), reverse=True)
        for result in found:
            assert result.score == pytest.approx(exact.get(result.image_id, result.score), abs=1e-6)
            assert result.path == result.image_id
        same += sum(result.image_id in exact for result in found)
    assert same / 500 == pytest.approx(share, abs=0.05)


def test_it_never_answers_below_what_is_asked_for(searcher: Searcher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.search.approximate.rank_approximately", None)
    assert searcher.manifest.approximate is not None
    best = max(searcher.manifest.approximate.recall[10].values())
    for top, recall in ((10, 1.0), (10, min(1.0, best + 1e-9)), (101, 0.0)):
        assert searcher.effort(top, recall) == (0, 1.0)
        assert len(searcher.nearest(searcher.query(image_id="0000.jpg"), top, recall)) == top


def test_a_truncated_approximate_index_is_not_read(workspace: Workspace, searcher: Searcher) -> None:
    query = searcher.query(image_id="0000.jpg")
    assert searcher.effort(10, 0.5)[0] > 0
    os.truncate(workspace.index / "main" / "1" / "approximate.faiss", 0)  # reading it would kill the process
    assert searcher.effort(10, 0.5) == (0, 1.0)
    assert searcher.nearest(query, recall=0.5) == searcher.nearest(query, recall=1)


def test_the_api_looks_at_as_much_as_it_is_asked_for(
    workspace: Workspace, searcher: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ServedIndex, "no_words", "there is no model")
    with TestClient(create_app(workspace)) as client:
        for recall in (0.9, 1):
            answer = client.get("/api/search", params={"id": "0000.jpg", "recall": recall}).json()
            expected = searcher.nearest(searcher.query(image_id="0000.jpg"), 10, recall)
            assert answer["index"]["recall"] == searcher.effort(10, recall)[1]
            assert [found["score"] for found in answer["results"]] == [result.score for result in expected]


@pytest.mark.parametrize(
    "damage",
    [Path.unlink, lambda file: file.write_bytes(b""), lambda file: file.write_bytes(file.read_bytes()[:-9])],
)
def test_a_damaged_one_is_not_used(damage: Callable[[Path], object], workspace: Workspace) -> None:
    (file,) = (workspace.index / "main" / "1").glob("*.faiss")
    damage(file)
    searcher = Searcher.open(workspace.root)
    assert searcher.effort(10, 0.1) == (0, 1.0)
    assert searcher.search(image_id="0000.jpg")[0].image_id == "0000.jpg"


def test_it_comes_and_goes_with_the_size_that_wants_it(workspace: Workspace) -> None:
    manifest = current_manifest(workspace, "main")
    assert manifest is not None
    same = publish_images(workspace, IMAGES, approximate_from=1000, approximate=write_approximate)
    assert same.version == 1
    without = publish_images(workspace, IMAGES, approximate_from=2001, approximate=write_approximate)
    assert (without.version, without.approximate, counts(without)) == (2, None, (0, 0, 0, 2000))
    assert versions(workspace) == ["1", "2"]
    assert not list((workspace.index / "main" / "2").glob("*.faiss"))
    again = publish_images(workspace, IMAGES, approximate_from=2000, approximate=write_approximate)
    assert (again.version, again.approximate) == (3, manifest.approximate)


def test_commands_say_how_much_is_found(workspace: Workspace) -> None:
    def recall(*arguments: object) -> float:
        command = "search", "--id", "0000.jpg", *arguments, "--workspace", workspace.root, "--json"
        found: float = scenekin(*command).answer["index"]["recall"]
        return found

    manifest = current_manifest(workspace, "main")
    assert manifest is not None
    assert manifest.approximate is not None
    shares = manifest.approximate.recall[10]
    assert recall("--recall", 0.5) == next(share for share in shares.values() if share >= 0.5)
    assert recall() >= 0.95
    assert recall("--recall", 1) == recall("--recall", 0.5, "--top", 101) == 1
    assert scenekin("search", "--id", "0000.jpg", "--recall", "1.1", "--workspace", workspace.root).code == 2
    (row,) = scenekin("versions", "--workspace", workspace.root, "--json").answer["versions"]
    assert row["recall"]["10"] == {str(lists): share for lists, share in shares.items()}
    assert f"recall@10 {shares[1]:.3f} with 1 lists" in scenekin("versions", "--workspace", workspace.root).out
