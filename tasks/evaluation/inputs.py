"""What the stages of evaluation read, as they are handed it."""

from pydantic import BaseModel, ConfigDict

from storage.artifacts import Artifact


class EvaluationData(BaseModel):
    """What an evaluation reads; `images`, `features` and `captions` are those of the split that is evaluated."""

    model_config = ConfigDict(frozen=True)

    split: str
    vocabulary: Artifact
    train_images: Artifact
    train_features: Artifact
    images: Artifact
    features: Artifact
    captions: Artifact
