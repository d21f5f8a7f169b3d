"""The regression of caption vectors."""

from storage.tracking import training_run
from tasks.caching import StageRun
from tasks.captions.tfidf import tfidf_from
from tasks.features.descriptors import project
from tasks.model.config import BackboneConfig, PoolingConfig
from tasks.model.head import Projection
from tasks.progress import progress
from tasks.training.candidate_stage import Opened, settings, write
from tasks.training.config import RidgeConfig
from tasks.training.inputs import TrainingData
from tasks.training.ridge import caption_targets, fit_ridge


def train(run: StageRun, data: TrainingData, backbone: BackboneConfig, config: RidgeConfig, seed: int) -> None:
    """Linear ridge from average-pooled features to the truncated SVD of tf-idf (METHOD.md 9) → as above."""
    opened = Opened(run, data, backbone)
    pooling = PoolingConfig(kind="gap")
    train, validation = opened.train_descriptors(pooling), opened.validation_descriptors(pooling)
    with (
        training_run(run.workspace, "regression", run.work / "run_id") as log,
        progress("linear ridge", len(config.penalties)) as on_step,
    ):
        log.params(settings(backbone, config, seed))

        def score(head: Projection) -> float:
            on_step(1)
            return opened.truth.ndcg_auc(project(head, validation).numpy())

        target_ND = caption_targets(tfidf_from(opened.tfidf_table), config.dimension, seed)
        fit = fit_ridge(train.single(), target_ND, config.penalties, score)
        best = fit.scores[fit.penalty]
        log.metrics({"best_validation_ndcg_auc": best, "penalty": fit.penalty})
        facts = {"penalty": fit.penalty, "scores": fit.scores}
        write(run, opened.model("regression", pooling, fit.head), opened.vocabulary, log.run_id, best, facts)
