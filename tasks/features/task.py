"""The stage that runs the frozen backbone once over the captioned images of a split."""

import pyarrow as pa

from storage.artifacts import Artifact
from storage.reuse import known_rows
from storage.tables import read_table, table_writer
from tasks.caching import StageRun, stage
from tasks.errors import InputError
from tasks.features.config import FeaturesConfig
from tasks.features.descriptors import descriptor_column
from tasks.features.extract import extract
from tasks.images.loader import Refusal
from tasks.model.backbones import create_backbone, preprocessing_of, weights_digest
from tasks.model.config import pooling_name
from tasks.model.device import choose_device
from tasks.progress import progress

__all__ = ["extract_features", "weights_digest"]

FILE = "features.parquet"


@stage("features", libraries=("pillow", "torch", "torchvision", "timm"))
def extract_features(run: StageRun, images: Artifact, split: str, config: FeaturesConfig, weights: str) -> None:
    """captioned/<split>.parquet → features.parquet: sha256, a column of descriptors a pooling; equal bytes once.

    `weights` is the digest of the backbone's weights. Raises InputError naming an image that cannot be read any more.
    """
    table = read_table(run.open(images) / f"captioned/{split}.parquet")
    path_of = dict(zip(table["sha256"].to_pylist(), table["path"].to_pylist(), strict=True))
    recipe = extract_features.key(config, weights)
    names = [pooling_name(pooling) for pooling in config.poolings]
    schema = pa.schema([("sha256", pa.string()), *((name, pa.large_list(pa.float16())) for name in names)])
    with (
        table_writer(run.folder / FILE, schema.with_metadata({"recipe": recipe})) as writer,
        progress(f"features of {split}", len(path_of)) as on_step,
    ):
        for known in known_rows(run.workspace, run.stage, FILE, recipe, set(path_of)):
            writer.write_batch(known)
            for sha256 in known["sha256"].to_pylist():
                del path_of[sha256]
            on_step(known.num_rows)
        digests, paths = list(path_of), list(path_of.values())
        batches = extract(
            create_backbone(config.backbone),
            config.poolings,
            paths,
            run.reader(table),
            preprocessing_of(config.backbone),
            device=choose_device(run.runtime.device),
            batch_size=run.runtime.batch_size,
            workers=run.runtime.workers,
        )
        for batch in batches:
            if isinstance(batch, Refusal):
                raise InputError(f"{paths[batch.row]} cannot be used any more: {batch.reason}.")
            rows, descriptors = batch
            columns = [pa.array([digests[row] for row in rows]), *map(descriptor_column, descriptors)]
            writer.write_batch(pa.record_batch(columns, schema=schema))
            on_step(len(rows))
