"""The work of the stage that trains the regression of caption vectors."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from storage.faults import FaultPoint, reach
from storage.tracking import training_run
from tasks.caching import StageRun
from tasks.captions.tfidf import tfidf_from
from tasks.features.descriptors import project
from tasks.model.config import NetworkConfig
from tasks.model.device import choose_device
from tasks.model.head import Head, Kernel, Projection
from tasks.model.methods import LABELS
from tasks.progress import progress
from tasks.training.candidate import LoadedData, run_parameters, save_candidate
from tasks.training.config import RegressionConfig
from tasks.training.half import compare_with_half, draw_half
from tasks.training.inputs import TrainingData
from tasks.training.ridge import TEXT_CERTAINTY, RidgeFit, best_of, caption_space, kernel_ridge, linear_heads


def train(
    run: StageRun,
    data: TrainingData,
    networks: tuple[NetworkConfig, ...],
    config: RegressionConfig,
    seed: int,
    method: str,
) -> None:
    """Fit ridge regression from features to the truncated SVD of tf-idf (METHOD.md 9) → model/ and training.json."""
    loaded = LoadedData(run, data, networks)
    train_NC = loaded.train_descriptors(config.pooling).single()
    validation = loaded.validation_descriptors(config.pooling)
    solver = _solver(config, len(train_NC))
    with (
        training_run(run.workspace, loaded.page(method), run.work / "run_id") as log,
        progress(f"{LABELS[method]} of {len(train_NC):,} images ({solver})", len(config.penalties)) as on_step,
    ):
        log.params({**run_parameters(networks, seed, config), "solver": solver})

        def score(head: Head) -> float:
            on_step(1)
            if isinstance(head, Kernel):
                head.calibrate(validation.single())
            return loaded.truth.ndcg_auc(project(head, validation).numpy())

        def query_aucs(head: Head) -> np.ndarray:
            if isinstance(head, Kernel):
                head.calibrate(validation.single())
            return loaded.truth.query_aucs(project(head, validation).numpy())

        space = caption_space(tfidf_from(loaded.tfidf_table), config.topics, seed)
        device = choose_device(run.runtime.device, *(network.backbone.precision for network in networks))
        blocks = loaded.block_channels(config.pooling)
        fit = _fit(train_NC, space.target_NT, config, blocks, seed, device, score)
        half_N, chosen = draw_half(len(train_NC), seed), config.model_copy(update={"penalties": (fit.penalty,)})
        half = _fit(train_NC[half_N], space.target_NT[half_N], chosen, blocks, seed, device, lambda _: 0.0)
        compared = compare_with_half(query_aucs(fit.head), query_aucs(half.head), len(half_N))
        reach(FaultPoint.CANDIDATE_TRAINED, run.work)
        best = fit.scores[fit.penalty]
        log.metrics({"best_validation_ndcg_auc": best, "penalty": fit.penalty})
        save_candidate(
            run,
            loaded.new_model(method, config.pooling, fit.head),
            loaded.vocabulary,
            log.run_id,
            best,
            {"solver": solver, "penalty": fit.penalty, "scores": fit.scores, "half": compared.model_dump()},
            text_VT=space.text_VT,
            certainty=TEXT_CERTAINTY if isinstance(fit.head, Kernel) else None,
        )


def _solver(config: RegressionConfig, images: int) -> str:
    """Describe how the regression is solved, for people."""
    if config.kernel == "linear":
        return "linear"
    landmarks = config.landmarks_of(images)
    return "exact kernel" if landmarks is None else f"{landmarks:,} landmarks"


def _fit(
    train_NC: Tensor,
    target_NT: np.ndarray,
    config: RegressionConfig,
    block_channels: tuple[int, ...],
    seed: int,
    device: torch.device,
    score: Callable[[Head], float],
) -> RidgeFit[Kernel] | RidgeFit[Projection]:
    """Fit a head for each penalty and choose the best."""
    if config.kernel == "linear":
        return best_of(linear_heads(train_NC, target_NT, config.penalties), score)
    ridge = kernel_ridge(
        train_NC,
        target_NT,
        block_channels=block_channels,
        bandwidth=config.bandwidth,
        landmarks=config.landmarks_of(len(train_NC)),
        seed=seed,
        device=device,
    )
    fit = best_of(ridge.heads(config.penalties), score)
    ridge.treat_as_unseen(fit.penalty, fit.head)
    return fit
