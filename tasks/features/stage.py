"""The work of the stage `features`."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

import pyarrow as pa
from torch import Tensor

from storage.artifacts import Artifact
from storage.reuse import known_rows
from storage.tables import read_table, table_writer
from tasks.caching import StageRun
from tasks.errors import InputError
from tasks.features.config import FeaturesConfig
from tasks.features.descriptors import SCHEMA, descriptor_column
from tasks.features.extract import extract
from tasks.images.loader import Refusal
from tasks.model.architectures import create_backbone
from tasks.model.config import PoolingConfig, features_file
from tasks.model.device import choose_device
from tasks.progress import progress


def extract_split(
    run: StageRun, images: Artifact, split: str, config: FeaturesConfig, recipes: Mapping[PoolingConfig, str]
) -> None:
    """Compute the descriptors of a split's images for each pooling; rows of earlier artifacts are reused.

    A recipe identifies how a pooling's rows are computed. Raises InputError if an image can no longer be read.
    """
    table = read_table(run.open(images) / f"captioned/{split}.parquet")
    path_of = dict(zip(table["sha256"].to_pylist(), table["path"].to_pylist(), strict=True))
    with ExitStack() as stack:
        outputs = [
            _reuse(run, stack, features_file(pooling), recipe, set(path_of)) for pooling, recipe in recipes.items()
        ]
        digests = [sha256 for sha256 in path_of if any(sha256 in output.missing for output in outputs)]
        paths = [path_of[sha256] for sha256 in digests]
        on_step = stack.enter_context(progress(f"features of {split} ({config.network.backbone.name})", len(paths)))
        for batch in extract(
            create_backbone(config.network.backbone),
            tuple(recipes),
            paths,
            run.reader(table),
            config.network.preprocessing,
            device=choose_device(run.runtime.device, config.network.backbone.precision),
            batch_size=run.runtime.batch_size,
            workers=run.runtime.workers,
        ):
            if isinstance(batch, Refusal):
                raise InputError(f"Cannot read {paths[batch.row]} any longer: {batch.reason}.")
            rows, descriptors = batch
            for output, descriptor_BRC in zip(outputs, descriptors, strict=True):
                output.add([digests[row] for row in rows], descriptor_BRC)
            on_step(len(rows))


@dataclass(frozen=True)
class _Output:
    """The table of one pooling, and the digests that it lacks after reuse."""

    write: Callable[[pa.RecordBatch], None]
    missing: set[str]

    def add(self, sha256_B: list[str], descriptor_BRC: Tensor) -> None:
        """Write the rows of a computed batch that are missing."""
        computed = pa.record_batch([pa.array(sha256_B), descriptor_column(descriptor_BRC)], schema=SCHEMA)
        self.write(computed.filter(pa.array([sha256 in self.missing for sha256 in sha256_B])))


def _reuse(run: StageRun, stack: ExitStack, file: str, recipe: str, wanted: set[str]) -> _Output:
    """Open a table and copy the wanted rows that earlier artifacts contain."""
    write = stack.enter_context(table_writer(run.folder / file, SCHEMA.with_metadata({"recipe": recipe})))
    missing = set(wanted)
    for known in known_rows(run.workspace, run.stage, file, recipe, wanted):
        write(known)
        missing -= set(known["sha256"].to_pylist())
    return _Output(write, missing)
