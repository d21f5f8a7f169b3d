"""Publication of an index version: written and checked aside, current in one rename."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from storage.atomic import fresh_folder
from storage.checksum import file_digest
from storage.errors import StorageError
from storage.index.manifest import APPROXIMATE, MANIFEST, RAW, Approximate, Changes, IndexModel, Manifest, Refused
from storage.index.rows import captions_of, index_captions, index_rows
from storage.index.verify import version_fault
from storage.index.versions import current_manifest, current_version, home, make_current, read_manifest, version_numbers
from storage.tables import matrix, read_batches, read_table, vectors, write_table
from storage.workspace import Workspace

PART_ROWS = 65_536
SHRINK_LIMIT = 0.2
Recall = dict[int, dict[int, float]]  # by the length of the result list and the effort


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
    listed: Sequence[str],
    refused: Sequence[Refused],
    allow_shrink: bool,
    approximate_from: int,
    approximate: Callable[[np.ndarray, Path], Recall],
) -> Manifest:
    """Make images (image_id, path, sha256, width, height, caption; in id order) and embeddings the current version.

    Nothing is written where nothing changed; a damaged version counts as none. Raises StorageError where the index
    belongs to another collection, where more than a fifth of it would vanish and `allow_shrink` is not set, and where
    the new version fails its check: then it is gone, and the version before stays current. `listed` names all images
    of the collection: each has to be indexed or refused. From so many images on `approximate` writes an approximate
    index of embedding_ND into a file and measures it.
    """
    check_owner(workspace, name, collection)
    before = _whole(workspace, name)
    changes = _compare(workspace, before, images)
    _guard(_claimed(workspace, name), collection, images.num_rows, changes.removed, allow_shrink)
    draft = Manifest(
        name=name,
        version=1 + max(version_numbers(workspace, name), default=0),
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        collection=collection,
        images_root=images_root,
        model=model,
        images=images.num_rows,
        dimension=pq.read_schema(embeddings).field("embedding").type.list_size,
        preprocessing=preprocessing,
        approximate_from=approximate_from,
        changes=changes,
        refused=tuple(refused),
    )
    if before is not None and _same(before, draft) and index_captions(workspace, before) == captions_of(images):
        return before.model_copy(update={"changes": changes})
    try:
        with fresh_folder(home(workspace, name) / str(draft.version)) as folder:
            manifest = _write(folder, images, embeddings, draft, approximate)
            if fault := version_fault(folder, manifest, listed, embeddings):
                raise StorageError(
                    f"The new version of the index {name!r} {fault}; it is not made current and is removed."
                )
    except OSError as error:
        raise StorageError(
            f"The new version of the index {name!r} cannot be written in {home(workspace, name)}: "
            f"{error.strerror or error}; the version before stays in use."
        ) from error
    make_current(workspace, name, manifest.version)
    return manifest


def _whole(workspace: Workspace, name: str) -> Manifest | None:
    try:
        return current_manifest(workspace, name)
    except StorageError:
        return None


def check_owner(workspace: Workspace, name: str, collection: str) -> None:
    """Raises StorageError where no index can have that name, or where it is another collection's."""
    before = _claimed(workspace, name)
    if before is not None and before.collection != collection:
        raise StorageError(f"The index {name!r} belongs to {before.collection}; give this collection another --name.")


def _claimed(workspace: Workspace, name: str) -> Manifest | None:
    """What the version in use says that it holds, be its parts damaged or not."""
    try:
        version = current_version(workspace, name)
        return None if version is None else read_manifest(workspace, name, version)
    except StorageError:
        return None


def _guard(before: Manifest | None, collection: str, images: int, removed: int, allow_shrink: bool) -> None:
    """Of a damaged version it is not known which images are gone, but how many there were."""
    gone = 0 if before is None else max(removed, before.images - images)
    if before is not None and gone > SHRINK_LIMIT * before.images and not allow_shrink:
        raise StorageError(
            f"{gone} of {before.images} images in the index {before.name!r} are gone from {collection}; "
            "if that is meant, say --allow-shrink."
        )


def _same(before: Manifest, draft: Manifest) -> bool:
    """Whether a new version would hold what the one before holds."""
    own = {"version", "created_at", "parts", "raw", "changes", "approximate", "approximate_from"}
    unchanged = draft.changes.unchanged == before.images == draft.images
    unchanged &= (before.approximate is not None) == draft.is_large
    return unchanged and before.model_dump(exclude=own) == draft.model_dump(exclude=own)


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


def _write(
    folder: Path, images: pa.Table, embeddings: Path, draft: Manifest, approximate: Callable[[np.ndarray, Path], Recall]
) -> Manifest:
    """All files of a version, the manifest last."""
    _write_raw(folder / RAW, images, embeddings, draft)
    parts, raw = _write_parts(folder, images, draft), {RAW: file_digest(folder / RAW)}
    facts = {"parts": parts, "raw": raw, "approximate": _approximate(folder, draft, approximate)}
    manifest = draft.model_copy(update=facts)
    (folder / MANIFEST).write_text(manifest.model_dump_json(indent=1))
    return manifest


def _write_raw(file: Path, images: pa.Table, embeddings: Path, draft: Manifest) -> None:
    """embedding_ND in the order of the images: vectors go to their rows in batches, so that they are never all held.

    Raises StorageError where an image has no vector.
    """
    source_N = pc.index_in(images["sha256"], value_set=read_table(embeddings, ["sha256"])["sha256"].combine_chunks())
    if source_N.null_count:
        lost = images.filter(source_N.is_null())["image_id"]
        raise StorageError(
            f"{len(lost)} images, {lost[0].as_py()!r} first, were neither embedded nor refused; "
            f"nothing is published, and the index {draft.name!r} stays as it is."
        )
    with file.open("wb") as stream:  # room is made first: a full disk is an error here, and a killed process below
        for start in range(0, draft.images, PART_ROWS):
            stream.write(bytes(2 * draft.dimension * min(PART_ROWS, draft.images - start)))
    if not draft.images:
        return
    raw_ND = np.memmap(file, np.float16, "r+", shape=(draft.images, draft.dimension))
    source_N = source_N.combine_chunks().to_numpy()
    row_N = np.argsort(source_N, kind="stable")
    start = 0
    for batch in read_batches(embeddings, ["embedding"]):
        stop = start + batch.num_rows
        row_B = row_N[slice(*np.searchsorted(source_N, [start, stop], sorter=row_N))]
        raw_ND[row_B] = matrix(pa.chunked_array([batch["embedding"]]))[source_N[row_B] - start]
        start = stop
    raw_ND.flush()


def _write_parts(folder: Path, images: pa.Table, draft: Manifest) -> dict[str, str]:
    """Parts in id order beside the raw file, and the digest of each."""
    field = pa.field("embedding", pa.list_(pa.float16(), draft.dimension))
    schema = images.schema.append(field).with_metadata(draft.part_metadata)
    parts = {}
    for number, (rows, embedding_BD) in enumerate(_slices(folder, images, draft)):
        part = f"part-{number:05}.parquet"
        write_table(folder / part, rows.append_column(field, vectors(embedding_BD)).cast(schema))
        parts[part] = file_digest(folder / part)
    return parts


def _approximate(folder: Path, draft: Manifest, write: Callable[[np.ndarray, Path], Recall]) -> Approximate | None:
    if not draft.is_large:
        return None
    recall = write(
        np.memmap(folder / RAW, np.float16, "c", shape=(draft.images, draft.dimension)), folder / APPROXIMATE
    )
    return Approximate(file={APPROXIMATE: file_digest(folder / APPROXIMATE)}, recall=recall)


def _slices(folder: Path, rows: pa.Table, manifest: Manifest) -> Iterator[tuple[pa.Table, np.ndarray]]:
    """The rows of each part, one at least, and what the raw file has for them."""
    for start in range(0, max(1, rows.num_rows), PART_ROWS):
        part = rows.slice(start, PART_ROWS)
        shape = part.num_rows, manifest.dimension
        values = np.fromfile(folder / RAW, np.float16, shape[0] * shape[1], offset=2 * start * shape[1])
        yield part, values.reshape(shape)
