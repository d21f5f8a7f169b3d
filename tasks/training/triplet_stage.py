"""(V,V): a projection, or the whole network, trained on triplets."""

from collections.abc import Callable

import torch
from torch import nn

from storage.artifacts import Artifact
from storage.tables import read_table
from storage.tracking import training_run
from tasks.caching import StageRun
from tasks.embedding.embed import embed_images
from tasks.errors import InputError
from tasks.features.descriptors import project
from tasks.images.loader import Refusal
from tasks.model.config import BackboneConfig
from tasks.model.device import choose_device
from tasks.model.head import Projection
from tasks.model.scene_model import SceneModel
from tasks.model.whitening import pca_whitening, sample_regions
from tasks.progress import progress
from tasks.surrogate.neighbours import neighbours_from
from tasks.training.candidate_stage import Opened, settings, write
from tasks.training.config import TripletConfig
from tasks.training.embedders import Embed, through_head, through_network
from tasks.training.inputs import TrainingData
from tasks.training.mining import Relevance
from tasks.training.triplets import train_triplets

Prepared = tuple[nn.Module, Embed, Callable[[], float]]  # what is trained, how images are embedded, the score


def train(
    run: StageRun,
    data: TrainingData,
    neighbours: Artifact,
    backbone: BackboneConfig,
    config: TripletConfig,
    seed: int,
) -> None:
    """(V,V) from relevant images and the features' PCA (METHOD.md 3–5) → model/ and training.json."""
    opened = Opened(run, data, backbone)
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
        log.params(settings(backbone, config, seed))
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
            name_of=opened.tfidf_table["image_id"].to_pylist().__getitem__,
        )
        log.metrics({"best_validation_ndcg_auc": trained.best_score, "skipped_refreshes": trained.skipped})
        facts = {"refreshes": trained.refresh, "best_refresh": trained.best_refresh, "skipped": trained.skipped}
        write(run, model, opened.vocabulary, log.run_id, trained.best_score, facts)


def _initial_model(opened: Opened, config: TripletConfig, seed: int) -> SceneModel:
    """The backbone with a projection that PCA of the train regions starts (METHOD.md 3)."""
    value_SC = opened.train_descriptors(config.pooling).value_SC
    head = Projection(*pca_whitening(sample_regions(value_SC, seed), config.dimension, config.whitening_power))
    return opened.model("v_v", config.pooling, head, finetuned=config.backbone == "finetuned")


def _through_features(opened: Opened, model: SceneModel, device: torch.device) -> Prepared:
    """The projection is trained on features at hand."""
    train = opened.train_descriptors(model.config.pooling).to(device)
    validation = opened.validation_descriptors(model.config.pooling).to(device)
    return (
        model.head,
        through_head(model.head, train),
        lambda: opened.truth.ndcg_auc(project(model.head, validation).numpy()),
    )


def _through_network(opened: Opened, model: SceneModel, device: torch.device) -> Prepared:
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
