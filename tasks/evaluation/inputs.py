"""The inputs of the evaluation stages."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

from storage.artifacts import Artifact


class EvaluationData(BaseModel):
    """The artifacts an evaluation reads; `images`, `features` and `captions` belong to the evaluated split.

    `train_embeddings`, by method, are those that are also searched together with the training images.
    """

    model_config = ConfigDict(frozen=True)

    split: str
    vocabulary: Artifact
    train_images: Artifact
    train_features: Artifact
    train_captions: Artifact
    train_embeddings: Mapping[str, Artifact] = {}
    images: Artifact
    features: Artifact
    captions: Artifact
