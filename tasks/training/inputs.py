"""The inputs of the training stages."""

from pydantic import BaseModel, ConfigDict

from storage.artifacts import Artifact


class TrainingData(BaseModel):
    """The artifacts that every candidate is trained on; captions and images are narrowed to the files of a split.

    Features are given for each network.
    """

    model_config = ConfigDict(frozen=True)

    vocabulary: Artifact
    train_images: Artifact
    train_features: tuple[Artifact, ...]
    validation_images: Artifact
    validation_features: tuple[Artifact, ...]
    validation_captions: Artifact
