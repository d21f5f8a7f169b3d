"""The methods that learn from triplets: a projection, or the whole network, alone or beside the text embedding."""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import nn

from storage.artifacts import Artifact
from storage.tables import read_table
from storage.tracking import training_run
from tasks.caching import StageRun
from tasks.captions.tfidf import tfidf_from
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
from tasks.training.candidate import Opened, settings, write
from tasks.training.config import TripletConfig, TripletMethod
from tasks.training.embedders import Embed, through_head, through_network, through_text
from tasks.training.inputs import TrainingData
from tasks.training.losses import TERMS, Modality
from tasks.training.mining import Relevance
from tasks.training.text_embedding import TextEmbedding, initial_text
from tasks.training.triplet_loop import Learner, train_triplets

Prepared = tuple[nn.Module, Embed, Callable[[], float]]  # what is trained, how images are embedded, the score


def train(
    run: StageRun,
    data: TrainingData,
    neighbours: Artifact,
    backbone: BackboneConfig,
    method: TripletMethod,
    config: TripletConfig,
    seed: int,
) -> None:
    """A method from relevant images and the features' PCA (METHOD.md 3–5) → model/ and training.json."""
    opened = Opened(run, data, backbone)
    device = choose_device(run.runtime.device)
    model = _initial_model(opened, method, config, seed).to(device)
    tfidf_NV = tfidf_from(opened.tfidf_table)
    text = None if method == "v_v" else _initial_text(opened, model, tfidf_NV).to(device)
    learner, validate = _learner(opened, model, text, tfidf_NV, method, config, device)
    table = read_table(run.open(neighbours) / "neighbours.parquet")
    relevance = Relevance(neighbours_from(table), opened.tfidf_table["copy_group"].to_numpy())
    with (
        training_run(run.workspace, opened.page(method), run.work / "run_id") as log,
        progress(method, config.refreshes) as on_step,
    ):
        log.params(settings(backbone, config, seed))
        trained = train_triplets(
            learner,
            relevance,
            config,
            tfidf_NV=tfidf_NV,
            seed=seed,
            validate=validate,
            log=log.metrics,
            on_step=on_step,
            checkpoint=run.work / "checkpoint.pt",
            name_of=opened.tfidf_table["image_id"].to_pylist().__getitem__,
        )
        log.metrics({"best_validation_ndcg_auc": trained.best_score, "skipped_refreshes": trained.skipped})
        facts = {
            "refreshes": trained.refresh,
            "best_refresh": trained.best_refresh,
            "skipped": trained.skipped,
            "collapsed": trained.collapsed,
        }
        text_VT = None if text is None else text.text_VD.detach().cpu().numpy()
        write(run, model, opened.vocabulary, log.run_id, trained.best_score, facts, text_VT=text_VT)


def _learner(
    opened: Opened,
    model: SceneModel,
    text: TextEmbedding | None,
    tfidf_NV: csr_array,
    method: TripletMethod,
    config: TripletConfig,
    device: torch.device,
) -> tuple[Learner, Callable[[], float]]:
    prepare = _through_network if config.backbone == "finetuned" else _through_features
    trainable, embed, validate = prepare(opened, model, device)
    embeds: Mapping[Modality, Embed] = {"image": embed}
    if text is None:
        return Learner(trainable, TERMS[method], embeds), validate
    embeds = {**embeds, "text": through_text(text, tfidf_NV)}
    return Learner(nn.ModuleList([trainable, text]), TERMS[method], embeds, text), validate


def _initial_text(opened: Opened, model: SceneModel, tfidf_NV: csr_array) -> TextEmbedding:
    embedding_ND: np.ndarray = project(model.head.cpu(), opened.train_descriptors(model.config.pooling)).numpy()
    return TextEmbedding(initial_text(tfidf_NV, embedding_ND))


def _initial_model(opened: Opened, method: TripletMethod, config: TripletConfig, seed: int) -> SceneModel:
    """The backbone with a projection that PCA of the train regions starts (METHOD.md 3)."""
    value_SC = opened.train_descriptors(config.pooling).value_SC
    head = Projection(*pca_whitening(sample_regions(value_SC, seed), config.dimension, config.whitening_power))
    return opened.model(method, config.pooling, head, finetuned=config.backbone == "finetuned")


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

    embed = through_network(
        model, images["path"].to_pylist(), read, device=device, workers=runtime.workers, chunk=runtime.batch_size
    )
    return model, embed, validate
