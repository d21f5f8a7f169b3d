"""The work of publishing an index version."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from storage.artifacts import Artifact, folder_of
from storage.index.manifest import IndexModel, Manifest, MeasuredRecall, RefusedImage
from storage.index.publish import publish
from storage.index.versions import drop_old
from storage.models import ModelRef
from storage.registry import MODEL
from storage.source.tree import Source
from storage.tables import read_table
from storage.workspace import Workspace
from tasks.collection.records import SPLITS
from tasks.embedding.files import FILE, REFUSED
from tasks.model.config import load_config
from tasks.search.approximate import build, measure_recall, save
from tasks.search.config import IndexConfig


def publish_index(
    workspace: Workspace,
    name: str,
    collection: Artifact,
    embedding: Artifact,
    version: int,
    model: ModelRef,
    source: Source,
    allow_shrink: bool,
    moved: bool,
    columns: dict[str, Any],
    config: IndexConfig,
) -> Manifest:
    """Publish the embedded images of a collection as the current version. Raises StorageError."""
    folder = folder_of(workspace, collection)
    images = read_table(folder / "images.parquet")
    unreadable = {
        entry["sha256"]: entry["reason"]
        for entry in json.loads((folder_of(workspace, embedding) / REFUSED).read_text(encoding="utf-8"))
    }
    usable = pa.array([sha256 not in unreadable for sha256 in images["sha256"].to_pylist()], pa.bool_())
    refused = [
        RefusedImage(item=row["image_id"], reason=unreadable[row["sha256"]])
        for row in images.filter(pc.invert(usable)).to_pylist()
    ]
    unusable = [
        RefusedImage(**refusal) for refusal in json.loads((folder / "refused.json").read_text(encoding="utf-8"))
    ]
    recipe = load_config(workspace.root / model.path)
    preprocessing = json.dumps([each.model_dump() for each in recipe.preprocessings])
    manifest = publish(
        workspace,
        name,
        with_captions(images, folder).filter(usable),
        folder_of(workspace, embedding) / FILE,
        collection=source.address,
        images_root=source.trees()[1].address,
        follow_links=source.follow_links,
        model=IndexModel(name=MODEL, version=version, reference=model),
        preprocessing=hashlib.sha256(preprocessing.encode()).hexdigest()[:16],
        listed=[*images["image_id"].to_pylist(), *(refusal.item for refusal in unusable)],
        refused=sorted([*refused, *unusable], key=lambda refusal: refusal.item),
        allow_shrink=allow_shrink,
        moved=moved,
        columns=columns,
        approximate_from=config.approximate_from,
        approximate=write_approximate,
    )
    drop_old(workspace, name, config.keep)
    return manifest


def with_captions(images: pa.Table, collection: Path) -> pa.Table:
    """Add a column `caption`: the first caption of each image or null, for display only."""
    tables = [read_table(collection / f"captions/{split}.parquet") for split in SPLITS]
    ids, captions = (
        [value for table in tables for value in table[name].to_pylist()] for name in ("image_id", "captions")
    )
    first_of = {image_id: texts[0] for image_id, texts in zip(ids, captions, strict=True)}
    column = pa.array([first_of.get(image_id) for image_id in images["image_id"].to_pylist()], pa.string())
    return images.append_column("caption", column)


def write_approximate(embedding_ND: np.ndarray, file: Path) -> MeasuredRecall:
    """Build an approximate index, write it to a file, and measure its recall. Raises InputError."""
    index = build(embedding_ND)
    save(index, file)
    return measure_recall(index, embedding_ND)
