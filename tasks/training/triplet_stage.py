"""The work of the stages that train by triplets: a projection or the whole network, with or without text."""

from collections.abc import Callable, Mapping
from typing import cast

import torch
from torch import nn

from storage.artifacts import Artifact
from storage.faults import FaultPoint, reach
from storage.tables import read_table
from storage.tracking import training_run
from tasks.caching import StageRun
from tasks.captions.tfidf import tfidf_from
from tasks.embedding.embed import embed_images
from tasks.errors import InputError
from tasks.features.descriptors import project
from tasks.images.loader import Refusal
from tasks.model.config import NetworkConfig
from tasks.model.device import choose_device
from tasks.model.head import Projection
from tasks.model.methods import LABELS
from tasks.model.scene_model import SceneModel
from tasks.model.whitening import pca_whitening, sample_regions
from tasks.progress import progress
from tasks.surrogate.neighbours import neighbours_from
from tasks.training.candidate import LoadedData, memory_errors, run_parameters, save_candidate
from tasks.training.config import TripletConfig, TripletMethod
from tasks.training.embedders import Embed, through_head, through_network, through_text
from tasks.training.inputs import TrainingData
from tasks.training.losses import TERMS, Modality
from tasks.training.mining import Relevance
from tasks.training.text_embedding import TextEmbedding, initial_text
from tasks.training.triplet_loop import Learner, TrainingState, train_triplets

Setup = tuple[nn.Module, Embed, Callable[[], float]]  # the module to train, how images are embedded, validation


def train(
    run: StageRun,
    data: TrainingData,
    neighbours: Artifact,
    networks: tuple[NetworkConfig, ...],
    method: TripletMethod,
    config: TripletConfig,
    seed: int,
    beat: int | None,
) -> None:
    """Train a method by triplets, starting from the features' PCA (METHOD.md 3–5) → model/ and training.json."""
    loaded = LoadedData(run, data, networks)
    device = choose_device(run.runtime.device, *(network.backbone.precision for network in networks))
    model = initial_model(loaded, method, config, seed)
    learner, validate = new_learner(loaded, model, config, device)
    table = read_table(run.open(neighbours) / "neighbours.parquet")
    relevance = Relevance(neighbours_from(table), loaded.tfidf_table["copy_group"].to_numpy())
    with (
        memory_errors(device, "runtime.batch_size", run.runtime.batch_size),
        training_run(run.workspace, loaded.page(method), run.work / "run_id") as log,
        progress(LABELS[method], config.refreshes) as on_step,
    ):
        log.params(run_parameters(networks, seed, config))
        state = train_triplets(
            learner,
            relevance,
            config,
            seed=seed,
            validate=validate,
            beat=beat,
            log=log.metrics,
            on_step=on_step,
            checkpoint=run.work / "checkpoint.pt",
            name_of=loaded.tfidf_table["image_id"].to_pylist().__getitem__,
        )
        reach(FaultPoint.CANDIDATE_TRAINED, run.work)
        if reason := state.stop_reason(config, beat):
            on_step.stop_early(reason)
        log.metrics({"best_validation_ndcg_auc": state.best_score, "skipped_refreshes": state.skipped})
        text_VT = None if learner.text is None else learner.text.text_VD.detach().cpu().numpy()
        facts = _facts(state, config, beat)
        save_candidate(run, model, loaded.vocabulary, log.run_id, state.best_score, facts, text_VT=text_VT)


def _facts(state: TrainingState, config: TripletConfig, beat: int | None) -> dict[str, object]:
    """Return what training.json records of a training beyond its score."""
    reason = state.stop_reason(config, beat)
    patient = state.refresh - state.best_refresh < config.patience
    return {
        "refreshes": state.refresh,
        "max_refreshes": config.refreshes,
        "best_refresh": state.best_refresh,
        "skipped": state.skipped,
        "collapsed": state.collapsed,
        "stopped_early": reason,
        "hopeless": reason is not None and patient and not state.collapsed,
    }


def initial_model(loaded: LoadedData, method: TripletMethod, config: TripletConfig, seed: int) -> SceneModel:
    """Build the backbone with a projection initialised by the PCA of train regions (METHOD.md 3), on the CPU."""
    value_SC = loaded.train_descriptors(config.pooling).value_SC
    head = Projection(*pca_whitening(sample_regions(value_SC, seed), config.dimension, config.whitening_power))
    return loaded.new_model(method, config.pooling, head, finetuned=config.backbone == "finetuned")


def new_learner(
    loaded: LoadedData, model: SceneModel, config: TripletConfig, device: torch.device
) -> tuple[Learner, Callable[[], float]]:
    """Set up training on a device: the learner, and the function that computes the validation score.

    The model, which must be on the CPU, is moved to the device after the text embedding is initialised from it.
    """
    terms = TERMS[cast(TripletMethod, model.config.method)]
    tfidf_NV = tfidf_from(loaded.tfidf_table)
    text = None
    if any("text" in (term.query, term.found) for term in terms):
        embedding_ND = project(model.head, loaded.train_descriptors(config.pooling)).numpy()
        text = TextEmbedding(initial_text(tfidf_NV, embedding_ND)).to(device)
    model.to(device)
    set_up = _through_network if config.backbone == "finetuned" else _through_features
    trainable, embed, validate = set_up(loaded, model, device)
    embeds: Mapping[Modality, Embed] = {"image": embed}
    if text is None:
        return Learner(trainable, terms, embeds), validate
    embeds = {**embeds, "text": through_text(text, tfidf_NV)}
    return Learner(nn.ModuleList([trainable, text]), terms, embeds, text), validate


def _through_features(loaded: LoadedData, model: SceneModel, device: torch.device) -> Setup:
    """Set up training of the projection on precomputed features."""
    train = loaded.train_descriptors(model.config.pooling).to(device)
    validation = loaded.validation_descriptors(model.config.pooling).to(device)
    return (
        model.head,
        through_head(model.head, train),
        lambda: loaded.truth.ndcg_auc(project(model.head, validation).numpy()),
    )


def _through_network(loaded: LoadedData, model: SceneModel, device: torch.device) -> Setup:
    """Set up training of the whole network on images."""
    images, validation, runtime = loaded.train_images(), loaded.validation_images(), loaded.run.runtime
    paths = validation["path"].to_pylist()
    read, read_validation = loaded.run.reader(images), loaded.run.reader(validation)

    def validate() -> float:
        embedding_ND = torch.zeros(len(paths), model.config.dimension)
        for batch in embed_images(
            model, paths, read_validation, device=device, batch_size=runtime.batch_size, workers=runtime.workers
        ):
            if isinstance(batch, Refusal):
                raise InputError(f"Cannot read {paths[batch.row]} any longer: {batch.reason}.")
            embedding_ND[list(batch[0])] = batch[1]
        return loaded.truth.ndcg_auc(embedding_ND.numpy())

    embed = through_network(
        model, images["path"].to_pylist(), read, device=device, workers=runtime.workers, chunk=runtime.batch_size
    )
    return model, embed, validate
