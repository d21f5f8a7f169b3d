import json
from pathlib import Path

import pytest

from storage.index.manifest import Approximate, RefusedImage
from storage.index.versions import current_manifest
from storage.workspace import Workspace
from tests.indexes import publish_images


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def test_the_manifest_records_refused_images_and_their_place(workspace: Workspace) -> None:
    publish_images(workspace, refused=(RefusedImage(item="x.jpg", reason="empty file"),))
    told = json.loads((workspace.index / "main" / "1" / "manifest.json").read_text())
    assert told["refused"] == [{"item": "x.jpg", "reason": "empty file", "kind": "unreadable-image"}]
    assert told["collection"] == "/collection"
    assert told["model"]["reference"] == {"path": "models/m1", "digest": "m1"}


def test_a_manifest_from_before_renames_were_recorded_is_read(workspace: Workspace) -> None:
    manifest = publish_images(workspace)
    file = workspace.index / "main" / "1" / "manifest.json"
    stored = json.loads(file.read_text())
    del stored["changes"]["renamed"]
    file.write_text(json.dumps(stored))
    assert current_manifest(workspace, "main") == manifest
    assert manifest.changes.renamed == 0


def test_the_least_effort_that_was_measured_to_be_enough_is_taken() -> None:
    approximate = Approximate(file={}, recall={10: {1: 0.5, 2: 0.9, 4: 0.8, 8: 0.99}, 100: {1: 0.2, 2: 0.95}})
    asked = {(10, 0.0): (1, 0.5), (3, 0.6): (2, 0.9), (10, 0.95): (8, 0.99), (11, 0.9): (2, 0.95)}
    assert {key: approximate.effort(*key) for key in asked} == asked
    assert approximate.effort(10, 0.995) is None
    assert approximate.effort(101, 0.1) is None
    assert Approximate(file={}, recall={10: {}, 100: {}}).effort(10, 0) is None
