import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from storage.checksum import file_digest
from storage.errors import StorageError
from storage.faults import FaultPoint, inject
from storage.index.manifest import RefusedImage
from storage.index.rows import index_vectors
from storage.index.versions import current_manifest
from storage.source import digests
from storage.tables import matrix, vectors
from storage.workspace import Workspace
from tests.indexes import DIMENSION, PART, TEN, counts, publish_images, vector, versions
from tests.shared import ROOT, with_shared


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def rewritten(change: Callable[[pa.Table], pa.Table]) -> Callable[[Path], object]:
    """Damage that leaves a readable Parquet file."""
    return lambda file: pq.write_table(change(pq.read_table(file, partitioning=None)), file)


def with_vectors(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Path], object]:
    """Damage the vectors alone."""

    def changed(table: pa.Table) -> pa.Table:
        embedding_ND = change(matrix(table["embedding"]).copy())
        return table.set_column(5, "embedding", vectors(embedding_ND))

    return rewritten(changed)


def first_row(value: float) -> Callable[[Path], object]:
    """Multiply the first vector by a value."""
    return with_vectors(lambda embedding_ND: np.vstack([embedding_ND[:1] * np.float16(value), embedding_ND[1:]]))


def of_another(key: bytes) -> Callable[[Path], object]:
    """Change a part's metadata."""
    return rewritten(lambda table: table.replace_schema_metadata({**table.schema.metadata, key: b"7"}))


FAULTS: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "no manifest": ("manifest.json", Path.unlink, "is missing"),
    "half a manifest": ("manifest.json", lambda file: file.write_text(file.read_text()[:60]), "is truncated"),
    "a manifest of something else": ("manifest.json", lambda file: file.write_text("{}"), "or not a manifest"),
    "gone": (PART, Path.unlink, "is missing"),
    "empty": (PART, lambda file: file.write_bytes(b""), "is empty"),
    "cut short": (PART, lambda file: file.write_bytes(file.read_bytes()[:-20]), "is truncated or not a Parquet file"),
    "half": (PART, lambda file: file.write_bytes(file.read_bytes()[:2000]), "is truncated or not a Parquet file"),
    "text": (PART, lambda file: file.write_text("hello"), "is truncated or not a Parquet file"),
    "fewer rows": (PART, rewritten(lambda table: table.slice(1)), "does not match its recorded digest"),
    "one more column": (PART, rewritten(lambda table: table.append_column("n", pa.nulls(10))), "does not match"),
    "ids of a number": (
        PART,
        rewritten(lambda table: table.set_column(0, "image_id", pa.array(range(10)))),
        "has ids that are not strings",
    ),
    "no ids": (PART, rewritten(lambda table: table.drop_columns("image_id")), "does not have the columns of an index"),
    "an id twice": (PART, rewritten(lambda table: pa.concat_tables([table[:1], table])), "has the image '0.jpg' twice"),
    "all ids twice": (PART, rewritten(lambda table: pa.concat_tables([table, table])), "has '0.jpg' after '9.jpg'"),
    "NaN": (PART, first_row(np.nan), "has a vector of length nan for '0.jpg'"),
    "infinite": (PART, first_row(np.inf), "has a vector of length (inf|nan) for '0.jpg'"),
    "zero": (PART, first_row(0), "has a vector of length 0 for '0.jpg'"),
    "long": (PART, first_row(1000), "has a vector of length 1e[+]03 for '0.jpg'"),
    "another width": (
        PART,
        with_vectors(lambda embedding_ND: embedding_ND[:, :2]),
        "has vectors of dimension 2, not 4",
    ),
    "turned": (PART, with_vectors(lambda embedding_ND: embedding_ND[:, ::-1]), "does not match its recorded digest"),
    "another model": (PART, of_another(b"model_digest"), "has another model digest"),
    "another preprocessing": (PART, of_another(b"preprocessing"), "has another preprocessing"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_damaged_version_is_named_and_indexing_again_mends_it(fault: str, workspace: Workspace) -> None:
    publish_images(workspace)
    file, damage, cause = FAULTS[fault]
    damage(workspace.index / "main" / "1" / file)
    with pytest.raises(
        StorageError,
        match=rf"^Version 1 of the index 'main' is damaged: {file} .*{cause}.*; run `scenekin index` again",
    ):
        current_manifest(workspace, "main")
    manifest = publish_images(workspace)
    assert (manifest.version, counts(manifest)) == (2, (10, 0, 0, 0))
    assert current_manifest(workspace, "main") == manifest


@with_shared
def test_every_mutation_of_the_shared_case_is_refused_by_name_or_harmless(workspace: Workspace) -> None:
    """F21."""
    manifest = publish_images(workspace)
    (script,) = (ROOT / "cases").glob("F21-*/mutate_parquet.py")
    folder, mutated = workspace.index / "main" / "1", workspace.root / "mutated"
    done = subprocess.run([sys.executable, script, folder, mutated], capture_output=True, text=True, check=True)
    answers = {}
    for mutation in (line.partition(" ")[0] for line in done.stdout.splitlines()):
        shutil.rmtree(folder)
        shutil.copytree(mutated / mutation, folder)
        try:
            assert current_manifest(workspace, "main") == manifest
            answers[mutation] = index_vectors(workspace, manifest).tolist()
        except StorageError as error:
            assert f"{PART} " in str(error)  # noqa: PT017  the file is named
    assert list(answers) == ["tmp_left"]
    assert answers["tmp_left"] == [vector(sha256).tolist() for sha256 in TEN.values()]


def test_a_version_is_read_whole_once_and_again_when_a_file_was_touched(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = publish_images(workspace)
    folder = workspace.index / "main" / "1"
    read: list[str] = []

    def noted(file: Path) -> str:
        read.append(file.name)
        return file_digest(file)

    monkeypatch.setattr("storage.index.verify.file_digest", noted)

    def opened() -> list[str]:
        read.clear()
        current_manifest(workspace, "main")
        index_vectors(workspace, manifest)
        return list(read)

    assert opened() == opened() == [PART, "vectors.f16"]  # what was only just written is not trusted
    monkeypatch.setattr(digests, "SETTLED_NS", -(10**18))
    assert opened() == [PART, "vectors.f16"]
    assert opened() == []
    (folder / PART).write_bytes((folder / PART).read_bytes())
    assert opened() == [PART]
    (folder / "verified.json").write_text("[")
    assert opened() == [PART, "vectors.f16"]
    data = bytearray((folder / PART).read_bytes())
    data[100] ^= 1
    (folder / PART).write_bytes(data)
    with pytest.raises(StorageError, match=f"{PART} is"):
        opened()


def test_what_cannot_be_written_is_read_all_the_same(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = publish_images(workspace)
    monkeypatch.setattr(digests, "SETTLED_NS", -(10**18))
    (workspace.index / "main" / "1" / "verified.json").mkdir()  # as a disk that is read-only: no file can go there
    assert current_manifest(workspace, "main") == manifest


def change_raw(change: Callable[[np.ndarray], object]) -> Callable[[Path], object]:
    """Change the raw vectors of a version that is being written."""
    return lambda folder: change(np.memmap(folder / "vectors.f16", np.float16, "r+").reshape(-1, DIMENSION))


def scale(factor: float) -> Callable[[np.ndarray], object]:
    return lambda raw_ND: raw_ND.__setitem__(3, raw_ND[3] * np.float16(factor))


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (scale(np.nan), "has a vector of length nan for '3.jpg'"),
        (scale(np.inf), "has a vector of length (inf|nan) for '3.jpg'"),
        (scale(0), "has a vector of length 0 for '3.jpg'"),
        (scale(1.01), "has a vector of length 1.01 for '3.jpg'"),
        (lambda raw_ND: raw_ND.__setitem__(slice(None), raw_ND[::-1].copy()), "does not find '.*' by its own vector"),
    ],
)
def test_wrong_vectors_do_not_become_current(
    change: Callable[[np.ndarray], object], fault: str, workspace: Workspace
) -> None:
    first = publish_images(workspace)
    with (
        inject(FaultPoint.INDEX_VECTORS_WRITTEN, change_raw(change)),
        pytest.raises(StorageError, match=f"^The new version of the index 'main' {fault}; it was discarded"),
    ):
        publish_images(workspace, TEN | {"new.jpg": "new"})
    assert current_manifest(workspace, "main") == first
    assert versions(workspace) == ["1"]


def test_a_raw_file_of_other_vectors_does_not_become_current(workspace: Workspace) -> None:
    with (
        inject(FaultPoint.INDEX_PARTS_WRITTEN, change_raw(scale(-1))),
        pytest.raises(StorageError, match=r"has different vectors in vectors\.f16 and part-00000\.parquet"),
    ):
        publish_images(workspace)
    assert current_manifest(workspace, "main") is None


@pytest.mark.parametrize(
    ("listed", "fault"),
    [
        ([*TEN, "lost.jpg"], "lacks 'lost.jpg', which is not among the refused images either"),
        ([*TEN, "0.jpg"], "lacks '0.jpg'"),
        ([*TEN][1:], "contains '0.jpg', which the collection does not list"),
    ],
)
def test_what_is_listed_is_indexed_or_refused(listed: list[str], fault: str, workspace: Workspace) -> None:
    """P20."""
    with pytest.raises(StorageError, match=fault):
        publish_images(workspace, listed=listed)
    assert current_manifest(workspace, "main") is None
    refused = tuple(RefusedImage(item=item, reason="empty file") for item in ("lost.jpg", "lost.jpg"))
    assert publish_images(workspace, refused=refused).images == 10


@pytest.mark.parametrize(("ids", "fault"), [(["a", "a"], "has the image 'a' twice"), (["b", "a"], "has 'a' after 'b'")])
def test_ids_come_once_and_in_order(ids: list[str], fault: str, workspace: Workspace) -> None:
    with pytest.raises(StorageError, match=fault):
        publish_images(workspace, dict.fromkeys(ids, "one"), ids=ids)


def test_copies_find_one_another_and_that_is_well(workspace: Workspace) -> None:
    images = {f"{number:03}.jpg": f"sha-{number % 3}" for number in range(100)}
    assert publish_images(workspace, images).images == 100
