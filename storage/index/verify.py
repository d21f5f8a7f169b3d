"""Checks of an index version: its files against their digests, its vectors and ids against what they have to be."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from storage.atomic import fresh_file
from storage.checksum import file_digest
from storage.index.manifest import RAW, Manifest
from storage.source.digests import file_stamp
from storage.tables import matrix, metadata_of, read_batches, read_table

VERIFIED = "verified.json"
UNIT_TOLERANCE = 5e-3  # of a length after rounding to float16, or to bfloat16 before
SAMPLE = 32  # images that have to find themselves
BLOCK_ROWS = 8192  # vectors in float32 at a time


def changed_files(folder: Path, digests: Mapping[str, str]) -> list[str]:
    """Return the names of files that are missing or do not match their SHA-256.

    A verified file's size, times and inode are remembered in `verified.json`, and it is not read again until they
    change. Copies have other inodes and are read again; so is a file written within the last two seconds, as a second
    write could leave the same time stamp.
    """
    known = _verified_before(folder)
    stamps = {name: f"{stamp} {digests[name]}" for name in digests if (stamp := file_stamp(folder / name))}
    unread = [name for name in digests if name not in stamps or known.get(name) != stamps[name]]
    changed = [name for name in unread if _digest(folder / name) != digests[name]]
    verified = {name: stamps[name] for name in unread if name in stamps and name not in changed}
    if verified:
        with suppress(OSError), fresh_file(folder / VERIFIED) as temporary:  # read-only folders are read every time
            temporary.write_text(json.dumps({**known, **verified}), encoding="utf-8")
    return changed


def _verified_before(folder: Path) -> dict[str, str]:
    with suppress(OSError, ValueError):
        known = json.loads((folder / VERIFIED).read_text(encoding="utf-8"))
        if isinstance(known, dict):
            return known
    return {}


def _digest(file: Path) -> str | None:
    try:
        return file_digest(file)
    except OSError:
        return None


def part_fault(part: Path, metadata: Mapping[str, str]) -> str:
    """Describe the fault of a part that does not match its digest and should have this metadata."""
    if not part.is_file():
        return "is missing"
    if part.stat().st_size == 0:
        return "is empty"
    try:
        found, rows = metadata_of(part), read_table(part)
    except (OSError, pa.ArrowException):
        return "is truncated or not a Parquet file"
    differing = [key.replace("_", " ") for key, value in metadata.items() if found.get(key) != value]
    return f"has another {differing[0]}" if differing else _rows_fault(rows, int(metadata["dimension"]))


def _rows_fault(rows: pa.Table, dimension: int) -> str:
    try:
        if rows.schema.field("image_id").type != pa.string():
            return "has ids that are not strings"
        ids: list[str] = rows["image_id"].to_pylist()
        embedding_ND = matrix(rows["embedding"])
    except (AttributeError, KeyError):
        return "does not have the columns of an index"
    return vectors_fault(ids, embedding_ND, dimension) or ids_fault(ids) or "does not match its recorded digest"


def ids_fault(image_ids: Sequence[str]) -> str | None:
    """Describe what is wrong with the ids of an index, which have to ascend without repetition."""
    for before, image_id in pairwise(image_ids):
        if before >= image_id:
            return f"has the image {image_id!r} twice" if before == image_id else f"has {image_id!r} after {before!r}"
    return None


def vectors_fault(image_ids: Sequence[str], embedding_ND: np.ndarray, dimension: int) -> str | None:
    """Describe what is wrong with the vectors of an index, which have to be finite and of unit length."""
    if embedding_ND.shape[1] != dimension:
        return f"has vectors of dimension {embedding_ND.shape[1]}, not {dimension}"
    length_N = np.sqrt(np.einsum("nd,nd->n", embedding_ND, embedding_ND, dtype=np.float32))
    wrong = np.flatnonzero(~(np.abs(length_N - 1) <= UNIT_TOLERANCE))  # negated so that NaN is wrong
    return f"has a vector of length {length_N[wrong[0]]:.3g} for {image_ids[wrong[0]]!r}" if len(wrong) else None


def version_fault(folder: Path, manifest: Manifest, listed: Sequence[str], embeddings: Path) -> str | None:
    """Describe what is wrong with the files of a new version, if anything.

    Every image of `listed` has to be indexed or refused, and a sample of images has to find itself by its vector in
    `embeddings`.
    """
    ids: list[str] = []
    digests: list[str] = []
    for part in manifest.parts:
        rows = read_table(folder / part, ["image_id", "sha256", "embedding"])
        embedding_BD, part_ids = matrix(rows["embedding"]), rows["image_id"].to_pylist()
        if fault := vectors_fault(part_ids, embedding_BD, manifest.dimension):
            return fault
        raw = np.fromfile(folder / RAW, np.float16, embedding_BD.size, offset=2 * len(ids) * manifest.dimension)
        if raw.tobytes() != embedding_BD.tobytes():
            return f"has different vectors in {RAW} and {part}"
        ids += part_ids
        digests += rows["sha256"].to_pylist()
    accounted = Counter([*ids, *(refusal.item for refusal in manifest.refused)])
    for item in Counter(listed) - accounted:
        return f"lacks {item!r}, which is not among the refused images either"
    for item in accounted - Counter(listed):
        return f"contains {item!r}, which the collection does not list"
    return ids_fault(ids) or _search_fault(folder, manifest, ids, digests, embeddings)


def _search_fault(folder: Path, manifest: Manifest, ids: list[str], digests: list[str], embeddings: Path) -> str | None:
    """Name an image of a seeded sample for which another image is nearer to its vector than itself."""
    sample_S = np.random.default_rng(0).permutation(len(ids))[:SAMPLE]
    if not len(sample_S):
        return None
    query_SD = _vectors_of([digests[row] for row in sample_S], embeddings)
    raw_ND = np.memmap(folder / RAW, np.float16, "r", shape=(manifest.images, manifest.dimension))
    own_S = (query_SD * raw_ND[sample_S]).sum(axis=1)
    best_S = own_S
    for start in range(0, manifest.images, BLOCK_ROWS):
        best_S = np.maximum(best_S, (raw_ND[start : start + BLOCK_ROWS].astype(np.float32) @ query_SD.T).max(axis=0))
    lost = np.flatnonzero(~(own_S >= best_S - UNIT_TOLERANCE))
    return f"does not find {ids[sample_S[lost[0]]]!r} by its own vector" if len(lost) else None


def _vectors_of(digests: list[str], embeddings: Path) -> np.ndarray:
    """Return vector_SD, float32, of images given by the digests of their bytes."""
    vector_of: dict[str, np.ndarray] = {}
    for batch in read_batches(embeddings, ["sha256", "embedding"]):
        found = batch.filter(pc.is_in(batch["sha256"], pa.array(digests, pa.string())))
        vector_of |= zip(found["sha256"].to_pylist(), matrix(pa.chunked_array([found["embedding"]])), strict=True)
    return np.stack([vector_of[digest] for digest in digests]).astype(np.float32)
