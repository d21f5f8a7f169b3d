"""The work of the stage that makes a model of the best untrained baseline."""

from storage.tracking import training_run
from tasks.caching import StageRun
from tasks.features.descriptors import project
from tasks.model.config import NetworkConfig
from tasks.training.candidate import LoadedData, run_parameters, save_candidate
from tasks.training.config import BLOCKS
from tasks.training.inputs import TrainingData
from tasks.training.untrained import untrained_heads

METHOD = "untrained"


def train(run: StageRun, data: TrainingData, networks: tuple[NetworkConfig, ...], seed: int) -> None:
    """Choose the untrained baseline that is best on validation (METHOD.md 6) → model/ and training.json."""
    loaded = LoadedData(run, data, networks)
    with training_run(run.workspace, loaded.page(METHOD), run.work / "run_id") as log:
        log.params(run_parameters(networks, seed))
        tried = [
            (loaded.truth.ndcg_auc(project(head, loaded.validation_descriptors(pooling)).numpy()), name, pooling, head)
            for name, pooling, head in untrained_heads(
                loaded.train_descriptors, loaded.block_channels(BLOCKS), seed=seed
            )
        ]
        score, baseline, pooling, head = max(tried, key=lambda each: each[0])  # ties go to the first
        log.metrics({"best_validation_ndcg_auc": score})
        save_candidate(
            run,
            loaded.new_model(METHOD, pooling, head),
            loaded.vocabulary,
            log.run_id,
            score,
            {"baseline": baseline, "scores": {name: score for score, name, *_ in tried}},
        )
