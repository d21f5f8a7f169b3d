import json
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from storage.checksum import file_digest
from storage.errors import StorageError
from storage.index import publish
from storage.index.manifest import IndexModel, Refused
from storage.index.rows import index_rows, index_vectors
from storage.index.versions import current_manifest
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


def test_a_file_that_moved_is_a_change(workspace: Workspace) -> None:
    publish_images(workspace)
    manifest = publish_images(workspace, paths={"3.jpg": "elsewhere/3.jpg"})
    assert (manifest.version, counts(manifest)) == (2, (0, 1, 0, 9))
    assert "elsewhere/3.jpg" in index_rows(workspace, manifest, ["path"])["path"].to_pylist()


def test_what_is_the_same_makes_no_version(workspace: Workspace) -> None:
    refused = (Refused(item="x.jpg", reason="empty file"),)
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
    assert publish_images(workspace, model=other, refused=(Refused(item="x", reason="y"),)).version == 3


def test_images_that_moved_make_a_version(workspace: Workspace) -> None:
    publish_images(workspace)
    moved = publish_images(workspace, images_root="s3://images")
    assert (moved.version, moved.images_root, counts(moved)) == (2, "s3://images", (0, 0, 0, 10))


def test_another_collection_is_refused_under_the_same_name(workspace: Workspace) -> None:
    publish_images(workspace)
    with pytest.raises(StorageError, match="belongs to /collection; give this collection another --name"):
        publish_images(workspace, collection="/other")
    assert publish_images(workspace, collection="/other", name="other").version == 1


@pytest.mark.parametrize(("kept", "allowed"), [(8, True), (7, False), (0, False)])
def test_a_fifth_may_vanish_and_more_only_on_request(workspace: Workspace, kept: int, allowed: bool) -> None:
    publish_images(workspace)
    fewer = dict(list(TEN.items())[:kept])
    if not allowed:
        with pytest.raises(StorageError, match=f"{10 - kept} of 10 images .* say --allow-shrink"):
            publish_images(workspace, fewer)
        assert versions(workspace) == ["1"]
    manifest = publish_images(workspace, fewer, allow_shrink=not allowed)
    assert (manifest.version, manifest.images, counts(manifest)) == (2, kept, (0, 0, 10 - kept, kept))
    assert index_vectors(workspace, manifest).shape == (kept, DIMENSION)


@pytest.mark.parametrize("step", ["_write_parts", "make_current"])
def test_a_kill_between_steps_leaves_the_old_version(
    step: str, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = publish_images(workspace)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(publish, step, killed)
        with pytest.raises(KeyboardInterrupt):
            publish_images(workspace, TEN | {"new.jpg": "new"})
    assert current_manifest(workspace, "main") == first
    assert (index_vectors(workspace, first)[0] == vector("sha-0")).all()
    last = publish_images(workspace, TEN | {"new.jpg": "new"})
    assert current_manifest(workspace, "main") == last
    assert last.version > first.version


def test_the_manifest_says_what_was_refused_and_where_the_images_are(workspace: Workspace) -> None:
    publish_images(workspace, refused=(Refused(item="x.jpg", reason="empty file"),))
    told = json.loads((workspace.index / "main" / "1" / "manifest.json").read_text())
    assert told["refused"] == [{"item": "x.jpg", "reason": "empty file"}]
    assert told["collection"] == "/collection"
    assert told["model"]["reference"] == {"path": "models/m1", "digest": "m1"}


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


# What is checked before a version becomes current.


def broken(step: str, change: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a step of publication be followed by something that it should not have done."""
    original = getattr(publish, step)

    def with_fault(*args: Any) -> Any:
        answer = original(*args)
        change(*args)
        return answer

    monkeypatch.setattr(publish, step, with_fault)


def change_raw(change: Callable[[np.ndarray], object]) -> Callable[..., None]:
    def changed(file: Path, *_: object) -> None:
        raw_ND = np.memmap(file, np.float16, "r+").reshape(-1, DIMENSION)
        change(raw_ND)

    return changed


def scale(factor: float) -> Callable[[np.ndarray], object]:
    return lambda raw_ND: raw_ND.__setitem__(3, raw_ND[3] * np.float16(factor))


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (scale(np.nan), "has a vector of length nan for '3.jpg'"),
        (scale(np.inf), "has a vector of length (inf|nan) for '3.jpg'"),
        (scale(0), "has a vector of length 0 for '3.jpg'"),
        (scale(1.01), "has a vector of length 1.01 for '3.jpg'"),
        (lambda raw_ND: raw_ND.__setitem__(slice(None), raw_ND[::-1].copy()), "finds '.*' by another image's vector"),
    ],
)
def test_wrong_vectors_do_not_become_current(
    change: Callable[[np.ndarray], object], fault: str, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = publish_images(workspace)
    broken("_write_raw", change_raw(change), monkeypatch)
    with pytest.raises(StorageError, match=f"^The new version of the index 'main' {fault}; it is not made current"):
        publish_images(workspace, TEN | {"new.jpg": "new"})
    assert current_manifest(workspace, "main") == first
    assert versions(workspace) == ["1"]


def test_a_raw_file_of_other_vectors_does_not_become_current(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken("_write_parts", lambda folder, *_: change_raw(scale(-1))(folder / "vectors.f16"), monkeypatch)
    with pytest.raises(StorageError, match=r"has other vectors in vectors\.f16 than in part-00000\.parquet"):
        publish_images(workspace)
    assert current_manifest(workspace, "main") is None


@pytest.mark.parametrize(
    ("listed", "fault"),
    [
        ([*TEN, "lost.jpg"], "lacks 'lost.jpg', which was not refused either"),
        ([*TEN, "0.jpg"], "lacks '0.jpg'"),
        ([*TEN][1:], "accounts for '0.jpg', which the collection does not list"),
    ],
)
def test_what_is_listed_is_indexed_or_refused(listed: list[str], fault: str, workspace: Workspace) -> None:
    """P20."""
    with pytest.raises(StorageError, match=fault):
        publish_images(workspace, listed=listed)
    assert current_manifest(workspace, "main") is None
    refused = tuple(Refused(item=item, reason="empty file") for item in ("lost.jpg", "lost.jpg"))
    assert publish_images(workspace, refused=refused).images == 10


def test_an_image_that_was_lost_on_the_way_is_named(workspace: Workspace) -> None:
    first = publish_images(workspace)
    with pytest.raises(StorageError, match=r"2 images, '3\.jpg' first, were neither embedded nor refused"):
        publish_images(workspace, TEN | {"new.jpg": "new"}, not_embedded={"sha-3", "new"})
    assert current_manifest(workspace, "main") == first
    assert versions(workspace) == ["1"]


@pytest.mark.parametrize(("ids", "fault"), [(["a", "a"], "has the image 'a' twice"), (["b", "a"], "has 'a' after 'b'")])
def test_ids_come_once_and_in_order(ids: list[str], fault: str, workspace: Workspace) -> None:
    with pytest.raises(StorageError, match=fault):
        publish_images(workspace, dict.fromkeys(ids, "one"), ids=ids)


def test_copies_find_one_another_and_that_is_well(workspace: Workspace) -> None:
    images = {f"{number:03}.jpg": f"sha-{number % 3}" for number in range(100)}
    assert publish_images(workspace, images).images == 100


def test_vectors_reach_their_rows_through_any_parts_and_batches(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish, "PART_ROWS", 7)
    monkeypatch.setattr(publish, "BLOCK_ROWS", 3)
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
        with pytest.raises(
            StorageError, match=r"'main' cannot be written in .*File too large.*version before stays in"
        ):
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
    with pytest.raises(StorageError, match="3 of 10 images in the index 'main' are gone"):
        publish_images(workspace, seven)
    assert publish_images(workspace, seven, allow_shrink=True).version == 2
