"""Small indexes that tests publish without embedding images."""

from collections.abc import Callable, Collection
from pathlib import Path

import numpy as np
import pyarrow as pa

from storage.index.manifest import IndexModel, Manifest, MeasuredRecall, RefusedImage
from storage.index.publish import publish
from storage.models import ModelRef
from storage.tables import table_writer, vectors
from storage.workspace import Workspace

DIMENSION = 4
PART = "part-00000.parquet"
MODEL = IndexModel(name="scenekin", version=1, reference=ModelRef(path="models/m1", digest="m1"))
TEN = {f"{number}.jpg": f"sha-{number}" for number in range(10)}


def vector(sha256: str, model: IndexModel = MODEL) -> np.ndarray:
    """Return a unit vector that depends on an image's bytes and a model."""
    seed = int.from_bytes(f"{sha256}{model.version}".encode(), "big")
    value_D = np.random.default_rng(seed).normal(size=DIMENSION)
    return (value_D / np.linalg.norm(value_D)).astype(np.float16)


def _embed(workspace: Workspace, sha256s: Collection[str], model: IndexModel) -> Path:
    digests = sorted(sha256s, reverse=True)
    file = workspace.root / "embeddings.parquet"
    schema = pa.schema([("sha256", pa.string()), ("embedding", pa.list_(pa.float16(), DIMENSION))])
    embedding_ND = np.array([vector(sha256, model) for sha256 in digests], np.float16).reshape(-1, DIMENSION)
    with table_writer(file, schema) as write:
        write(pa.record_batch([digests, vectors(embedding_ND)], schema=schema))
    return file


def publish_images(
    workspace: Workspace,
    images: dict[str, str] = TEN,
    *,
    name: str = "main",
    model: IndexModel = MODEL,
    collection: str = "/collection",
    refused: tuple[RefusedImage, ...] = (),
    allow_shrink: bool = False,
    moved: bool = False,
    follow_links: bool = False,
    paths: dict[str, str] | None = None,
    ids: list[str] | None = None,
    listed: list[str] | None = None,
    not_embedded: Collection[str] = (),
    embeddings: Path | None = None,
    images_root: str = "/images",
    approximate_from: int = 1_000_000,
    approximate: Callable[[np.ndarray, Path], MeasuredRecall] = lambda *_: {},
) -> Manifest:
    """Publish images given as digests by id; their embeddings lie in another order."""
    file = embeddings or _embed(workspace, set(images.values()) - {*not_embedded}, model)
    ids = ids or sorted(images)
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
        listed=listed or [*ids, *(refusal.item for refusal in refused)],
        refused=refused,
        allow_shrink=allow_shrink,
        moved=moved,
        columns={},
        follow_links=follow_links,
        approximate_from=approximate_from,
        approximate=approximate,
    )


def versions(workspace: Workspace, name: str = "main") -> list[str]:
    """Return the names of the version folders."""
    return sorted(path.name for path in (workspace.index / name).iterdir() if path.name != "CURRENT")


def counts(manifest: Manifest) -> tuple[int, int, int, int]:
    """Return how many images were added, changed, removed and unchanged."""
    changes = manifest.changes
    return changes.added, changes.changed, changes.removed, changes.unchanged
