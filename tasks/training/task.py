"""The stages that train candidates."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import torch
from pydantic import BaseModel, ConfigDict
from torch import nn

from storage.artifacts import Artifact
from storage.tables import read_table
from storage.tracking import training_run
from tasks.caching import StageRun, stage
from tasks.captions.tfidf import tfidf, tfidf_from
from tasks.captions.vocabulary import Vocabulary, vocabulary_from
from tasks.embedding.embed import embed_images
from tasks.errors import InputError
from tasks.features.descriptors import Descriptors, load_descriptors, project
from tasks.images.loader import Refusal
from tasks.metrics.truth import Truth, make_truth
from tasks.model.backbones import ARCHITECTURES, create_backbone, preprocessing_of
from tasks.model.config import BackboneConfig, ModelConfig, PoolingConfig
from tasks.model.device import choose_device
from tasks.model.folder import save
from tasks.model.head import Projection
from tasks.model.scene_model import SceneModel
from tasks.model.whitening import pca_whitening, sample_regions
from tasks.progress import progress
from tasks.surrogate.neighbours import neighbours_from
from tasks.training.config import RidgeConfig, TripletConfig
from tasks.training.embedders import Embed, through_head, through_network
from tasks.training.mining import Relevance
from tasks.training.ridge import caption_targets, fit_ridge
from tasks.training.triplets import train_triplets

Prepared = tuple[nn.Module, Embed, Callable[[], float]]  # what is trained, how images are embedded, the score


class TrainingData(BaseModel):
    """The results that every candidate learns from. Captions and images are narrowed to the files of their split."""

    model_config = ConfigDict(frozen=True)

    vocabulary: Artifact
    train_images: Artifact
    train_features: Artifact
    validation_images: Artifact
    validation_features: Artifact
    validation_captions: Artifact


@dataclass(frozen=True)
class _Opened:
    """Training data as its stages use it; what one of them does not need is not read."""

    run: StageRun
    data: TrainingData
    backbone: BackboneConfig

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return vocabulary_from(read_table(self.run.open(self.data.vocabulary) / "vocabulary.parquet"))

    @cached_property
    def tfidf_table(self) -> pa.Table:
        return read_table(self.run.open(self.data.vocabulary) / "tfidf.parquet")

    @cached_property
    def truth(self) -> Truth:
        table = read_table(self.run.open(self.data.validation_captions) / "captions/validation.parquet")
        return make_truth(tfidf(table["captions"].to_pylist(), self.vocabulary))

    @property
    def channels(self) -> int:
        return ARCHITECTURES[self.backbone.name].channels

    def train_images(self) -> pa.Table:
        return read_table(self.run.open(self.data.train_images) / "captioned/train.parquet")

    def validation_images(self) -> pa.Table:
        return read_table(self.run.open(self.data.validation_images) / "captioned/validation.parquet")

    def train_descriptors(self, pooling: PoolingConfig) -> Descriptors:
        folder = self.run.open(self.data.train_features)
        return load_descriptors(folder, self.train_images()["sha256"].to_pylist(), pooling, self.channels)

    def validation_descriptors(self, pooling: PoolingConfig) -> Descriptors:
        folder = self.run.open(self.data.validation_features)
        return load_descriptors(folder, self.validation_images()["sha256"].to_pylist(), pooling, self.channels)

    def model(self, method: str, pooling: PoolingConfig, head: Projection, finetuned: bool = False) -> SceneModel:
        config = ModelConfig(
            method=method,
            backbone=self.backbone.model_copy(update={"weights": None}),
            preprocessing=preprocessing_of(self.backbone),
            pooling=pooling,
            channels=self.channels,
            dimension=head.linear_CD.shape[1],
            finetuned=finetuned,
        )
        return SceneModel(config, create_backbone(self.backbone), head)


@stage("training", libraries=("nltk", "numpy", "pillow", "scipy", "torch", "torchvision", "timm"))
def train_triplet_head(
    run: StageRun,
    data: TrainingData,
    neighbours: Artifact,
    backbone: BackboneConfig,
    config: TripletConfig,
    seed: int,
) -> None:
    """(V,V) from relevant images and the features' PCA (METHOD.md 3–5) → model/ and training.json."""
    opened = _Opened(run, data, backbone)
    device = choose_device(run.runtime.device)
    model = _initial_model(opened, config, seed).to(device)
    prepare = _through_network if config.backbone == "finetuned" else _through_features
    trainable, embed, validate = prepare(opened, model, device)
    table = read_table(run.open(neighbours) / "neighbours.parquet")
    relevance = Relevance(neighbours_from(table), opened.tfidf_table["copy_group"].to_numpy())
    with (
        training_run(run.workspace, "v_v", run.work / "run_id") as log,
        progress("(V,V)", config.refreshes) as on_step,
    ):
        log.params(_settings(backbone, config, seed))
        trained = train_triplets(
            trainable,
            embed,
            relevance,
            config,
            seed=seed,
            validate=validate,
            log=log.metrics,
            on_step=on_step,
            checkpoint=run.work / "checkpoint.pt",
        )
        log.metrics({"best_validation_ndcg_auc": trained.best_score, "skipped_refreshes": trained.skipped})
        facts = {"refreshes": trained.refresh, "best_refresh": trained.best_refresh, "skipped": trained.skipped}
        _write(run, model, opened.vocabulary, log.run_id, trained.best_score, facts)


@stage("training", libraries=("nltk", "numpy", "scikit-learn", "scipy", "torch", "torchvision", "timm"))
def train_ridge_head(
    run: StageRun, data: TrainingData, backbone: BackboneConfig, config: RidgeConfig, seed: int
) -> None:
    """Linear ridge from average-pooled features to the truncated SVD of tf-idf (METHOD.md 9) → as above."""
    opened = _Opened(run, data, backbone)
    pooling = PoolingConfig(kind="gap")
    train, validation = opened.train_descriptors(pooling), opened.validation_descriptors(pooling)
    with (
        training_run(run.workspace, "regression", run.work / "run_id") as log,
        progress("linear ridge", len(config.penalties)) as on_step,
    ):
        log.params(_settings(backbone, config, seed))

        def score(head: Projection) -> float:
            on_step(1)
            return opened.truth.ndcg_auc(project(head, validation).numpy())

        target_ND = caption_targets(tfidf_from(opened.tfidf_table), config.dimension, seed)
        fit = fit_ridge(train.single(), target_ND, config.penalties, score)
        best = fit.scores[fit.penalty]
        log.metrics({"best_validation_ndcg_auc": best, "penalty": fit.penalty})
        facts = {"penalty": fit.penalty, "scores": fit.scores}
        _write(run, opened.model("regression", pooling, fit.head), opened.vocabulary, log.run_id, best, facts)


def _initial_model(opened: _Opened, config: TripletConfig, seed: int) -> SceneModel:
    """The backbone with a projection that PCA of the train regions starts (METHOD.md 3)."""
    value_SC = opened.train_descriptors(config.pooling).value_SC
    head = Projection(*pca_whitening(sample_regions(value_SC, seed), config.dimension, config.whitening_power))
    return opened.model("v_v", config.pooling, head, finetuned=config.backbone == "finetuned")


def _through_features(opened: _Opened, model: SceneModel, device: torch.device) -> Prepared:
    """The projection is trained on features at hand."""
    train = opened.train_descriptors(model.config.pooling).to(device)
    validation = opened.validation_descriptors(model.config.pooling).to(device)
    return (
        model.head,
        through_head(model.head, train),
        lambda: opened.truth.ndcg_auc(project(model.head, validation).numpy()),
    )


def _through_network(opened: _Opened, model: SceneModel, device: torch.device) -> Prepared:
    """Everything is trained, on images."""
    images, validation, runtime = opened.train_images(), opened.validation_images(), opened.run.runtime
    paths = validation["path"].to_pylist()
    read, read_validation = opened.run.reader(images), opened.run.reader(validation)

    def validate() -> float:
        embedding_ND = torch.zeros(len(paths), model.config.dimension)
        for batch in embed_images(
            model, paths, read_validation, device=device, batch_size=runtime.batch_size, workers=runtime.workers
        ):
            if isinstance(batch, Refusal):
                raise InputError(f"{paths[batch.row]} cannot be used any more: {batch.reason}.")
            embedding_ND[list(batch[0])] = batch[1]
        return opened.truth.ndcg_auc(embedding_ND.numpy())

    embed = through_network(model, images["path"].to_pylist(), read, device=device, workers=runtime.workers)
    return model, embed, validate


def _settings(backbone: BackboneConfig, config: BaseModel, seed: int) -> dict[str, object]:
    return {"backbone": backbone.model_dump(), "training": config.model_dump(), "seed": seed}


def _write(
    run: StageRun,
    model: SceneModel,
    vocabulary: Vocabulary,
    run_id: str,
    score: float,
    facts: Mapping[str, object],
) -> None:
    (run.folder / "model").mkdir()
    save(model, vocabulary, run.folder / "model")
    summary = {"method": model.config.method, "run_id": run_id, "validation_ndcg_auc": score, **facts}
    (run.folder / "training.json").write_text(json.dumps(summary, indent=1))
