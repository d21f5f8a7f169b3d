"""The regression of caption vectors."""

from collections.abc import Iterator

import numpy as np
from torch import Tensor

from storage.tracking import training_run
from tasks.caching import StageRun
from tasks.captions.tfidf import tfidf_from
from tasks.features.descriptors import project
from tasks.model.config import BackboneConfig
from tasks.model.head import Head, Kernel
from tasks.progress import progress
from tasks.training.candidate import Opened, settings, write
from tasks.training.config import RidgeConfig
from tasks.training.inputs import TrainingData
from tasks.training.ridge import ASKED_CERTAINTY, best_of, caption_space, kernel_heads, linear_heads


def train(run: StageRun, data: TrainingData, backbone: BackboneConfig, config: RidgeConfig, seed: int) -> None:
    """Ridge from features to the truncated SVD of tf-idf (METHOD.md 9) → model/ and training.json."""
    opened = Opened(run, data, backbone)
    train_NC, validation = (
        opened.train_descriptors(config.pooling).single(),
        opened.validation_descriptors(config.pooling),
    )
    landmarks = config.landmarks_of(len(train_NC))
    solver = (
        "linear" if config.kernel == "linear" else "exact kernel" if landmarks is None else f"{landmarks:,} landmarks"
    )
    with (
        training_run(run.workspace, opened.page("regression"), run.work / "run_id") as log,
        progress(f"regression of {len(train_NC):,} images ({solver})", len(config.penalties)) as on_step,
    ):
        log.params({**settings(backbone, config, seed), "solver": solver})

        def score(head: Head) -> float:
            on_step(1)
            if isinstance(head, Kernel):
                head.calibrate(validation.single())
            return opened.truth.ndcg_auc(project(head, validation).numpy())

        space = caption_space(tfidf_from(opened.tfidf_table), config.topics, seed)
        fit = best_of(_heads(train_NC, space.target_NT, config, opened.blocks(config.pooling), seed), score)
        best = fit.scores[fit.penalty]
        log.metrics({"best_validation_ndcg_auc": best, "penalty": fit.penalty})
        facts = {"solver": solver, "penalty": fit.penalty, "scores": fit.scores}
        model = opened.model("regression", config.pooling, fit.head)
        certainty = ASKED_CERTAINTY if isinstance(fit.head, Kernel) else None
        write(run, model, opened.vocabulary, log.run_id, best, facts, text_VT=space.text_VT, certainty=certainty)


def _heads(
    train_NC: Tensor, target_NT: np.ndarray, config: RidgeConfig, blocks: tuple[int, ...], seed: int
) -> Iterator[tuple[float, Head]]:
    if config.kernel == "linear":
        return linear_heads(train_NC, target_NT, config.penalties)
    return kernel_heads(
        train_NC,
        target_NT,
        config.penalties,
        blocks=blocks,
        bandwidth=config.bandwidth,
        landmarks=config.landmarks_of(len(train_NC)),
        seed=seed,
    )
