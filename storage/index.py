"""Index versions: immutable folders of Parquet with a manifest, and a pointer to the current one (CLI.md, Files)."""

import os
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict

from storage.artifacts import file_digest, fresh_folder
from storage.errors import StorageError
from storage.models import ModelRef
from storage.tables import matrix, read_table, vectors, write_table
from storage.workspace import Workspace

CURRENT, MANIFEST, RAW = "CURRENT", "manifest.json", "vectors.f16"
PART_ROWS = 65_536
SHRINK_LIMIT = 0.2


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


class Manifest(BaseModel):
    """What a version holds. `parts` and `raw` give the SHA-256 of each file.

    Paths are below `images_root`, a folder or URL.
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
    parts: dict[str, str]
    raw: dict[str, str]
    changes: Changes
    refused: tuple[Refused, ...]


def current_version(workspace: Workspace, name: str) -> int | None:
    """The number of the version in use, which costs next to nothing to ask; None where there is no such index."""
    try:
        return int((_home(workspace, name) / CURRENT).read_text())
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
    folder = _home(workspace, name)
    version = current_version(workspace, name)
    if version is None:
        return None
    try:
        manifest = Manifest.model_validate_json((folder / str(version) / MANIFEST).read_text())
        if sum(pq.read_metadata(folder / str(version) / part).num_rows for part in manifest.parts) != manifest.images:
            raise ValueError("rows are missing")
    except (OSError, ValueError) as error:
        raise StorageError(
            f"Version {version} of the index {name!r} is damaged; run `scenekin index` again."
        ) from error
    return manifest


def _home(workspace: Workspace, name: str) -> Path:
    if not re.fullmatch(r"\w[\w.-]*", name):
        raise StorageError(f"{name!r} cannot name an index; use letters, digits, dots, hyphens and underscores.")
    return workspace.index / name


def index_rows(workspace: Workspace, manifest: Manifest, columns: list[str]) -> pa.Table:
    """Rows of a version in id order."""
    folder = workspace.index / manifest.name / str(manifest.version)
    return pa.concat_tables([read_table(folder / part, columns) for part in manifest.parts])


def index_captions(workspace: Workspace, manifest: Manifest) -> pa.ChunkedArray:
    """A caption a row in id order, null where there is none and in parts from before captions were kept."""
    folder = workspace.index / manifest.name / str(manifest.version)
    chunks: list[pa.Array] = []
    for part in manifest.parts:
        schema, rows = pq.read_schema(folder / part), pq.read_metadata(folder / part).num_rows
        kept = "caption" in schema.names
        chunks += read_table(folder / part, ["caption"])["caption"].chunks if kept else [pa.nulls(rows, pa.string())]
    return pa.chunked_array(chunks, pa.string())


def index_vectors(workspace: Workspace, manifest: Manifest) -> np.ndarray:
    """embedding_ND, float16, of a version in id order, memory-mapped; the raw file is derived again if it is gone."""
    shape = manifest.images, manifest.dimension
    if not manifest.images:
        return np.empty(shape, np.float16)  # an empty file cannot be mapped
    path = workspace.index / manifest.name / str(manifest.version) / RAW
    if not path.exists() or path.stat().st_size != 2 * shape[0] * shape[1]:
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        matrix(index_rows(workspace, manifest, ["embedding"])["embedding"]).tofile(temporary)
        temporary.replace(path)
    return np.memmap(path, np.float16, "r", shape=shape)


def publish(
    workspace: Workspace,
    name: str,
    images: pa.Table,
    embeddings: Path,
    *,
    collection: str,
    images_root: str,
    model: IndexModel,
    preprocessing: str,
    refused: Sequence[Refused],
    allow_shrink: bool,
) -> Manifest:
    """Make images (image_id, path, sha256, width, height, caption; in id order) and embeddings the current version.

    Nothing is written where nothing changed; a damaged version counts as none. Raises StorageError where the index
    belongs to another collection, or where more than a fifth of it would vanish and `allow_shrink` is not set.
    """
    folder = _home(workspace, name)
    check_owner(workspace, name, collection)
    before = _whole(workspace, name)
    changes = _compare(workspace, before, images)
    if before is not None:
        _guard(before, collection, changes, allow_shrink)
        same = changes.unchanged == before.images == images.num_rows
        kept = before.images_root, before.model, before.refused
        if same and kept == (images_root, model, tuple(refused)):
            return before.model_copy(update={"changes": changes})
    version = 1 + max((int(path.name) for path in folder.glob("[0-9]*")), default=0)
    with fresh_folder(folder / str(version)) as fresh:
        parts, dimension = _write_parts(fresh, images, embeddings, model, preprocessing)
        manifest = Manifest(
            name=name,
            version=version,
            created_at=datetime.now(UTC).isoformat(timespec="seconds"),
            collection=collection,
            images_root=images_root,
            model=model,
            images=images.num_rows,
            dimension=dimension,
            preprocessing=preprocessing,
            parts=parts,
            raw={RAW: file_digest(fresh / RAW)},
            changes=changes,
            refused=tuple(refused),
        )
        (fresh / MANIFEST).write_text(manifest.model_dump_json(indent=1))
    _point(folder, version)
    return manifest


def _whole(workspace: Workspace, name: str) -> Manifest | None:
    try:
        return current_manifest(workspace, name)
    except StorageError:
        return None


def check_owner(workspace: Workspace, name: str, collection: str) -> None:
    """Raises StorageError where no index can have that name, or where it is another collection's."""
    _home(workspace, name)
    before = _whole(workspace, name)
    if before is not None and before.collection != collection:
        raise StorageError(f"The index {name!r} belongs to {before.collection}; give this collection another --name.")


def _guard(before: Manifest, collection: str, changes: Changes, allow_shrink: bool) -> None:
    if changes.removed > SHRINK_LIMIT * before.images and not allow_shrink:
        raise StorageError(
            f"{changes.removed} of {before.images} images in the index {before.name!r} are gone from {collection}; "
            "if that is meant, say --allow-shrink."
        )


def _compare(workspace: Workspace, before: Manifest | None, images: pa.Table) -> Changes:
    new = _files(images)
    old = {} if before is None else _files(index_rows(workspace, before, ["image_id", "path", "sha256"]))
    kept = new.keys() & old.keys()
    changed = sum(new[image_id] != old[image_id] for image_id in kept)
    return Changes(
        added=len(new) - len(kept),
        changed=changed,
        removed=len(old) - len(kept),
        unchanged=len(kept) - changed,
    )


def _files(rows: pa.Table) -> dict[str, tuple[str, str]]:
    """Path and digest by id."""
    ids, paths, digests = (rows[column].to_pylist() for column in ("image_id", "path", "sha256"))
    return dict(zip(ids, zip(paths, digests, strict=True), strict=True))


def _write_parts(
    folder: Path, images: pa.Table, embeddings: Path, model: IndexModel, preprocessing: str
) -> tuple[dict[str, str], int]:
    """Parts in id order and the raw file beside them; the digests of the parts, and the dimension."""
    known = read_table(embeddings)
    embedding_ND = matrix(known["embedding"])
    row_of = {sha256: row for row, sha256 in enumerate(known["sha256"].to_pylist())}
    dimension = embedding_ND.shape[1]
    metadata = {
        "model": model.name,
        "model_version": str(model.version),
        "model_digest": model.reference.digest,
        "dimension": str(dimension),
        "preprocessing": preprocessing,
    }
    field = pa.field("embedding", pa.list_(pa.float16(), dimension))
    schema = images.schema.append(field).with_metadata(metadata)
    parts = {}
    with (folder / RAW).open("wb") as raw:
        for number, part in enumerate(_slices(images, PART_ROWS)):
            name = f"part-{number:05}.parquet"
            values_BD = embedding_ND[[row_of[sha256] for sha256 in part["sha256"].to_pylist()]]
            write_table(folder / name, part.append_column(field, vectors(values_BD)).cast(schema))
            values_BD.tofile(raw)
            parts[name] = file_digest(folder / name)
    return parts, dimension


def _slices(table: pa.Table, rows: int) -> Iterator[pa.Table]:
    for start in range(0, max(1, table.num_rows), rows):
        yield table.slice(start, rows)


def _point(folder: Path, version: int) -> None:
    """Make a version current in one rename."""
    temporary = folder / f".{CURRENT}.{os.getpid()}.tmp"
    temporary.write_text(str(version))
    temporary.replace(folder / CURRENT)
