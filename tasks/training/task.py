"""The stages that train candidates, and functions that read their results for flows."""

import json
import logging
import math
from collections.abc import Mapping
from typing import Any

from storage.artifacts import Artifact, folder_of
from storage.tables import read_table
from storage.workspace import Workspace
from tasks.caching import StageRun, stage
from tasks.errors import InputError
from tasks.model.config import NetworkConfig
from tasks.model.methods import LABELS
from tasks.training.config import FineTuningConfig, RegressionConfig, TripletConfig, TripletMethod
from tasks.training.half import HalfFit
from tasks.training.inputs import TrainingData
from tasks.training.memory import usable_memory

__all__ = [
    "HalfFit",
    "fit_on_half",
    "fit_to_memory",
    "score_to_beat",
    "sound_candidates",
    "train_regression_head",
    "train_triplet_head",
    "train_untrained",
]

logger = logging.getLogger("scenekin.training")


@stage(
    "training",
    libraries=("nltk", "numpy", "openvino", "pillow", "pillow-heif", "scipy", "torch", "torchvision", "timm"),
)
def train_triplet_head(
    run: StageRun,
    data: TrainingData,
    neighbours: Artifact,
    networks: tuple[NetworkConfig, ...],
    method: TripletMethod,
    config: TripletConfig,
    seed: int,
    beat: int | None = None,
) -> None:
    """Train a method by triplets, starting from the features' PCA (METHOD.md 3–5) → model/ and training.json.

    It stops early once its validation NDCG AUC cannot reach `beat`.
    """
    from tasks.training.triplet_stage import train

    train(run, data, neighbours, networks, method, config, seed, beat)


@stage("training", libraries=("nltk", "numpy", "scikit-learn", "scipy", "torch", "torchvision", "timm"))
def train_regression_head(
    run: StageRun,
    data: TrainingData,
    networks: tuple[NetworkConfig, ...],
    config: RegressionConfig,
    seed: int,
    method: str = "regression",
) -> None:
    """Fit ridge regression from features to the truncated SVD of tf-idf (METHOD.md 9) → model/ and training.json.

    `method` is `finetuned` or `joined` if a network was fine-tuned.
    """
    from tasks.training.regression_stage import train

    train(run, data, networks, config, seed, method)


@stage("training", libraries=("nltk", "numpy", "scipy", "torch", "torchvision", "timm"))
def train_untrained(run: StageRun, data: TrainingData, networks: tuple[NetworkConfig, ...], seed: int) -> None:
    """Make a model of the untrained baseline that is best on validation (METHOD.md 6) → model/ and training.json."""
    from tasks.training.untrained_stage import train

    train(run, data, networks, seed)


@stage(
    "finetuning",
    libraries=("nltk", "numpy", "pillow", "pillow-heif", "scikit-learn", "scipy", "torch", "torchvision", "timm"),
)
def finetune(run: StageRun, data: TrainingData, network: NetworkConfig, config: FineTuningConfig, seed: int) -> None:
    """Train a network's upper stages to predict caption vectors (METHOD.md 10) → weights.safetensors, training.json."""
    from tasks.training.finetuning_stage import finetune as run_finetuning

    run_finetuning(run, data, network, config, seed)


def finetuned_weights(workspace: Workspace, finetuning: Artifact) -> str:
    """Return the path of the weights that a fine-tuning left."""
    return str(folder_of(workspace, finetuning) / "weights.safetensors")


@stage("training", libraries=("numpy", "openvino", "pillow", "pillow-heif", "torch", "torchvision", "timm"))
def fit_untrained(
    run: StageRun,
    images: Artifact,
    networks: tuple[NetworkConfig, ...],
    weights: tuple[str, ...],  # noqa: ARG001  of the key
) -> None:
    """Centre and scale untrained networks' features on the collection itself (METHOD.md 6) → model/.

    `weights` are the digests of the networks' weights. Raises InputError if fewer than two images can be read.
    """
    from tasks.training.untrained_collection_stage import fit

    fit(run, images, networks)


def fit_to_memory(workspace: Workspace, config: RegressionConfig, train_images: Artifact) -> RegressionConfig:
    """Return settings that fit into this machine's memory. They are part of the key if they change the result."""
    images = read_table(folder_of(workspace, train_images) / "captioned/train.parquet", ["sha256"]).num_rows
    return config.within(images, usable_memory())


def score_to_beat(workspace: Workspace, trained: Mapping[str, Artifact], config: TripletConfig) -> int | None:
    """Return the best validation NDCG AUC of the finished candidates, rounded down to a whole point.

    Rounding keeps the next stage's key when a score changes a little. None if no candidate is finished, or if training
    is so short that it is never stopped.
    """
    results = [_training_json(workspace, artifact) for artifact in trained.values()]
    scores = [float(result["validation_ndcg_auc"]) for result in results if not result.get("collapsed")]
    return math.floor(max(scores)) if scores and config.refreshes > config.patience else None


def sound_candidates(
    workspace: Workspace, trained: Mapping[str, Artifact]
) -> tuple[dict[str, Artifact], tuple[str, ...]]:
    """Return the candidates that did not collapse, and notes on those that collapsed or were stopped as hopeless.

    Raises InputError if all collapsed.
    """
    results = {method: _training_json(workspace, artifact) for method, artifact in trained.items()}
    sound = {method: artifact for method, artifact in trained.items() if not results[method].get("collapsed")}
    if not sound:
        raise InputError(
            "Training collapsed: all images got nearly the same embedding; lower learning_rate or raise "
            "hardest in the settings of the candidates."
        )
    notes = []
    for method, result in results.items():
        if method not in sound:
            notes.append(f"{LABELS[method]} collapsed (all images got nearly the same embedding) and was left out.")
            logger.warning(notes[-1])
        elif result.get("hopeless"):
            notes.append(
                f"{LABELS[method]} was stopped after refresh {result['refreshes']} of {result['max_refreshes']}, "
                "because it could not become the best; its values are those reached by then."
            )
    return sound, tuple(notes)


def fit_on_half(workspace: Workspace, training: Artifact) -> HalfFit | None:
    """Return what the regression reaches with half of the training images; None for other methods."""
    half = _training_json(workspace, training).get("half")
    return None if half is None else HalfFit.model_validate(half)


def _training_json(workspace: Workspace, training: Artifact) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((folder_of(workspace, training) / "training.json").read_text(encoding="utf-8"))
    return result
