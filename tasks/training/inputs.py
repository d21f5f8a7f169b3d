"""What the stages of training read, as they are handed it."""

from pydantic import BaseModel, ConfigDict

from storage.artifacts import Artifact


class TrainingData(BaseModel):
    """The results that every candidate learns from. Captions and images are narrowed to the files of their split."""

    model_config = ConfigDict(frozen=True)

    vocabulary: Artifact
    train_images: Artifact
    train_features: Artifact
    validation_images: Artifact
    validation_features: Artifact
    validation_captions: Artifact
