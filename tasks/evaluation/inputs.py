"""The inputs of the evaluation stages."""

from pydantic import BaseModel, ConfigDict

from storage.artifacts import Artifact


class EvaluationData(BaseModel):
    """The artifacts an evaluation reads; `images`, `features` and `captions` belong to the evaluated split."""

    model_config = ConfigDict(frozen=True)

    split: str
    vocabulary: Artifact
    train_images: Artifact
    train_features: Artifact
    images: Artifact
    features: Artifact
    captions: Artifact
