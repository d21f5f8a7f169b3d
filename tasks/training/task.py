"""The stages that train candidates."""

from storage.artifacts import Artifact
from tasks.caching import StageRun, stage
from tasks.model.config import BackboneConfig
from tasks.training.config import RidgeConfig, TripletConfig
from tasks.training.inputs import TrainingData


@stage("training", libraries=("nltk", "numpy", "pillow", "pillow-heif", "scipy", "torch", "torchvision", "timm"))
def train_triplet_head(
    run: StageRun,
    data: TrainingData,
    neighbours: Artifact,
    backbone: BackboneConfig,
    config: TripletConfig,
    seed: int,
) -> None:
    """(V,V) from relevant images and the features' PCA (METHOD.md 3–5) → model/ and training.json."""
    from tasks.training.triplet_stage import train

    train(run, data, neighbours, backbone, config, seed)


@stage("training", libraries=("nltk", "numpy", "scikit-learn", "scipy", "torch", "torchvision", "timm"))
def train_ridge_head(
    run: StageRun, data: TrainingData, backbone: BackboneConfig, config: RidgeConfig, seed: int
) -> None:
    """Ridge regression from features to the truncated SVD of tf-idf, by a kernel or linear (METHOD.md 9) → as above."""
    from tasks.training.ridge_stage import train

    train(run, data, backbone, config, seed)
