"""The stages that train candidates."""

import json
import sys
from collections.abc import Mapping

from storage.artifacts import Artifact, folder_of
from storage.workspace import Workspace
from tasks.caching import StageRun, stage
from tasks.errors import InputError
from tasks.model.config import BackboneConfig
from tasks.training.config import RidgeConfig, TripletConfig, TripletMethod
from tasks.training.inputs import TrainingData
from tasks.training.memory import usable_memory


@stage(
    "training",
    libraries=("nltk", "numpy", "openvino", "pillow", "pillow-heif", "scipy", "torch", "torchvision", "timm"),
)
def train_triplet_head(
    run: StageRun,
    data: TrainingData,
    neighbours: Artifact,
    backbone: BackboneConfig,
    method: TripletMethod,
    config: TripletConfig,
    seed: int,
) -> None:
    """A method of triplets from relevant images and the features' PCA (METHOD.md 3–5) → model/ and training.json."""
    from tasks.training.triplet_stage import train

    train(run, data, neighbours, backbone, method, config, seed)


@stage("training", libraries=("nltk", "numpy", "scikit-learn", "scipy", "torch", "torchvision", "timm"))
def train_ridge_head(
    run: StageRun, data: TrainingData, backbone: BackboneConfig, config: RidgeConfig, seed: int
) -> None:
    """Ridge regression from features to the truncated SVD of tf-idf, by a kernel or linear (METHOD.md 9) → as above."""
    from tasks.training.ridge_stage import train

    train(run, data, backbone, config, seed)


def fit_to_memory(config: RidgeConfig) -> RidgeConfig:
    """The settings that this machine has the memory for; taken before a stage's key, as they change what it answers."""
    return config.within(usable_memory())


def sound_candidates(
    workspace: Workspace, trained: Mapping[str, Artifact]
) -> tuple[dict[str, Artifact], tuple[str, ...]]:
    """The candidates that did not collapse, and a sentence on each that did. Raises InputError where all did."""
    collapsed = [method for method, artifact in trained.items() if _has_collapsed(workspace, artifact)]
    notes = tuple(
        f"{method} collapsed: all images came to look alike to it, so it is left out." for method in collapsed
    )
    if len(collapsed) == len(trained):
        raise InputError(
            "Training collapsed: all images came to look alike; lower the learning rate, or raise triplets.hardest."
        )
    for note in notes:
        print(note, file=sys.stderr)
    return {method: artifact for method, artifact in trained.items() if method not in collapsed}, notes


def _has_collapsed(workspace: Workspace, training: Artifact) -> bool:
    facts = json.loads((folder_of(workspace, training) / "training.json").read_text())
    return bool(facts.get("collapsed", False))
