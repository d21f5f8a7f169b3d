"""The stages that embed images with a model, into Parquet."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa

from storage.artifacts import Artifact
from storage.models import ModelRef
from storage.reuse import known_rows
from storage.tables import read_table, table_writer, vectors
from tasks.caching import StageRun, stage
from tasks.progress import progress

FILE, REFUSED = "embeddings.parquet", "refused.json"


def nothing_refused(folder: Path) -> bool:
    """Whether every image was embedded: what could not be read once may be readable the next time."""
    return not json.loads((folder / REFUSED).read_text())


@stage(
    "embedding",
    libraries=("openvino", "pillow", "pillow-heif", "torch", "torchvision", "timm"),
    is_final=nothing_refused,
)
def embed_images(run: StageRun, images: Artifact, file: str, model: ModelRef) -> None:
    """A table of images → embeddings.parquet (sha256, embedding float16, an image's bytes once) and refused.json."""
    from tasks.embedding.embed import embed_images as embed
    from tasks.images.loader import Refusal
    from tasks.model.device import choose_device
    from tasks.model.persistence import load

    table = read_table(run.open(images) / file)
    path_of = dict(zip(table["sha256"].to_pylist(), table["path"].to_pylist(), strict=True))
    network = load(run.workspace.root / model.path)
    recipe = embed_images.key(model)
    schema = _schema(network.config.dimension, recipe)
    refused = []
    with table_writer(run.folder / FILE, schema) as write, progress("embedding", len(path_of)) as on_step:
        for known in known_rows(run.workspace, run.stage, FILE, recipe, set(path_of)):
            write(known)
            for sha256 in known["sha256"].to_pylist():
                del path_of[sha256]
            on_step(known.num_rows)
        digests, paths = list(path_of), list(path_of.values())
        for batch in embed(
            network,
            paths,
            run.reader(table),
            device=choose_device(run.runtime.device),
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
    (run.folder / REFUSED).write_text(json.dumps(refused))


@stage("embedding", libraries=("torch",))
def embed_features(run: StageRun, images: Artifact, split: str, features: Artifact, model: ModelRef) -> None:
    """A split's captioned images, from features at hand, by a model with a frozen backbone → embeddings.parquet."""
    from tasks.features.descriptors import load_descriptors, project
    from tasks.model.persistence import load

    network = load(run.workspace.root / model.path)
    digests = read_table(run.open(images) / f"captioned/{split}.parquet")["sha256"].to_pylist()
    config = network.config
    descriptors = load_descriptors(run.open(features), digests, config.pooling, config.channels)
    schema = _schema(config.dimension, embed_features.key(model))
    with table_writer(run.folder / FILE, schema) as write:
        write(_rows(digests, project(network.head, descriptors).numpy(), schema))


def _schema(dimension: int, recipe: str) -> pa.Schema:
    return pa.schema(
        [("sha256", pa.string()), ("embedding", pa.list_(pa.float16(), dimension))],
        metadata={"recipe": recipe},
    )


def _rows(digests: list[str], embedding_BD: np.ndarray, schema: pa.Schema) -> pa.RecordBatch:
    return pa.record_batch([pa.array(digests), vectors(embedding_BD.astype(np.float16))], schema=schema)
