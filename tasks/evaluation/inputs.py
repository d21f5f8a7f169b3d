"""The inputs of the evaluation stages."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

from storage.artifacts import Artifact


class EvaluationData(BaseModel):
    """The artifacts an evaluation reads; `images`, `features` and `captions` belong to the evaluated split.

    Vocabulary and baselines are fitted on the split `reference`. `train_embeddings`, by method, are those of training
    images that are searched together with the split.
    """

    model_config = ConfigDict(frozen=True)

    split: str
    vocabulary: Artifact
    reference: str
    reference_images: Artifact
    reference_features: tuple[Artifact, ...]
    reference_captions: Artifact
    train_embeddings: Mapping[str, Artifact] = {}
    images: Artifact
    features: tuple[Artifact, ...]
    captions: Artifact
