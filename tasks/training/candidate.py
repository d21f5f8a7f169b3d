"""What all training stages share: loading their data, and saving the trained candidate."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from pydantic import BaseModel

from storage.artifacts import Artifact
from storage.tables import read_table
from storage.tracking import RunPage
from tasks.caching import StageRun
from tasks.captions.tfidf import tfidf
from tasks.captions.vocabulary import Vocabulary, vocabulary_from
from tasks.features.descriptors import Descriptors, load_descriptors
from tasks.metrics.truth import Truth, make_truth
from tasks.model.architectures import architecture_of, block_channels, create_backbone, preprocessings_of
from tasks.model.config import BackboneConfig, ModelConfig, NetworkConfig, PoolingConfig, networks_for
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
    backbones: tuple[BackboneConfig, ...]

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

    def page(self, method: str) -> RunPage:
        """Describe a method's training for MLflow."""
        source, digest = self.run.source, self.data.train_images.digest
        return RunPage(method, LABELS[method], source.name, source.address, digest, self.run.key)

    def _descriptors(self, features: Sequence[Artifact], images: pa.Table, pooling: PoolingConfig) -> Descriptors:
        folders = [self.run.open(artifact) for artifact in features]
        return load_descriptors(folders, images["sha256"].to_pylist(), pooling, self.backbones)

    def block_channels(self, pooling: PoolingConfig) -> tuple[int, ...]:
        """Return the number of channels of each block of a pooling's descriptors."""
        return block_channels(self.backbones, pooling)

    def new_model(self, method: str, pooling: PoolingConfig, head: Head, finetuned: bool = False) -> SceneModel:
        """Build a model from the pretrained backbones and a head."""
        backbones = networks_for(pooling, self.backbones)
        config = ModelConfig(
            method=method,
            networks=tuple(
                NetworkConfig(
                    backbone=backbone.model_copy(update={"weights": None}),
                    preprocessing=preprocessing,
                    licence=architecture_of(backbone).licence,
                )
                for backbone, preprocessing in zip(self.backbones, preprocessings_of(self.backbones), strict=True)
            )[: len(backbones)],
            pooling=pooling,
            channels=sum(self.block_channels(pooling)),
            dimension=head.dimension,
            finetuned=finetuned,
            landmarks=len(head.landmark_MC) if isinstance(head, Kernel) else 0,
            scaled=isinstance(head, Scaling),
        )
        return SceneModel(config, [create_backbone(backbone) for backbone in backbones], head)


def run_parameters(backbones: Sequence[BackboneConfig], seed: int, config: BaseModel | None = None) -> dict[str, Any]:
    """Return the parameters that a training run logs to MLflow."""
    networks = [backbone.model_dump() for backbone in backbones]
    parameters = {"backbone": networks[0] if len(networks) == 1 else dict(enumerate(networks, start=1)), "seed": seed}
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
