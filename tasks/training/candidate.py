"""What all training stages share: loading their data, and saving the trained candidate."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from pydantic import BaseModel

from storage.artifacts import Artifact
from storage.tables import read_table
from storage.tracking import RunPage
from tasks.caching import StageRun
from tasks.captions.tfidf import tfidf
from tasks.captions.vocabulary import Vocabulary, vocabulary_from
from tasks.errors import InputError
from tasks.features.descriptors import Descriptors, load_descriptors
from tasks.metrics.truth import Truth, make_truth
from tasks.model.architectures import block_channels, create_backbone
from tasks.model.config import BackboneConfig, ModelConfig, NetworkConfig, PoolingConfig, joined, without_path
from tasks.model.head import Head, Kernel, Scaling
from tasks.model.methods import LABELS
from tasks.model.saving import save
from tasks.model.scene_model import SceneModel
from tasks.model.text_model import save_text
from tasks.training.inputs import TrainingData


@dataclass(frozen=True)
class LoadedData:
    """The training data of one run; each part is read when it is first used."""

    run: StageRun
    data: TrainingData
    networks: tuple[NetworkConfig, ...]

    @property
    def _backbones(self) -> tuple[BackboneConfig, ...]:
        return tuple(network.backbone for network in self.networks)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The stems of the training captions."""
        return vocabulary_from(read_table(self.run.open(self.data.vocabulary) / "vocabulary.parquet"))

    @cached_property
    def tfidf_table(self) -> pa.Table:
        """The tf-idf of the training captions."""
        return read_table(self.run.open(self.data.vocabulary) / "tfidf.parquet")

    @cached_property
    def truth(self) -> Truth:
        """The caption similarities of the validation split."""
        table = read_table(self.run.open(self.data.validation_captions) / "captions/validation.parquet")
        return make_truth(tfidf(table["captions"].to_pylist(), self.vocabulary))

    def train_images(self) -> pa.Table:
        """Read the table of captioned training images."""
        return read_table(self.run.open(self.data.train_images) / "captioned/train.parquet")

    def validation_images(self) -> pa.Table:
        """Read the table of captioned validation images."""
        return read_table(self.run.open(self.data.validation_images) / "captioned/validation.parquet")

    def train_descriptors(self, pooling: PoolingConfig) -> Descriptors:
        """Read the training images' descriptors by a pooling."""
        return self._descriptors(self.data.train_features, self.train_images(), pooling)

    def validation_descriptors(self, pooling: PoolingConfig) -> Descriptors:
        """Read the validation images' descriptors by a pooling."""
        return self._descriptors(self.data.validation_features, self.validation_images(), pooling)

    def page(self, method: str, label: str | None = None) -> RunPage:
        """Describe a method's training for MLflow."""
        source, digest = self.run.source, self.data.train_images.digest
        return RunPage(method, label or LABELS[method], source.name, source.address, digest, self.run.key)

    def _descriptors(self, features: Sequence[Artifact], images: pa.Table, pooling: PoolingConfig) -> Descriptors:
        folders = [self.run.open(artifact) for artifact in features]
        channels = block_channels(self._backbones, pooling)
        return load_descriptors(folders, images["sha256"].to_pylist(), pooling, channels)

    def block_channels(self, pooling: PoolingConfig) -> tuple[int, ...]:
        """Return the number of channels of each block of a pooling's descriptors."""
        return tuple(chain(*block_channels(self._backbones, pooling)))

    def new_model(self, method: str, pooling: PoolingConfig, head: Head, finetuned: bool = False) -> SceneModel:
        """Build a model from the pretrained backbones and a head."""
        networks = [
            network.model_copy(update={"finetuned": network.finetuned or finetuned})
            for network in joined(self.networks, pooling)
        ]
        config = ModelConfig(
            method=method,
            networks=tuple(map(without_path, networks)),
            pooling=pooling,
            channels=sum(self.block_channels(pooling)),
            dimension=head.dimension,
            landmarks=len(head.landmark_MC) if isinstance(head, Kernel) else 0,
            scaled=isinstance(head, Scaling),
        )
        return SceneModel(config, [create_backbone(network.backbone) for network in networks], head)


@contextmanager
def memory_errors(device: torch.device, setting: str, value: int) -> Iterator[None]:
    """Raise InputError with the remedy if the device runs out of memory; training resumes from its checkpoint."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise InputError(
            f"Training ran out of memory on {device}; lower {setting} (now {value}) or set runtime.device=cpu. Run the "
            "same command to continue from the last checkpoint."
        ) from error


def run_parameters(networks: Sequence[NetworkConfig], seed: int, config: BaseModel | None = None) -> dict[str, Any]:
    """Return the parameters that a training run logs to MLflow."""
    backbones = [network.backbone.model_dump() for network in networks]
    backbone = backbones[0] if len(backbones) == 1 else dict(enumerate(backbones, start=1))
    parameters: dict[str, Any] = {"backbone": backbone, "seed": seed}
    return parameters if config is None else {**parameters, "training": config.model_dump()}


def save_candidate(
    run: StageRun,
    model: SceneModel,
    vocabulary: Vocabulary,
    run_id: str,
    score: float,
    facts: Mapping[str, object],
    text_VT: np.ndarray | None = None,
    certainty: float | None = None,
) -> None:
    """Write model/, with its text embedding if it has one, and training.json: run, validation score and `facts`."""
    (run.folder / "model").mkdir()
    save(model, vocabulary, run.folder / "model")
    if text_VT is not None:
        save_text(text_VT, run.folder / "model", certainty)
    summary = {"method": model.config.method, "run_id": run_id, "validation_ndcg_auc": score, **facts}
    (run.folder / "training.json").write_text(json.dumps(summary, indent=1), encoding="utf-8")
