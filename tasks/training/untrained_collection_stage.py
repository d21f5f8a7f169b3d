"""The work of the stage that makes a model of untrained networks for a collection without captions."""

from collections.abc import Sequence
from itertools import chain

import pyarrow as pa
import torch
from torch import Tensor

from storage.artifacts import Artifact
from storage.tables import read_table
from tasks.caching import StageRun
from tasks.captions.vocabulary import build_vocabulary
from tasks.errors import InputError
from tasks.features.descriptors import spread_scale
from tasks.images.loader import Refusal
from tasks.images.preprocess import Inputs, normalise
from tasks.model.architectures import block_channels, create_backbone
from tasks.model.batches import run_in_batches
from tasks.model.config import ModelConfig, NetworkConfig, without_path
from tasks.model.device import choose_device
from tasks.model.head import Scaling
from tasks.model.inference import optimise_for_inference
from tasks.model.pooling import describe
from tasks.model.saving import save
from tasks.model.scene_model import SceneModel
from tasks.progress import progress
from tasks.training.config import BLOCKS

SAMPLE = 2000  # images that centre and scale are computed from
LEAST = 2  # a single image has no spread


def fit(run: StageRun, images: Artifact, networks: Sequence[NetworkConfig]) -> None:
    """Centre and scale the networks' blocks on images of the collection (METHOD.md 6) → model/.

    The sample is that of the smallest digests, which is as good as random, and changes little as images are added.
    Raises InputError if fewer than two images can be read.
    """
    table = read_table(run.open(images) / "images.parquet")
    paths = dict(sorted(zip(table["sha256"].to_pylist(), table["path"].to_pylist(), strict=True))[:SAMPLE]).values()
    backbones = [network.backbone for network in networks]
    channels = [*chain(*block_channels(backbones, BLOCKS))]
    config = ModelConfig(
        method="untrained",
        networks=tuple(map(without_path, networks)),
        pooling=BLOCKS,
        channels=sum(channels),
        dimension=sum(channels),
        scaled=True,
    )
    descriptor_NC = _descriptors(run, table, [*paths], networks)
    if len(descriptor_NC) < LEAST:
        raise InputError(f"Only {len(descriptor_NC)} of the images can be read; an index needs at least {LEAST}.")
    head = Scaling(descriptor_NC.mean(0), spread_scale(descriptor_NC, channels))
    (run.folder / "model").mkdir()
    model = SceneModel(config, [create_backbone(backbone) for backbone in backbones], head)
    save(model, build_vocabulary([], "english"), run.folder / "model")


def _descriptors(run: StageRun, images: pa.Table, paths: Sequence[str], networks: Sequence[NetworkConfig]) -> Tensor:
    """Compute descriptor_NC of those images that can be read."""
    device = choose_device(run.runtime.device, *(network.backbone.precision for network in networks))
    backbones = [optimise_for_inference(create_backbone(network.backbone), device) for network in networks]
    preprocessings = [network.preprocessing for network in networks]

    def compute(inputs: Inputs) -> Tensor:
        ready = map(normalise, inputs, preprocessings)
        return describe([backbone.outputs(images) for backbone, images in zip(backbones, ready, strict=True)], BLOCKS)

    found: dict[int, Tensor] = {}
    with progress("untrained model", len(paths)) as on_step:
        for batch in run_in_batches(
            compute,
            paths,
            run.reader(images),
            preprocessings,
            device=device,
            batch_size=run.runtime.batch_size,
            workers=run.runtime.workers,
        ):
            rows = [batch.row] if isinstance(batch, Refusal) else batch[0]
            on_step(len(rows))
            if not isinstance(batch, Refusal):
                found |= dict(zip(rows, batch[1][:, 0].cpu(), strict=True))
    return torch.stack([found[row] for row in sorted(found)]) if found else torch.zeros(0, 1)
