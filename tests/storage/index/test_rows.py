import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from storage.checksum import file_digest
from storage.index import rows
from storage.index.rows import index_rows, index_vectors, vectors_intact
from storage.index.vector_file import VectorFile
from storage.index.versions import current_manifest
from storage.workspace import Workspace
from tests.indexes import DIMENSION, PART, TEN, counts, publish_images, vector


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


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


def test_what_lies_beside_the_parts_does_no_harm(workspace: Workspace) -> None:
    manifest = publish_images(workspace)
    folder = workspace.index / "main"
    for file in (folder / "1" / f"{PART}.tmp", folder / "1" / "part-00009.parquet", folder / "2.bak", folder / "7"):
        file.write_bytes(b"left")
    assert current_manifest(workspace, "main") == manifest
    assert index_rows(workspace, manifest, ["image_id"]).num_rows == 10
    assert publish_images(workspace, TEN | {"new.jpg": "new"}).version == 2


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


TRUNCATED = """
import os, sys
from pathlib import Path
import numpy as np
from scenekin import Searcher
from storage.errors import StorageError
from storage.index import rows
from tests.indexes import DIMENSION

rows.IN_MEMORY = int(sys.argv[2])
searcher = Searcher.open(sys.argv[1])
before = searcher.search(image_id="0.jpg")
os.truncate(Path(sys.argv[1], "index/main/1/vectors.f16"), 0)
try:
    assert searcher.search(image_id="0.jpg") == before
    print("searched")
except StorageError as error:
    print(error)
assert searcher.current().search(image_id="0.jpg") == before
"""


@pytest.mark.parametrize(
    ("in_memory", "out"),
    [(2**29, "searched\n"), (0, "The vectors of the index 'main' were truncated; open it again.\n")],
)
def test_a_searcher_survives_the_truncation_of_its_vectors(workspace: Workspace, in_memory: int, out: str) -> None:
    images = {f"{number}.jpg": f"sha-{number}" for number in range(5000)}
    publish_images(workspace, images)
    command = [sys.executable, "-c", TRUNCATED, str(workspace.root), str(in_memory)]
    done = subprocess.run(command, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, out), done.stderr


def test_large_vectors_stay_in_their_file_and_small_ones_are_in_memory(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = publish_images(workspace)
    assert isinstance(index_vectors(workspace, manifest), np.ndarray)
    monkeypatch.setattr(rows, "IN_MEMORY", 80)
    assert isinstance(index_vectors(workspace, manifest), VectorFile)
    assert vectors_intact(workspace, manifest)
    (workspace.index / "main" / "1" / "vectors.f16").unlink()
    assert vectors_intact(workspace, manifest)
