"""The stage that runs the frozen backbone once over the captioned images of a split."""

from contextlib import ExitStack

import pyarrow as pa

from storage.artifacts import Artifact
from storage.reuse import known_rows
from storage.tables import read_table, table_writer
from tasks.caching import StageRun, stage
from tasks.errors import InputError
from tasks.features.config import FeaturesConfig
from tasks.model.config import features_file
from tasks.model.weights import weights_digest
from tasks.progress import progress

__all__ = ["extract_features", "weights_digest"]


@stage("features", libraries=("openvino", "pillow", "pillow-heif", "torch", "torchvision", "timm"))
def extract_features(run: StageRun, images: Artifact, split: str, config: FeaturesConfig, weights: str) -> None:
    """captioned/<split>.parquet → a table of descriptors by sha256 for each pooling; equal bytes once.

    Rows that earlier features hold are taken over, the rest come from one pass through the backbone. `weights` is the
    digest of its weights. Raises InputError naming an image that cannot be read any more.
    """
    from tasks.features.descriptors import SCHEMA, descriptor_column
    from tasks.features.extract import extract
    from tasks.images.loader import Refusal
    from tasks.model.architectures import create_backbone, preprocessing_of
    from tasks.model.device import choose_device

    table = read_table(run.open(images) / f"captioned/{split}.parquet")
    path_of = dict(zip(table["sha256"].to_pylist(), table["path"].to_pylist(), strict=True))
    with ExitStack() as stack:
        writers, missing = [], []
        for pooling in config.poolings:
            file, recipe = features_file(pooling), extract_features.key(config.backbone, pooling, weights)
            write = stack.enter_context(table_writer(run.folder / file, SCHEMA.with_metadata({"recipe": recipe})))
            absent = set(path_of)
            for known in known_rows(run.workspace, run.stage, file, recipe, absent):
                write(known)
                absent -= set(known["sha256"].to_pylist())
            writers.append(write)
            missing.append(absent)
        digests = [sha256 for sha256 in path_of if any(sha256 in absent for absent in missing)]
        paths = [path_of[sha256] for sha256 in digests]
        on_step = stack.enter_context(progress(f"features of {split}", len(paths)))
        for batch in extract(
            create_backbone(config.backbone),
            config.poolings,
            paths,
            run.reader(table),
            preprocessing_of(config.backbone),
            device=choose_device(run.runtime.device),
            batch_size=run.runtime.batch_size,
            workers=run.runtime.workers,
        ):
            if isinstance(batch, Refusal):
                raise InputError(f"{paths[batch.row]} cannot be used any more: {batch.reason}.")
            rows, descriptors = batch
            sha256_B = pa.array([digests[row] for row in rows])
            for write, absent, descriptor_BRC in zip(writers, missing, descriptors, strict=True):
                computed = pa.record_batch([sha256_B, descriptor_column(descriptor_BRC)], schema=SCHEMA)
                write(computed.filter(pa.array([sha256 in absent for sha256 in sha256_B.to_pylist()])))
            on_step(len(rows))
