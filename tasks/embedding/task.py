"""The stages that embed images with a model."""

import json
from pathlib import Path

from storage.artifacts import Artifact
from storage.models import ModelRef, network_digest
from tasks.caching import StageRun, stage
from tasks.embedding.files import REFUSED


def nothing_refused(folder: Path) -> bool:
    """Return whether every image was embedded; an image that could not be read may be readable next time."""
    return not json.loads((folder / REFUSED).read_text(encoding="utf-8"))


@stage(
    "embedding",
    libraries=("openvino", "pillow", "pillow-heif", "torch", "torchvision", "timm"),
    is_final=nothing_refused,
)
def embed_images(run: StageRun, images: Artifact, file: str, model: ModelRef) -> None:
    """Embed a table of images, equal bytes once → embeddings.parquet (sha256, embedding float16) and refused.json."""
    from tasks.embedding.stage import embed_table

    embed_table(run, images, file, model, recipe=embed_images.key(network_digest(run.workspace, model)))


@stage("embedding", libraries=("torch",))
def embed_features(
    run: StageRun, images: Artifact, split: str, features: tuple[Artifact, ...], model: ModelRef
) -> None:
    """Embed a split's captioned images from precomputed features of each frozen backbone → embeddings.parquet."""
    from tasks.embedding.stage import embed_split

    embed_split(run, images, split, features, model, recipe=embed_features.key(model))
