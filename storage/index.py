"""Index versions: immutable folders of Parquet with a manifest, and a pointer to the current one (CLI.md, Files)."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict

from storage.errors import StorageError
from storage.models import ModelRef
from storage.soundness import changed_files, part_fault
from storage.tables import matrix, read_table
from storage.workspace import Workspace

CURRENT, MANIFEST, RAW, APPROXIMATE = "CURRENT", "manifest.json", "vectors.f16", "approximate.faiss"

T = TypeVar("T")


class IndexModel(BaseModel):
    """The model that embedded an index: its registered name and version, and its folder in the workspace."""

    model_config = ConfigDict(frozen=True)

    name: str
    version: int
    reference: ModelRef


class Changes(BaseModel):
    """How a version's images differ from those of the version before."""

    model_config = ConfigDict(frozen=True)

    added: int
    changed: int
    removed: int
    unchanged: int


class Refused(BaseModel):
    """An image of the collection that is not in the index, and why."""

    model_config = ConfigDict(frozen=True)

    item: str
    reason: str


class Approximate(BaseModel):
    """An approximate index beside the parts: its file's SHA-256, and its measured recall against exact search.

    Recall is by the length of the result list and by the number of lists that a query looks into.
    """

    model_config = ConfigDict(frozen=True)

    file: dict[str, str]
    recall: dict[int, dict[int, float]]

    def effort(self, top: int, recall: float) -> tuple[int, float] | None:
        """The fewest lists in which this share of the `top` nearest was found, and the share; None if in no number."""
        depth = min((depth for depth in self.recall if depth >= top), default=None)
        enough = [] if depth is None else [(n, found) for n, found in self.recall[depth].items() if found >= recall]
        return min(enough, default=None)


class Manifest(BaseModel):
    """What a version holds. `parts` and `raw` give the SHA-256 of each file.

    Paths are below `images_root`, a folder or URL. From `approximate_from` images on there is an approximate index.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    version: int
    created_at: str
    collection: str
    images_root: str
    model: IndexModel
    images: int
    dimension: int
    preprocessing: str
    parts: dict[str, str] = {}
    raw: dict[str, str] = {}
    approximate_from: int = 1_000_000  # what versions had that do not say
    approximate: Approximate | None = None
    changes: Changes
    refused: tuple[Refused, ...]

    @property
    def is_large(self) -> bool:
        """Whether it should have an approximate index."""
        return 0 < self.images >= self.approximate_from

    @property
    def part_metadata(self) -> dict[str, str]:
        """What every part says of its vectors."""
        return {
            "model": self.model.name,
            "model_version": str(self.model.version),
            "model_digest": self.model.reference.digest,
            "dimension": str(self.dimension),
            "preprocessing": self.preprocessing,
        }


def home(workspace: Workspace, name: str) -> Path:
    """The folder of an index. Raises StorageError where the name would lead elsewhere."""
    if not re.fullmatch(r"\w[\w.-]*", name):
        raise StorageError(f"{name!r} cannot name an index; use letters, digits, dots, hyphens and underscores.")
    return workspace.index / name


def version_numbers(workspace: Workspace, name: str) -> list[int]:
    """The versions that are there, whole or damaged, the oldest first."""
    folder = home(workspace, name)
    return sorted(int(path.name) for path in folder.glob("*") if path.name.isdecimal() and path.is_dir())


def current_version(workspace: Workspace, name: str) -> int | None:
    """The number of the version in use, which costs next to nothing to ask; None where there is no such index."""
    try:
        return int((home(workspace, name) / CURRENT).read_text())
    except OSError:
        return None
    except ValueError as error:
        raise StorageError(
            f"The index {name!r} does not say which version is in use; run `scenekin index` again."
        ) from error


def current_manifest(workspace: Workspace, name: str) -> Manifest | None:
    """The manifest of the version in use; None where there is no index of that name.

    Raises StorageError where it, or a part of what it lists, is damaged.
    """
    return read_current(workspace, name, lambda manifest: manifest)


def read_current(workspace: Workspace, name: str, read: Callable[[Manifest], T]) -> T | None:
    """What `read` makes of the version in use; None where there is no index of that name.

    It reads again where a newer version came, and this one went, meanwhile. Raises StorageError as current_manifest.
    """
    while (version := current_version(workspace, name)) is not None:
        try:
            return read(sound_manifest(workspace, name, version))
        except (OSError, StorageError):
            if current_version(workspace, name) == version:
                raise
    return None


def no_index(workspace: Workspace, name: str) -> StorageError:
    """What to say where there is no index of that name."""
    return StorageError(f"There is no index {name!r} in {workspace.root}; make one with `scenekin index COLLECTION`.")


def read_manifest(workspace: Workspace, name: str, version: int) -> Manifest:
    """What a version says that it holds. Raises StorageError where it does not say."""
    try:
        manifest = Manifest.model_validate_json((home(workspace, name) / str(version) / MANIFEST).read_text())
    except OSError as error:
        raise _damaged(name, version, f"{MANIFEST} is missing") from error
    except ValueError as error:
        raise _damaged(name, version, f"{MANIFEST} is cut short or something else") from error
    if (manifest.name, manifest.version) != (name, version):
        raise _damaged(name, version, f"{MANIFEST} is that of version {manifest.version} of {manifest.name!r}")
    return manifest


def sound_manifest(workspace: Workspace, name: str, version: int) -> Manifest:
    """The manifest of a version whose parts are what was published. Raises StorageError naming what is not."""
    manifest = read_manifest(workspace, name, version)
    folder = home(workspace, name) / str(version)
    for part in changed_files(folder, manifest.parts):
        raise _damaged(name, version, f"{part} {part_fault(folder / part, manifest.part_metadata)}")
    return manifest


def _damaged(name: str, version: int, fault: str) -> StorageError:
    return StorageError(
        f"Version {version} of the index {name!r} is damaged: {fault}; run `scenekin index` again, "
        "or go back by `scenekin versions rollback`."
    )


def index_rows(workspace: Workspace, manifest: Manifest, columns: list[str]) -> pa.Table:
    """Rows of a version in id order."""
    folder = workspace.index / manifest.name / str(manifest.version)
    return pa.concat_tables([read_table(folder / part, columns) for part in manifest.parts])


def index_captions(workspace: Workspace, manifest: Manifest) -> pa.ChunkedArray:
    """A caption a row in id order: what the collection says of an image, null where that is nothing."""
    folder = workspace.index / manifest.name / str(manifest.version)
    kept = [
        name for name in pq.read_schema(folder / next(iter(manifest.parts))).names if name in {"image_id", "caption"}
    ]
    return captions_of(index_rows(workspace, manifest, kept))


def captions_of(rows: pa.Table) -> pa.ChunkedArray:
    """The column `caption`; nulls where rows have none, as those of versions from before captions were kept."""
    if "caption" in rows.column_names:
        return rows["caption"]
    return pa.chunked_array([pa.nulls(rows.num_rows, pa.string())])


def index_vectors(workspace: Workspace, manifest: Manifest) -> np.ndarray:
    """embedding_ND, float16, of a version in id order, memory-mapped.

    The raw file is derived again from the parts where it is gone or not what was published.
    """
    shape = manifest.images, manifest.dimension
    if not manifest.images:
        return np.empty(shape, np.float16)  # an empty file cannot be mapped
    folder = workspace.index / manifest.name / str(manifest.version)
    if changed_files(folder, manifest.raw):
        temporary = folder / f".{RAW}.{os.getpid()}.tmp"
        with temporary.open("wb") as raw:
            for part in manifest.parts:
                matrix(read_table(folder / part, ["embedding"])["embedding"]).tofile(raw)
        temporary.replace(folder / RAW)
    return np.memmap(folder / RAW, np.float16, "c", shape=shape)  # torch warns of what cannot be written


def approximate_file(workspace: Workspace, manifest: Manifest) -> Path | None:
    """The file of a version's approximate index; None where it has none, or one that is not what was published."""
    folder = workspace.index / manifest.name / str(manifest.version)
    if manifest.approximate is None or changed_files(folder, manifest.approximate.file):
        return None
    return folder / APPROXIMATE


def make_current(workspace: Workspace, name: str, version: int) -> None:
    """In one rename: whoever opens the index sees the version before or this one."""
    folder = home(workspace, name)
    temporary = folder / f".{CURRENT}.{os.getpid()}.tmp"
    temporary.write_text(str(version))
    temporary.replace(folder / CURRENT)


def roll_back(workspace: Workspace, name: str, to: int | None = None) -> Manifest:
    """Make an earlier version current: the one before, or `to`. The caller holds the workspace's lock.

    Raises StorageError where there is none, or where it is damaged.
    """
    current = current_version(workspace, name)
    if current is None:
        raise no_index(workspace, name)
    there = version_numbers(workspace, name)
    earlier = [number for number in there if number < current]
    if to is None and not earlier:
        raise StorageError(f"There is no version of the index {name!r} before {current} to go back to.")
    version = earlier[-1] if to is None else to
    if version not in there:
        raise StorageError(
            f"There is no version {version} of the index {name!r}; there are {', '.join(map(str, there))}."
        )
    manifest = sound_manifest(workspace, name, version)
    make_current(workspace, name, version)
    return manifest


def drop_old(workspace: Workspace, name: str, keep: int) -> None:
    """Remove all versions but the current one and the `keep` newest others. The caller holds the workspace's lock.

    A version vanishes in one rename; whoever has its files open or mapped reads on.
    """
    folder, current = home(workspace, name), current_version(workspace, name)
    others = [number for number in version_numbers(workspace, name) if number != current]
    for number in others[: max(0, len(others) - keep)]:
        temporary = folder / f".{number}.{os.getpid()}.tmp"
        (folder / str(number)).rename(temporary)
        shutil.rmtree(temporary)
