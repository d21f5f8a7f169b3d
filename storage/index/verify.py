"""Whether files are what was published, and what is wrong with vectors and Parquet parts, by name."""

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


def changed_files(folder: Path, digests: Mapping[str, str]) -> list[str]:
    """Of files with their SHA-256 those that are gone or have other bytes.

    A file is read when it is first looked at; its size, times and inode are remembered beside it (`verified.json`), so
    that opening costs a look at the folder until something changes. Copies have other inodes and are read again, and
    so is what was written within the last two seconds: within one time stamp it might be written again.
    """
    known = _remembered(folder)
    seen = {name: f"{stamp} {digests[name]}" for name in digests if (stamp := file_stamp(folder / name))}
    unread = [name for name in digests if name not in seen or known.get(name) != seen[name]]
    changed = [name for name in unread if _digest(folder / name) != digests[name]]
    sound = {name: seen[name] for name in unread if name in seen and name not in changed}
    if sound:
        with suppress(OSError), fresh_file(folder / VERIFIED) as temporary:  # a read-only folder is read every time
            temporary.write_text(json.dumps({**known, **sound}))
    return changed


def _remembered(folder: Path) -> dict[str, str]:
    with suppress(OSError, ValueError):
        known = json.loads((folder / VERIFIED).read_text())
        if isinstance(known, dict):
            return known
    return {}


def _digest(file: Path) -> str | None:
    try:
        return file_digest(file)
    except OSError:
        return None


def part_fault(part: Path, metadata: Mapping[str, str]) -> str:
    """What is wrong with a part that is not what was published with this metadata, as far as it shows."""
    if not part.is_file():
        return "is missing"
    if part.stat().st_size == 0:
        return "is empty"
    try:
        told, rows = metadata_of(part), read_table(part)
    except (OSError, pa.ArrowException):
        return "is cut short or no Parquet file"
    other = [key.replace("_", " ") for key, value in metadata.items() if told.get(key) != value]
    return f"is of another {other[0]}" if other else _rows_fault(rows, int(metadata["dimension"]))


def _rows_fault(rows: pa.Table, dimension: int) -> str:
    try:
        if rows.schema.field("image_id").type != pa.string():
            return "has ids that are no texts"
        ids: list[str] = rows["image_id"].to_pylist()
        embedding_ND = matrix(rows["embedding"])
    except (AttributeError, KeyError):
        return "has other columns than an index"
    return vectors_fault(ids, embedding_ND, dimension) or ids_fault(ids) or "is not the file that was published"


def ids_fault(image_ids: Sequence[str]) -> str | None:
    """What is wrong with the ids of an index, which ascend, each once."""
    for before, image_id in pairwise(image_ids):
        if before >= image_id:
            return f"has the image {image_id!r} twice" if before == image_id else f"has {image_id!r} after {before!r}"
    return None


def vectors_fault(image_ids: Sequence[str], embedding_ND: np.ndarray, dimension: int) -> str | None:
    """What is wrong with the vectors of an index: of another width, not finite, or not of unit length."""
    if embedding_ND.shape[1] != dimension:
        return f"has vectors of width {embedding_ND.shape[1]}, not {dimension}"
    length_N = np.sqrt(np.einsum("nd,nd->n", embedding_ND, embedding_ND, dtype=np.float32))
    wrong = np.flatnonzero(~(np.abs(length_N - 1) <= UNIT_TOLERANCE))  # so written that NaN is wrong
    return f"has a vector of length {length_N[wrong[0]]:.3g} for {image_ids[wrong[0]]!r}" if len(wrong) else None


SAMPLE = 32  # images that have to find themselves


BLOCK_ROWS = 8192  # whose vectors are held in float32 at a time


def version_fault(folder: Path, manifest: Manifest, listed: Sequence[str], embeddings: Path) -> str | None:
    """What is wrong with a version as it lies on the disk, if anything."""
    ids: list[str] = []
    digests: list[str] = []
    for part in manifest.parts:
        rows = read_table(folder / part, ["image_id", "sha256", "embedding"])
        embedding_BD, part_ids = matrix(rows["embedding"]), rows["image_id"].to_pylist()
        if fault := vectors_fault(part_ids, embedding_BD, manifest.dimension):
            return fault
        raw = np.fromfile(folder / RAW, np.float16, embedding_BD.size, offset=2 * len(ids) * manifest.dimension)
        if raw.tobytes() != embedding_BD.tobytes():
            return f"has other vectors in {RAW} than in {part}"
        ids += part_ids
        digests += rows["sha256"].to_pylist()
    accounted = Counter([*ids, *(refusal.item for refusal in manifest.refused)])
    for item in Counter(listed) - accounted:
        return f"lacks {item!r}, which was not refused either"
    for item in accounted - Counter(listed):
        return f"accounts for {item!r}, which the collection does not list"
    return ids_fault(ids) or _lost(folder, manifest, ids, digests, embeddings)


def _lost(folder: Path, manifest: Manifest, ids: list[str], digests: list[str], embeddings: Path) -> str | None:
    """Which image of a seeded sample does not find itself by its vector, nor one that is as near."""
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
    return f"finds {ids[sample_S[lost[0]]]!r} by another image's vector" if len(lost) else None


def _vectors_of(digests: list[str], embeddings: Path) -> np.ndarray:
    """vector_SD, float32, of images by their bytes' digests."""
    vector_of: dict[str, np.ndarray] = {}
    for batch in read_batches(embeddings, ["sha256", "embedding"]):
        found = batch.filter(pc.is_in(batch["sha256"], pa.array(digests, pa.string())))
        vector_of |= zip(found["sha256"].to_pylist(), matrix(pa.chunked_array([found["embedding"]])), strict=True)
    return np.stack([vector_of[digest] for digest in digests]).astype(np.float32)
