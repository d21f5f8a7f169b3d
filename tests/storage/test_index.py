import json
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from storage import index
from storage.errors import StorageError
from storage.index import IndexModel, Manifest, Refused, current_manifest, index_rows, index_vectors, publish
from storage.models import ModelRef
from storage.tables import table_writer, vectors
from storage.workspace import Workspace

DIMENSION = 4
MODEL = IndexModel(name="scenekin", version=1, reference=ModelRef(path="models/m1", digest="m1"))
TEN = {f"{number}.jpg": f"sha-{number}" for number in range(10)}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def vector(sha256: str, model: IndexModel = MODEL) -> np.ndarray:
    """A unit vector of its own for an image's bytes and a model."""
    seed = int.from_bytes(f"{sha256}{model.version}".encode(), "big")
    value_D = np.random.default_rng(seed).normal(size=DIMENSION)
    return (value_D / np.linalg.norm(value_D)).astype(np.float16)


def publish_images(
    workspace: Workspace,
    images: dict[str, str] = TEN,
    *,
    name: str = "main",
    model: IndexModel = MODEL,
    collection: str = "/collection",
    refused: tuple[Refused, ...] = (),
    allow_shrink: bool = False,
    paths: dict[str, str] | None = None,
    images_root: str = "/images",
) -> Manifest:
    """Publish images given as id to digest, embedded beforehand in an order of their own."""
    digests = sorted(set(images.values()), reverse=True)
    file = workspace.root / "embeddings.parquet"
    schema = pa.schema([("sha256", pa.string()), ("embedding", pa.list_(pa.float16(), DIMENSION))])
    embedding_ND = np.array([vector(sha256, model) for sha256 in digests], np.float16).reshape(-1, DIMENSION)
    with table_writer(file, schema) as write:
        write(pa.record_batch([digests, vectors(embedding_ND)], schema=schema))
    ids = sorted(images)
    table = pa.table(
        {
            "image_id": pa.array(ids, pa.string()),
            "path": pa.array([(paths or {}).get(image_id, image_id) for image_id in ids], pa.string()),
            "sha256": pa.array([images[image_id] for image_id in ids], pa.string()),
            "width": pa.array([64] * len(ids), pa.int32()),
            "height": pa.array([48] * len(ids), pa.int32()),
        }
    )
    return publish(
        workspace,
        name,
        table,
        file,
        collection=collection,
        images_root=images_root,
        model=model,
        preprocessing="p",
        refused=refused,
        allow_shrink=allow_shrink,
    )


def versions(workspace: Workspace, name: str = "main") -> list[str]:
    return sorted(path.name for path in (workspace.index / name).iterdir() if path.name != "CURRENT")


def counts(manifest: Manifest) -> tuple[int, int, int, int]:
    changes = manifest.changes
    return changes.added, changes.changed, changes.removed, changes.unchanged


FAULTS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "no manifest": ("manifest.json", Path.unlink),
    "half a manifest": ("manifest.json", lambda file: file.write_text(file.read_text()[:60])),
    "a manifest of something else": ("manifest.json", lambda file: file.write_text("{}")),
    "a part is gone": ("part-00000.parquet", Path.unlink),
    "a part is cut short": ("part-00000.parquet", lambda file: file.write_bytes(file.read_bytes()[:-20])),
    "a part has fewer rows": ("part-00000.parquet", lambda file: pq.write_table(pq.read_table(file).slice(1), file)),
}


def test_without_an_index_there_is_no_manifest(workspace: Workspace) -> None:
    assert current_manifest(workspace, "main") is None


def test_a_version_holds_images_and_vectors_in_id_order(workspace: Workspace) -> None:
    images = {"b.jpg": "two", "a.jpg": "one", "copy.jpg": "one"}
    manifest = publish_images(workspace, images)
    assert manifest == current_manifest(workspace, "main")
    assert (manifest.version, manifest.images, manifest.dimension, counts(manifest)) == (1, 3, DIMENSION, (3, 0, 0, 0))
    rows = index_rows(workspace, manifest, ["image_id", "sha256"]).to_pylist()
    assert [(row["image_id"], row["sha256"]) for row in rows] == sorted(images.items())
    embedding_ND = index_vectors(workspace, manifest)
    assert embedding_ND.dtype == np.float16
    assert (embedding_ND == [vector(sha256) for sha256 in ("one", "two", "one")]).all()


def test_parts_are_plain_parquet_that_says_what_it_holds(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "PART_ROWS", 4)
    manifest = publish_images(workspace)
    folder = workspace.index / "main" / "1"
    assert list(manifest.parts) == ["part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]
    frame = pd.concat([pd.read_parquet(folder / part) for part in manifest.parts])
    assert list(frame.columns) == ["image_id", "path", "sha256", "width", "height", "embedding"]
    assert list(frame.image_id) == sorted(TEN)
    assert (np.stack(list(frame.embedding)) == index_vectors(workspace, manifest)).all()
    for part, digest in manifest.parts.items():
        assert index.file_digest(folder / part) == digest
        schema = pq.read_schema(folder / part)
        assert schema.metadata[b"model"] == b"scenekin"
        assert (schema.metadata[b"model_version"], schema.metadata[b"dimension"]) == (b"1", b"4")
        assert schema.metadata[b"preprocessing"] == b"p"
        assert schema.field("embedding").type == pa.list_(pa.float16(), DIMENSION)
        assert schema.field("width").type == pa.int32()
        chunk = pq.read_metadata(folder / part).row_group(0).column(5)
        assert set(chunk.encodings) <= {"PLAIN", "RLE"}  # what every reader of float16 knows
    assert str(workspace.root) not in (folder / "manifest.json").read_text()


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


@pytest.mark.parametrize("step", ["_write_parts", "_point"])
def test_a_kill_between_steps_leaves_the_old_version(
    step: str, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = publish_images(workspace)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(index, step, killed)
        with pytest.raises(KeyboardInterrupt):
            publish_images(workspace, TEN | {"new.jpg": "new"})
    assert current_manifest(workspace, "main") == first
    assert (index_vectors(workspace, first)[0] == vector("sha-0")).all()
    last = publish_images(workspace, TEN | {"new.jpg": "new"})
    assert current_manifest(workspace, "main") == last
    assert last.version > first.version


def test_whoever_reads_meanwhile_always_sees_a_whole_version(workspace: Workspace) -> None:
    publish_images(workspace)
    seen, published = set(), threading.Event()

    def read() -> None:
        while not published.is_set():
            manifest = current_manifest(workspace, "main")
            assert manifest is not None
            assert index_vectors(workspace, manifest).shape == (manifest.images, DIMENSION)
            seen.add(manifest.version)

    failures: list[object] = []
    monitor = threading.Thread(target=lambda: failures.extend(failure_of(read)))
    monitor.start()
    for number in range(20):
        publish_images(workspace, TEN | {"new.jpg": f"{number}"})
    published.set()
    monitor.join()
    assert failures == []
    assert len(seen) > 1


def failure_of(function: Callable[[], None]) -> list[object]:
    try:
        function()
    except BaseException as error:
        return [error]
    return []


@pytest.mark.parametrize("fault", FAULTS)
def test_a_damaged_version_is_named_and_indexing_again_mends_it(fault: str, workspace: Workspace) -> None:
    publish_images(workspace)
    file, damage = FAULTS[fault]
    damage(workspace.index / "main" / "1" / file)
    with pytest.raises(StorageError, match=r"Version 1 of the index 'main' is damaged; run `scenekin index` again\."):
        current_manifest(workspace, "main")
    manifest = publish_images(workspace)
    assert (manifest.version, counts(manifest)) == (2, (10, 0, 0, 0))
    assert current_manifest(workspace, "main") == manifest


@pytest.mark.parametrize("damage", [Path.unlink, lambda file: file.write_bytes(file.read_bytes()[:-8])])
def test_the_raw_file_is_derived_again(damage: Callable[[Path], object], workspace: Workspace) -> None:
    manifest = publish_images(workspace)
    raw = workspace.index / "main" / "1" / "vectors.f16"
    before, digest = np.array(index_vectors(workspace, manifest)), manifest.raw["vectors.f16"]
    damage(raw)
    assert (index_vectors(workspace, manifest) == before).all()
    assert index.file_digest(raw) == digest
    assert sorted(path.name for path in raw.parent.iterdir()) == [
        "manifest.json",
        "part-00000.parquet",
        "vectors.f16",
    ]


@pytest.mark.parametrize("name", ["", ".", "..", "../artifacts", "a/b", ".hidden", "a b"])
def test_a_name_stays_inside_the_workspace(name: str, workspace: Workspace) -> None:
    with pytest.raises(StorageError, match="cannot name an index"):
        publish_images(workspace, name=name)
    with pytest.raises(StorageError, match="cannot name an index"):
        current_manifest(workspace, name)


def test_the_manifest_says_what_was_refused_and_where_the_images_are(workspace: Workspace) -> None:
    publish_images(workspace, refused=(Refused(item="x.jpg", reason="empty file"),))
    told = json.loads((workspace.index / "main" / "1" / "manifest.json").read_text())
    assert told["refused"] == [{"item": "x.jpg", "reason": "empty file"}]
    assert told["collection"] == "/collection"
    assert told["model"]["reference"] == {"path": "models/m1", "digest": "m1"}
