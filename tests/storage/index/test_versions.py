import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from storage.checksum import file_digest
from storage.errors import StorageError
from storage.index.manifest import Manifest
from storage.index.rows import index_rows, index_vectors
from storage.index.verify import changed_files
from storage.index.versions import current_manifest, current_version, drop_old, read_current, roll_back
from storage.source import digests
from storage.tables import matrix, vectors
from storage.workspace import Workspace
from tests.indexes import DIMENSION, TEN, counts, publish_images, vector, versions
from tests.shared import ROOT, with_shared

PART = "part-00000.parquet"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def rewritten(change: Callable[[pa.Table], pa.Table]) -> Callable[[Path], object]:
    """Damage that leaves a whole Parquet file."""
    return lambda file: pq.write_table(change(pq.read_table(file, partitioning=None)), file)


def with_vectors(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Path], object]:
    """Damage of the vectors alone."""

    def changed(table: pa.Table) -> pa.Table:
        embedding_ND = change(matrix(table["embedding"]).copy())
        return table.set_column(5, "embedding", vectors(embedding_ND))

    return rewritten(changed)


def first_row(value: float) -> Callable[[Path], object]:
    """The first vector times a value."""
    return with_vectors(lambda embedding_ND: np.vstack([embedding_ND[:1] * np.float16(value), embedding_ND[1:]]))


def of_another(key: bytes) -> Callable[[Path], object]:
    """A part that says that its vectors are something else's."""
    return rewritten(lambda table: table.replace_schema_metadata({**table.schema.metadata, key: b"7"}))


FAULTS: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "no manifest": ("manifest.json", Path.unlink, "is missing"),
    "half a manifest": ("manifest.json", lambda file: file.write_text(file.read_text()[:60]), "is cut short"),
    "a manifest of something else": ("manifest.json", lambda file: file.write_text("{}"), "or something else"),
    "gone": (PART, Path.unlink, "is missing"),
    "empty": (PART, lambda file: file.write_bytes(b""), "is empty"),
    "cut short": (PART, lambda file: file.write_bytes(file.read_bytes()[:-20]), "is cut short or no Parquet file"),
    "half": (PART, lambda file: file.write_bytes(file.read_bytes()[:2000]), "is cut short or no Parquet file"),
    "text": (PART, lambda file: file.write_text("hello"), "is cut short or no Parquet file"),
    "fewer rows": (PART, rewritten(lambda table: table.slice(1)), "is not the file that was published"),
    "one more column": (PART, rewritten(lambda table: table.append_column("n", pa.nulls(10))), "is not the file"),
    "ids of a number": (
        PART,
        rewritten(lambda table: table.set_column(0, "image_id", pa.array(range(10)))),
        "has ids that are no texts",
    ),
    "no ids": (PART, rewritten(lambda table: table.drop_columns("image_id")), "has other columns than an index"),
    "an id twice": (PART, rewritten(lambda table: pa.concat_tables([table[:1], table])), "has the image '0.jpg' twice"),
    "all ids twice": (PART, rewritten(lambda table: pa.concat_tables([table, table])), "has '0.jpg' after '9.jpg'"),
    "NaN": (PART, first_row(np.nan), "has a vector of length nan for '0.jpg'"),
    "infinite": (PART, first_row(np.inf), "has a vector of length (inf|nan) for '0.jpg'"),
    "zero": (PART, first_row(0), "has a vector of length 0 for '0.jpg'"),
    "long": (PART, first_row(1000), "has a vector of length 1e[+]03 for '0.jpg'"),
    "another width": (PART, with_vectors(lambda embedding_ND: embedding_ND[:, :2]), "has vectors of width 2, not 4"),
    "turned": (PART, with_vectors(lambda embedding_ND: embedding_ND[:, ::-1]), "is not the file that was published"),
    "another model": (PART, of_another(b"model_digest"), "is of another model digest"),
    "another preprocessing": (PART, of_another(b"preprocessing"), "is of another preprocessing"),
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


def test_whoever_reads_meanwhile_always_sees_a_whole_version(workspace: Workspace) -> None:
    publish_images(workspace)
    seen, published = set[int](), threading.Event()

    def whole(manifest: Manifest) -> int:
        assert index_vectors(workspace, manifest).shape == (manifest.images, DIMENSION)
        return manifest.version

    def read() -> None:
        while not published.is_set():
            version = read_current(workspace, "main", whole)
            assert version is not None
            seen.add(version)

    failures: list[object] = []
    monitor = threading.Thread(target=lambda: failures.extend(failure_of(read)))
    monitor.start()
    for number in range(20):
        publish_images(workspace, TEN | {"new.jpg": f"{number}"})
        drop_old(workspace, "main", 0)
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


def test_a_version_under_another_name_or_number_is_refused(workspace: Workspace) -> None:
    publish_images(workspace)
    shutil.copytree(workspace.index / "main", workspace.index / "other")
    with pytest.raises(StorageError, match=r"'other' is damaged: manifest\.json is that of version 1 of 'main'"):
        current_manifest(workspace, "other")
    publish_images(workspace, TEN | {"new.jpg": "new"})
    shutil.copy(workspace.index / "main" / "1" / "manifest.json", workspace.index / "main" / "2" / "manifest.json")
    with pytest.raises(StorageError, match="Version 2 of the index 'main' is damaged"):
        current_manifest(workspace, "main")


def test_what_does_not_say_which_version_is_in_use_is_refused_and_mended(workspace: Workspace) -> None:
    publish_images(workspace)
    for text in ("", "two"):
        (workspace.index / "main" / "CURRENT").write_text(text)
        with pytest.raises(StorageError, match="'main' does not say which version is in use"):
            current_manifest(workspace, "main")
    assert publish_images(workspace).version == current_version(workspace, "main") == 2


def test_what_lies_beside_the_parts_does_no_harm(workspace: Workspace) -> None:
    manifest = publish_images(workspace)
    folder = workspace.index / "main"
    for file in (folder / "1" / f"{PART}.tmp", folder / "1" / "part-00009.parquet", folder / "2.bak", folder / "7"):
        file.write_bytes(b"left")
    assert current_manifest(workspace, "main") == manifest
    assert index_rows(workspace, manifest, ["image_id"]).num_rows == 10
    assert publish_images(workspace, TEN | {"new.jpg": "new"}).version == 2


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


@pytest.mark.parametrize(
    "damage",
    [
        Path.unlink,
        lambda file: file.write_bytes(file.read_bytes()[:-8]),
        lambda file: file.write_bytes(file.read_bytes()[::-1]),
        lambda file: file.write_bytes(b""),
    ],
)
def test_the_raw_file_is_derived_again(damage: Callable[[Path], object], workspace: Workspace) -> None:
    manifest = publish_images(workspace)
    raw = workspace.index / "main" / "1" / "vectors.f16"
    before, digest = np.array(index_vectors(workspace, manifest)), manifest.raw["vectors.f16"]
    damage(raw)
    assert (index_vectors(workspace, manifest) == before).all()
    assert file_digest(raw) == digest
    assert sorted(path.name for path in raw.parent.iterdir()) == ["manifest.json", PART, "vectors.f16"]


# Going back, and what is kept.


def four_versions(workspace: Workspace) -> None:
    for number in range(1, 5):
        publish_images(workspace, TEN | {"new.jpg": f"{number}"})


def test_rolling_back_goes_to_the_version_before_or_to_a_named_one(workspace: Workspace) -> None:
    four_versions(workspace)
    assert roll_back(workspace, "main").version == current_version(workspace, "main") == 3
    assert roll_back(workspace, "main").version == current_version(workspace, "main") == 2
    assert roll_back(workspace, "main", to=4).version == current_version(workspace, "main") == 4
    manifest = roll_back(workspace, "main", to=1)
    with pytest.raises(StorageError, match="no version of the index 'main' before 1"):
        roll_back(workspace, "main")
    with pytest.raises(StorageError, match="no version 9 of the index 'main'; there are 1, 2, 3, 4"):
        roll_back(workspace, "main", to=9)
    with pytest.raises(StorageError, match="no index 'other'"):
        roll_back(workspace, "other")
    assert current_manifest(workspace, "main") == manifest


def test_after_going_back_the_next_version_has_a_higher_number(workspace: Workspace) -> None:
    four_versions(workspace)
    roll_back(workspace, "main", to=2)
    same = publish_images(workspace, TEN | {"new.jpg": "2"})
    assert (same.version, counts(same)) == (2, (0, 0, 0, 11))
    newer = publish_images(workspace, TEN | {"new.jpg": "4"})
    assert (newer.version, counts(newer)) == (5, (0, 1, 0, 10))


def test_no_one_goes_back_to_a_damaged_version_but_from_one(workspace: Workspace) -> None:
    four_versions(workspace)
    (workspace.index / "main" / "4" / PART).unlink()
    (workspace.index / "main" / "3" / PART).write_text("hello")
    with pytest.raises(StorageError, match=f"Version 3 .* is damaged: {PART} is cut short"):
        roll_back(workspace, "main")
    assert current_version(workspace, "main") == 4
    assert roll_back(workspace, "main", to=2).version == 2


@pytest.mark.parametrize(("keep", "kept"), [(0, "4"), (1, "34"), (3, "1234"), (4, "1234"), (9, "1234")])
def test_old_versions_go_and_the_newest_are_kept(keep: int, kept: str, workspace: Workspace) -> None:
    four_versions(workspace)
    drop_old(workspace, "main", keep)
    assert versions(workspace) == list(kept)


def test_the_version_in_use_is_never_dropped(workspace: Workspace) -> None:
    four_versions(workspace)
    manifest = roll_back(workspace, "main", to=1)
    embedding_ND = index_vectors(workspace, manifest)
    drop_old(workspace, "main", 1)
    assert versions(workspace) == ["1", "4"]
    roll_back(workspace, "main", to=4)
    drop_old(workspace, "main", 0)
    assert versions(workspace) == ["4"]
    assert (embedding_ND[0] == vector("sha-0")).all()  # whoever has it mapped reads on


def test_a_reader_whose_version_goes_meanwhile_sees_the_newer_one(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish_images(workspace)
    newer = []

    def looked(folder: Path, digests: dict[str, str]) -> list[str]:
        monkeypatch.undo()
        newer.append(publish_images(workspace, TEN | {"new.jpg": "new"}))
        drop_old(workspace, "main", 0)
        return changed_files(folder, digests)

    monkeypatch.setattr("storage.index.versions.changed_files", looked)
    assert current_manifest(workspace, "main") == newer[0]
    assert len(newer) == 1


@pytest.mark.parametrize("name", ["", ".", "..", "../artifacts", "a/b", ".hidden", "a b"])
def test_a_name_stays_inside_the_workspace(name: str, workspace: Workspace) -> None:
    with pytest.raises(StorageError, match="cannot name an index"):
        publish_images(workspace, name=name)
    with pytest.raises(StorageError, match="cannot name an index"):
        current_manifest(workspace, name)
