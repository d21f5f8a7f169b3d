"""Publication of an index version: written to a temporary folder, checked, and made current by a rename."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from storage.atomic import fresh_folder
from storage.checksum import file_digest
from storage.errors import StorageError
from storage.faults import FaultPoint, reach
from storage.index.manifest import (
    APPROXIMATE,
    MANIFEST,
    RAW,
    Approximate,
    Changes,
    IndexModel,
    Manifest,
    MeasuredRecall,
    RefusedImage,
)
from storage.index.rows import captions_of, index_captions, index_rows
from storage.index.verify import version_fault
from storage.index.versions import (
    current_manifest,
    current_version,
    index_folder,
    make_current,
    read_manifest,
    version_numbers,
)
from storage.tables import matrix, read_batches, read_table, vectors, write_table
from storage.workspace import Workspace

PART_ROWS = 65_536
SHRINK_LIMIT = 0.2

WriteApproximate = Callable[[np.ndarray, Path], MeasuredRecall]  # embedding_ND and the file to write


def publish(
    workspace: Workspace,
    name: str,
    images: pa.Table,
    embeddings: Path,
    *,
    collection: str,
    images_root: str,
    follow_links: bool,
    model: IndexModel,
    preprocessing: str,
    listed: Sequence[str],
    refused: Sequence[RefusedImage],
    allow_shrink: bool,
    moved: bool,
    columns: dict[str, Any],
    approximate_from: int,
    approximate: WriteApproximate,
) -> Manifest:
    """Write a new version of an index, check it and make it current; nothing is written if nothing has changed.

    `images` has columns image_id, path, sha256, width, height and caption, sorted by id; `embeddings` is a Parquet file
    with the embedding of each digest. `listed` has the ids of all images of the collection, each of which must be
    indexed or `refused`. From `approximate_from` images on, `approximate` also writes an approximate index and measures
    its recall. A damaged current version is replaced even if nothing has changed.

    Raises StorageError, and leaves the current version as it is, if the index belongs to another collection that was
    not `moved` here, if it would lose more than a fifth of its images without `allow_shrink`, or if the new version
    fails its checks.
    """
    check_owner(workspace, name, collection, moved)
    before = _undamaged(workspace, name)
    changes = _compare(workspace, before, images)
    captions = captions_of(images)
    _check_shrink(_recorded(workspace, name), collection, images.num_rows, changes.removed, allow_shrink)
    draft = Manifest(
        name=name,
        version=1 + max(version_numbers(workspace, name), default=0),
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        collection=collection,
        images_root=images_root,
        follow_links=follow_links,
        model=model,
        images=images.num_rows,
        columns=columns,
        captioned=_captioned(captions),
        dimension=pq.read_schema(embeddings).field("embedding").type.list_size,
        preprocessing=preprocessing,
        approximate_from=approximate_from,
        changes=changes,
        refused=tuple(refused),
    )
    if before is not None and _is_same(before, draft) and index_captions(workspace, before) == captions:
        return before.model_copy(update={"changes": changes, "captioned": draft.captioned})
    manifest = _write_checked(workspace, images, embeddings, draft, listed, approximate)
    make_current(workspace, name, manifest.version)
    return manifest


def check_owner(workspace: Workspace, name: str, collection: str, moved: bool) -> Manifest | None:
    """Return the current manifest, which may be of a damaged version.

    Raises StorageError if the index name is invalid or taken by another collection, unless that was `moved`.
    """
    before = _recorded(workspace, name)
    if before is not None and before.collection != collection and not moved:
        raise StorageError(
            f"The index {name!r} belongs to {before.collection}. If that collection was moved to {collection}, "
            "add --moved; otherwise choose another --name."
        )
    return before


def _undamaged(workspace: Workspace, name: str) -> Manifest | None:
    """Return the current manifest if all its parts are intact."""
    try:
        return current_manifest(workspace, name)
    except StorageError:
        return None


def _recorded(workspace: Workspace, name: str) -> Manifest | None:
    """Return the current manifest whether or not its parts are damaged."""
    try:
        version = current_version(workspace, name)
        return None if version is None else read_manifest(workspace, name, version)
    except StorageError:
        return None


def _check_shrink(before: Manifest | None, collection: str, images: int, removed: int, allow_shrink: bool) -> None:
    """Raise StorageError if too many images have disappeared. A damaged version only tells how many images it had."""
    missing = 0 if before is None else max(removed, before.images - images)
    if before is not None and missing > SHRINK_LIMIT * before.images and not allow_shrink:
        raise StorageError(
            f"{collection} lacks {missing:,} of the {before.images:,} images in the index {before.name!r}; "
            "to remove them from the index, use --allow-shrink."
        )


def _is_same(before: Manifest, draft: Manifest) -> bool:
    """Return whether a new version would have the contents of the previous one."""
    own = {"version", "created_at", "parts", "raw", "changes", "approximate", "approximate_from"}
    own |= {"captioned", "columns"}  # captions are compared themselves
    unchanged = draft.changes.unchanged == before.images == draft.images
    unchanged &= (before.approximate is not None) == draft.is_large
    return unchanged and before.model_dump(exclude=own) == draft.model_dump(exclude=own)


def _compare(workspace: Workspace, before: Manifest | None, images: pa.Table) -> Changes:
    """Match images by id, and the rest by their bytes."""
    new = _files(images)
    old = {} if before is None else _files(index_rows(workspace, before, ["image_id", "path", "sha256"]))
    kept = new.keys() & old.keys()
    unchanged = sum(new[image_id] == old[image_id] for image_id in kept)
    moved = sum(new[image_id] != old[image_id] and new[image_id][1] == old[image_id][1] for image_id in kept)
    added, removed = (
        Counter(files[image_id][1] for image_id in files.keys() - kept) for files in (new, old)
    )  # digests
    renamed = (added & removed).total()
    return Changes(
        added=added.total() - renamed,
        changed=len(kept) - unchanged - moved,
        removed=removed.total() - renamed,
        renamed=renamed + moved,
        unchanged=unchanged,
        captioned_before=0 if before is None else _captioned(index_captions(workspace, before)),
        model_before=None if before is None else before.model.version,
    )


def _captioned(captions: pa.ChunkedArray) -> int:
    return len(captions) - int(captions.null_count)


def _files(rows: pa.Table) -> dict[str, tuple[str, str]]:
    """Return path and digest by image id."""
    ids, paths, digests = (rows[column].to_pylist() for column in ("image_id", "path", "sha256"))
    return dict(zip(ids, zip(paths, digests, strict=True), strict=True))


def _write_checked(
    workspace: Workspace,
    images: pa.Table,
    embeddings: Path,
    draft: Manifest,
    listed: Sequence[str],
    approximate: WriteApproximate,
) -> Manifest:
    """Write a version, and rename its folder if it passes the checks. Raises StorageError otherwise."""
    folder = index_folder(workspace, draft.name)
    try:
        with fresh_folder(folder / str(draft.version)) as temporary:
            manifest = _write(temporary, images, embeddings, draft, approximate)
            reach(FaultPoint.INDEX_MANIFEST_WRITTEN, temporary)
            if fault := version_fault(temporary, manifest, listed, embeddings):
                raise StorageError(
                    f"The new version of the index {draft.name!r} {fault}; it was discarded, "
                    "and the index is unchanged."
                )
    except OSError as error:
        raise StorageError(
            f"Cannot write the new version of the index {draft.name!r} to {folder}: {error.strerror or error}; "
            "the index is unchanged."
        ) from error
    return manifest


def _write(
    folder: Path, images: pa.Table, embeddings: Path, draft: Manifest, approximate: WriteApproximate
) -> Manifest:
    """Write all files of a version, the manifest last."""
    _write_vectors(folder / RAW, images, embeddings, draft)
    reach(FaultPoint.INDEX_VECTORS_WRITTEN, folder)
    parts = _write_parts(folder, images, draft)
    reach(FaultPoint.INDEX_PARTS_WRITTEN, folder)
    manifest = draft.model_copy(
        update={
            "parts": parts,
            "raw": {RAW: file_digest(folder / RAW)},
            "approximate": _write_approximate(folder, draft, approximate),
        }
    )
    (folder / MANIFEST).write_text(manifest.model_dump_json(indent=1), encoding="utf-8")
    return manifest


def _write_vectors(file: Path, images: pa.Table, embeddings: Path, draft: Manifest) -> None:
    """Write embedding_ND in the order of the images, copying batches of rows so that it need not fit into memory.

    Raises StorageError if an image has no vector.
    """
    source_N = pc.index_in(images["sha256"], value_set=read_table(embeddings, ["sha256"])["sha256"].combine_chunks())
    if source_N.null_count:
        lost = images.filter(source_N.is_null())["image_id"]
        raise StorageError(
            f"Images neither embedded nor refused: {len(lost):,}, the first of them {lost[0].as_py()!r}; "
            f"nothing was published, and the index {draft.name!r} is unchanged."
        )
    with file.open("wb") as stream:  # reserve the space: a full disk is an error here, but kills a process below
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
    """Write rows and vectors as Parquet parts in id order, and return the digest of each."""
    field = pa.field("embedding", pa.list_(pa.float16(), draft.dimension))
    schema = images.schema.append(field).with_metadata(draft.part_metadata)
    parts = {}
    for number, (rows, embedding_BD) in enumerate(_slices(folder, images, draft)):
        part = f"part-{number:05}.parquet"
        write_table(folder / part, rows.append_column(field, vectors(embedding_BD)).cast(schema))
        parts[part] = file_digest(folder / part)
    return parts


def _slices(folder: Path, rows: pa.Table, manifest: Manifest) -> Iterator[tuple[pa.Table, np.ndarray]]:
    """Yield the rows and vectors of each part; an empty index has one empty part."""
    for start in range(0, max(1, rows.num_rows), PART_ROWS):
        part = rows.slice(start, PART_ROWS)
        shape = part.num_rows, manifest.dimension
        values = np.fromfile(folder / RAW, np.float16, shape[0] * shape[1], offset=2 * start * shape[1])
        yield part, values.reshape(shape)


def _write_approximate(folder: Path, draft: Manifest, write: WriteApproximate) -> Approximate | None:
    if not draft.is_large:
        return None
    embedding_ND = np.memmap(folder / RAW, np.float16, "c", shape=(draft.images, draft.dimension))
    recall = write(embedding_ND, folder / APPROXIMATE)
    return Approximate(file={APPROXIMATE: file_digest(folder / APPROXIMATE)}, recall=recall)
