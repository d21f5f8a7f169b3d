"""What the stages that train candidates share: their data, opened, and their result, written."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from pydantic import BaseModel

from storage.tables import read_table
from storage.tracking import RunPage
from tasks.caching import StageRun
from tasks.captions.tfidf import tfidf
from tasks.captions.vocabulary import Vocabulary, vocabulary_from
from tasks.features.descriptors import Descriptors, load_descriptors
from tasks.metrics.truth import Truth, make_truth
from tasks.model.architectures import ARCHITECTURES, create_backbone, preprocessing_of
from tasks.model.config import BackboneConfig, ModelConfig, PoolingConfig
from tasks.model.head import Head, Kernel
from tasks.model.persistence import save
from tasks.model.scene_model import SceneModel
from tasks.model.text_model import save_text
from tasks.training.inputs import TrainingData

LABELS = {"v_v": "(V,V)", "vt_v": "(V+T,V)", "wsabie": "WSABIE (V+T,V)"}


@dataclass(frozen=True)
class Opened:
    """Training data as its stages use it; what one of them does not need is not read."""

    run: StageRun
    data: TrainingData
    backbone: BackboneConfig

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The stems of the train captions."""
        return vocabulary_from(read_table(self.run.open(self.data.vocabulary) / "vocabulary.parquet"))

    @cached_property
    def tfidf_table(self) -> pa.Table:
        """tf-idf of the train captions."""
        return read_table(self.run.open(self.data.vocabulary) / "tfidf.parquet")

    @cached_property
    def truth(self) -> Truth:
        """Caption similarities of the validation split."""
        table = read_table(self.run.open(self.data.validation_captions) / "captions/validation.parquet")
        return make_truth(tfidf(table["captions"].to_pylist(), self.vocabulary))

    def blocks(self, pooling: PoolingConfig) -> tuple[int, ...]:
        """How many channels each block of a pooling's descriptors has."""
        return ARCHITECTURES[self.backbone.name].blocks(pooling)

    def train_images(self) -> pa.Table:
        """The captioned train images."""
        return read_table(self.run.open(self.data.train_images) / "captioned/train.parquet")

    def validation_images(self) -> pa.Table:
        """The captioned validation images."""
        return read_table(self.run.open(self.data.validation_images) / "captioned/validation.parquet")

    def train_descriptors(self, pooling: PoolingConfig) -> Descriptors:
        """The train features of a pooling."""
        folder = self.run.open(self.data.train_features)
        return load_descriptors(folder, self.train_images()["sha256"].to_pylist(), pooling, sum(self.blocks(pooling)))

    def validation_descriptors(self, pooling: PoolingConfig) -> Descriptors:
        """The validation features of a pooling."""
        folder = self.run.open(self.data.validation_features)
        return load_descriptors(
            folder, self.validation_images()["sha256"].to_pylist(), pooling, sum(self.blocks(pooling))
        )

    def page(self, method: str) -> RunPage:
        """What MLflow shows of the training of a method."""
        source, digest = self.run.source, self.data.train_images.digest
        return RunPage(method, LABELS.get(method, method), source.name, source.url, digest)

    def model(self, method: str, pooling: PoolingConfig, head: Head, finetuned: bool = False) -> SceneModel:
        """A model at the start of its training."""
        config = ModelConfig(
            method=method,
            backbone=self.backbone.model_copy(update={"weights": None}),
            preprocessing=preprocessing_of(self.backbone),
            pooling=pooling,
            channels=sum(self.blocks(pooling)),
            dimension=head.dimension,
            finetuned=finetuned,
            landmarks=len(head.landmark_MC) if isinstance(head, Kernel) else 0,
        )
        return SceneModel(config, create_backbone(self.backbone), head)


def settings(backbone: BackboneConfig, config: BaseModel, seed: int) -> dict[str, object]:
    """What a training run logs as its parameters."""
    return {"backbone": backbone.model_dump(), "training": config.model_dump(), "seed": seed}


def write(
    run: StageRun,
    model: SceneModel,
    vocabulary: Vocabulary,
    run_id: str,
    score: float,
    facts: Mapping[str, object],
    text_VT: np.ndarray | None = None,
    certainty: float | None = None,
) -> None:
    """The model, with its text embedding if it has one, and what its stage is known by → model/ and training.json."""
    (run.folder / "model").mkdir()
    save(model, vocabulary, run.folder / "model")
    if text_VT is not None:
        save_text(text_VT, run.folder / "model", certainty)
    summary = {"method": model.config.method, "run_id": run_id, "validation_ndcg_auc": score, **facts}
    (run.folder / "training.json").write_text(json.dumps(summary, indent=1))
