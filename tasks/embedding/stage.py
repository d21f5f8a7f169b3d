"""The work of the embedding stages: from images or precomputed features to a Parquet table of embeddings."""

import json
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from storage.artifacts import Artifact
from storage.models import ModelRef
from storage.reuse import known_rows
from storage.tables import read_table, table_writer, vectors
from tasks.caching import StageRun
from tasks.embedding.embed import embed_images
from tasks.embedding.files import FILE, REFUSED
from tasks.features.descriptors import load_descriptors, project
from tasks.images.loader import Refusal
from tasks.model.device import choose_device
from tasks.model.persistence import load
from tasks.progress import progress


def embed_table(run: StageRun, images: Artifact, file: str, model: ModelRef, recipe: str) -> None:
    """Embed a table of images; rows of earlier artifacts with the same recipe are reused."""
    table = read_table(run.open(images) / file)
    path_of = dict(zip(table["sha256"].to_pylist(), table["path"].to_pylist(), strict=True))
    network = load(run.workspace.root / model.path)
    schema = _schema(network.config.dimension, recipe)
    refused = []
    with table_writer(run.folder / FILE, schema) as write:
        for known in known_rows(run.workspace, run.stage, FILE, recipe, set(path_of)):
            write(known)
            for sha256 in known["sha256"].to_pylist():
                del path_of[sha256]
        digests, paths = list(path_of), list(path_of.values())
        with progress("embedding", len(paths)) as on_step:
            for batch in embed_images(
                network,
                paths,
                run.reader(table),
                device=choose_device(
                    run.runtime.device, *(backbone.precision for backbone in network.config.backbones)
                ),
                batch_size=run.runtime.batch_size,
                workers=run.runtime.workers,
            ):
                if isinstance(batch, Refusal):
                    refused.append({"sha256": digests[batch.row], "reason": batch.reason})
                    on_step(1)
                    continue
                rows, embedding_BD = batch
                write(_rows([digests[row] for row in rows], embedding_BD.numpy(), schema))
                on_step(len(rows))
    (run.folder / REFUSED).write_text(json.dumps(refused), encoding="utf-8")


def embed_split(
    run: StageRun, images: Artifact, split: str, features: Sequence[Artifact], model: ModelRef, recipe: str
) -> None:
    """Embed a split's captioned images from precomputed features of each network."""
    network = load(run.workspace.root / model.path)
    digests = read_table(run.open(images) / f"captioned/{split}.parquet")["sha256"].to_pylist()
    config = network.config
    descriptors = load_descriptors([*map(run.open, features)], digests, config.pooling, network.block_channels())
    schema = _schema(config.dimension, recipe)
    with table_writer(run.folder / FILE, schema) as write:
        write(_rows(digests, project(network.head, descriptors).numpy(), schema))


def _schema(dimension: int, recipe: str) -> pa.Schema:
    return pa.schema(
        [("sha256", pa.string()), ("embedding", pa.list_(pa.float16(), dimension))],
        metadata={"recipe": recipe},
    )


def _rows(digests: list[str], embedding_BD: np.ndarray, schema: pa.Schema) -> pa.RecordBatch:
    return pa.record_batch([pa.array(digests), vectors(embedding_BD.astype(np.float16))], schema=schema)
