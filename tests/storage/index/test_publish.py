import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from storage.artifacts import clear_leftovers
from storage.checksum import file_digest
from storage.errors import StorageError
from storage.faults import FaultPoint, inject
from storage.index import publish, verify
from storage.index.manifest import IndexModel, RefusedImage
from storage.index.rows import index_rows, index_vectors
from storage.index.versions import current_manifest, current_version
from storage.models import ModelRef
from storage.workspace import Workspace
from tests.indexes import DIMENSION, TEN, counts, publish_images, vector, versions


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def test_a_changed_collection_becomes_the_next_version(workspace: Workspace) -> None:
    publish_images(workspace)
    other = TEN | {"3.jpg": "another picture", "new.jpg": "new"}
    del other["9.jpg"]
    manifest = publish_images(workspace, other)
    assert (manifest.version, manifest.images, counts(manifest)) == (2, 10, (1, 1, 1, 8))
    assert current_manifest(workspace, "main") == manifest
    assert versions(workspace) == ["1", "2"]


@pytest.mark.parametrize("id_follows", [False, True])
def test_the_same_bytes_under_another_path_or_id_are_renamed(workspace: Workspace, id_follows: bool) -> None:
    publish_images(workspace)
    moved = {("elsewhere/3.jpg" if image_id == "3.jpg" else image_id): sha256 for image_id, sha256 in TEN.items()}
    manifest = (
        publish_images(workspace, moved)
        if id_follows
        else publish_images(workspace, paths={"3.jpg": "elsewhere/3.jpg"})
    )
    assert (manifest.version, counts(manifest), manifest.changes.renamed) == (2, (0, 0, 0, 9), 1)
    assert "elsewhere/3.jpg" in index_rows(workspace, manifest, ["path"])["path"].to_pylist()


def test_what_is_the_same_makes_no_version(workspace: Workspace) -> None:
    refused = (RefusedImage(item="x.jpg", reason="empty file"),)
    first = publish_images(workspace, refused=refused)
    again = publish_images(workspace, refused=refused)
    assert (again.version, counts(again)) == (1, (0, 0, 0, 10))
    assert versions(workspace) == ["1"]
    assert current_manifest(workspace, "main") == first


def test_another_model_or_refusal_makes_a_version(workspace: Workspace) -> None:
    publish_images(workspace)
    other = IndexModel(name="scenekin", version=2, reference=ModelRef(path="models/m2", digest="m2"))
    manifest = publish_images(workspace, model=other)
    assert (manifest.version, manifest.model, counts(manifest)) == (2, other, (0, 0, 0, 10))
    assert (index_vectors(workspace, manifest)[0] == vector("sha-0", other)).all()
    assert publish_images(workspace, model=other, refused=(RefusedImage(item="x", reason="y"),)).version == 3


def test_images_that_moved_make_a_version(workspace: Workspace) -> None:
    publish_images(workspace)
    moved = publish_images(workspace, images_root="s3://images")
    assert (moved.version, moved.images_root, counts(moved)) == (2, "s3://images", (0, 0, 0, 10))


def test_another_collection_is_refused_under_the_same_name(workspace: Workspace) -> None:
    publish_images(workspace)
    with pytest.raises(StorageError, match=r"belongs to /collection\. .* add --moved; otherwise choose another --name"):
        publish_images(workspace, collection="/other")
    assert publish_images(workspace, collection="/other", name="other").version == 1


@pytest.mark.parametrize(("kept", "allowed"), [(8, True), (7, False), (0, False)])
def test_a_fifth_may_vanish_and_more_only_on_request(workspace: Workspace, kept: int, allowed: bool) -> None:
    publish_images(workspace)
    fewer = dict(list(TEN.items())[:kept])
    if not allowed:
        with pytest.raises(StorageError, match=f"/collection lacks {10 - kept} of the 10 images .* use --allow-shrink"):
            publish_images(workspace, fewer)
        assert versions(workspace) == ["1"]
    manifest = publish_images(workspace, fewer, allow_shrink=not allowed)
    assert (manifest.version, manifest.images, counts(manifest)) == (2, kept, (0, 0, 10 - kept, kept))
    assert index_vectors(workspace, manifest).shape == (kept, DIMENSION)


STEPS = {
    FaultPoint.INDEX_VECTORS_WRITTEN: 1,
    FaultPoint.INDEX_PARTS_WRITTEN: 1,
    FaultPoint.INDEX_MANIFEST_WRITTEN: 1,
    FaultPoint.BEFORE_CURRENT_MOVES: 1,
    FaultPoint.AFTER_CURRENT_MOVED: 2,
}


@pytest.mark.parametrize(("point", "version"), STEPS.items())
def test_an_interrupt_between_steps_leaves_the_old_or_the_new_version(
    point: FaultPoint, version: int, workspace: Workspace
) -> None:
    publish_images(workspace)

    def interrupt(_: Path) -> None:
        raise KeyboardInterrupt

    with inject(point, interrupt), pytest.raises(KeyboardInterrupt):
        publish_images(workspace, TEN | {"new.jpg": "new"})
    manifest = current_manifest(workspace, "main")
    assert manifest is not None
    assert manifest.version == version
    assert (index_vectors(workspace, manifest)[0] == vector("sha-0")).all()
    assert not list((workspace.index / "main").glob(".*"))
    last = publish_images(workspace, TEN | {"new.jpg": "new"})
    assert last.images == 11
    assert current_version(workspace, "main") == last.version


KILLED = """
import os, sys
from pathlib import Path
from storage.faults import FaultPoint, inject
from storage.workspace import Workspace
from tests.indexes import TEN, publish_images

with inject(FaultPoint[sys.argv[2]], lambda _: os.kill(os.getpid(), 9)):
    publish_images(Workspace(Path(sys.argv[1])), TEN | {"new.jpg": "new"})
"""


@pytest.mark.parametrize(("point", "version"), STEPS.items())
def test_a_kill_between_steps_leaves_the_old_or_the_new_version(
    point: FaultPoint, version: int, workspace: Workspace
) -> None:
    publish_images(workspace)
    command = [sys.executable, "-c", KILLED, str(workspace.root), point.name]
    assert subprocess.run(command, cwd=Path(__file__).parents[3], check=False).returncode == -9
    manifest = current_manifest(workspace, "main")
    assert manifest is not None
    assert manifest.version == version
    assert (index_vectors(workspace, manifest)[0] == vector("sha-0")).all()
    clear_leftovers(workspace)
    assert not list((workspace.index / "main").glob(".*"))
    assert publish_images(workspace, TEN | {"new.jpg": "new"}).images == 11


@pytest.mark.parametrize("point", [point for point, version in STEPS.items() if version == 1])
def test_an_error_of_the_disk_between_steps_leaves_the_old_version(point: FaultPoint, workspace: Workspace) -> None:
    first = publish_images(workspace)

    def fail(_: Path) -> None:
        raise OSError(28, "No space left on device")

    with inject(point, fail), pytest.raises((StorageError, OSError), match="No space left on device"):
        publish_images(workspace, TEN | {"new.jpg": "new"})
    assert current_manifest(workspace, "main") == first


def test_parts_are_plain_parquet_that_says_what_it_holds(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publish, "PART_ROWS", 4)
    manifest = publish_images(workspace)
    folder = workspace.index / "main" / "1"
    assert list(manifest.parts) == ["part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]
    frame = pd.read_parquet(sorted(folder.glob("part-*.parquet")))  # as the README says, other files lying beside them
    assert list(frame.columns) == ["image_id", "path", "sha256", "width", "height", "embedding"]
    assert list(frame.image_id) == sorted(TEN)
    assert (np.stack(list(frame.embedding)) == index_vectors(workspace, manifest)).all()
    for part, digest in manifest.parts.items():
        assert file_digest(folder / part) == digest
        schema = pq.read_schema(folder / part)
        assert schema.metadata[b"model"] == b"scenekin"
        assert (schema.metadata[b"model_version"], schema.metadata[b"dimension"]) == (b"1", b"4")
        assert schema.metadata[b"preprocessing"] == b"p"
        assert schema.field("embedding").type == pa.list_(pa.float16(), DIMENSION)
        assert schema.field("width").type == pa.int32()
        chunk = pq.read_metadata(folder / part).row_group(0).column(5)
        assert set(chunk.encodings) <= {"PLAIN", "RLE"}  # what every reader of float16 knows
    assert str(workspace.root) not in (folder / "manifest.json").read_text()


def test_an_image_that_was_lost_on_the_way_is_named(workspace: Workspace) -> None:
    first = publish_images(workspace)
    with pytest.raises(StorageError, match=r"neither embedded nor refused: 2, the first of them '3\.jpg'"):
        publish_images(workspace, TEN | {"new.jpg": "new"}, not_embedded={"sha-3", "new"})
    assert current_manifest(workspace, "main") == first
    assert versions(workspace) == ["1"]


def test_vectors_reach_their_rows_through_any_parts_and_batches(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish, "PART_ROWS", 7)
    monkeypatch.setattr(verify, "BLOCK_ROWS", 3)
    read = publish.read_batches
    monkeypatch.setattr(publish, "read_batches", lambda path, columns: read(path, columns, rows=5))
    images = {f"{number:03}.jpg": f"sha-{number * 7 % 23}" for number in range(40)}
    manifest = publish_images(workspace, images)
    assert len(manifest.parts) == 6
    assert (index_vectors(workspace, manifest) == [vector(sha256) for sha256 in images.values()]).all()


@pytest.mark.parametrize("room", [100, 3000])
def test_a_full_disk_leaves_the_old_version(room: int, workspace: Workspace) -> None:
    """P13. Neither the raw file nor a part that does not fit is left, and the old version answers."""
    first = publish_images(workspace)
    more = {f"{number:03}.jpg": f"sha-{number}" for number in range(300)} | TEN
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    prepared = publish_images(Workspace(workspace.root / "elsewhere"), more)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
    try:
        with pytest.raises(StorageError, match=r"Cannot write .* 'main' to .*File too large; the index is unchanged"):
            publish_images(workspace, more, embeddings=workspace.root / "elsewhere" / "embeddings.parquet")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert current_manifest(workspace, "main") == first
    assert versions(workspace) == ["1"]
    assert publish_images(workspace, more).images == prepared.images == 310


def test_a_damaged_version_still_says_whose_it_is_and_how_large(workspace: Workspace) -> None:
    publish_images(workspace)
    (workspace.index / "main" / "1" / "part-00000.parquet").write_bytes(b"")
    with pytest.raises(StorageError, match="belongs to /collection"):
        publish_images(workspace, collection="/other")
    seven = dict(list(TEN.items())[:7])
    with pytest.raises(StorageError, match="lacks 3 of the 10 images in the index 'main'"):
        publish_images(workspace, seven)
    assert publish_images(workspace, seven, allow_shrink=True).version == 2


def test_renames_are_matched_by_bytes_one_to_one(workspace: Workspace) -> None:
    publish_images(workspace, {"a.jpg": "one", "b.jpg": "one", "c.jpg": "two", "d.jpg": "three"})
    images = {"a.jpg": "two", "x.jpg": "one", "y.jpg": "three", "z.jpg": "three", "new.jpg": "new"}
    changes = publish_images(workspace, images, allow_shrink=True).changes
    assert changes.model_dump(exclude={"captioned_before", "model_before"}) == {
        "added": 2,
        "changed": 1,
        "removed": 1,
        "renamed": 2,
        "unchanged": 0,
    }
    assert changes.added + changes.changed + changes.renamed + changes.unchanged == 5
    assert changes.removed + changes.changed + changes.renamed + changes.unchanged == 4


def test_renamed_images_do_not_count_as_missing(workspace: Workspace) -> None:
    publish_images(workspace)
    renamed = {f"new/{image_id}": sha256 for image_id, sha256 in TEN.items()}
    manifest = publish_images(workspace, renamed)
    assert (counts(manifest), manifest.changes.renamed) == ((0, 0, 0, 0), 10)
    assert current_manifest(workspace, "main") == manifest


def test_the_index_of_a_moved_collection_follows_it(workspace: Workspace) -> None:
    publish_images(workspace)
    manifest = publish_images(workspace, collection="/moved", images_root="/moved", moved=True)
    assert (manifest.version, manifest.collection, counts(manifest)) == (2, "/moved", (0, 0, 0, 10))
    assert publish_images(workspace, collection="/moved", images_root="/moved").version == 2
    with pytest.raises(StorageError, match="If that collection was moved to /collection, add --moved"):
        publish_images(workspace)


def test_another_collection_is_not_taken_for_the_moved_one(workspace: Workspace) -> None:
    publish_images(workspace)
    others = {f"other {number}.jpg": f"other {number}" for number in range(20)}
    with pytest.raises(StorageError, match="/other lacks 10 of the 10 images in the index 'main'"):
        publish_images(workspace, others, collection="/other", moved=True)
    assert versions(workspace) == ["1"]
