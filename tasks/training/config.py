"""Settings of training."""

import math
from typing import Annotated, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from tasks.model.config import BackboneConfig, PoolingConfig

TripletMethod = Literal["v_v", "vt_v", "wsabie"]
ENTRY_BYTES = 22  # memory per entry of the full kernel: 20,000 images took 8.6 GB
LANDMARK_ENTRY_BYTES = 30  # the same for the kernel of landmarks: three float64 matrices and a temporary one
LEAST_LANDMARKS = 256
MEMORY_SHARE = 0.8  # of the available memory; other programs need some
GAP = PoolingConfig(kind="gap")
RMAC_MAX = PoolingConfig(kind="rmac_max")
RMAC_MEAN = PoolingConfig(kind="rmac_mean")
BLOCKS = PoolingConfig(kind="blocks")
BASELINE_POOLINGS = (GAP, RMAC_MAX, RMAC_MEAN, BLOCKS)  # of the untrained baselines
Penalty = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class TripletConfig(BaseModel):
    """Training by triplets of caption similarity (METHOD.md 4, 5); defaults chosen on Flickr8k's validation split."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pooling: PoolingConfig = Field(
        default=PoolingConfig(kind="rmac_mean"), description="How feature maps become descriptors."
    )
    dimension: int = Field(default=512, ge=1, description="Dimensions of the embedding.")
    whitening_power: float = Field(
        default=0.3, ge=0, le=1, description="PCA whitening of the initial layer: 0 rotates only, 1 whitens fully."
    )
    backbone: Literal["frozen", "finetuned"] = Field(
        default="frozen", description="frozen trains the head on precomputed features, finetuned the whole network."
    )
    margin: float = Field(default=0.2, gt=0, description="Margin of the triplet loss.")
    queries: int = Field(default=500, ge=1, description="Random queries per refresh.")
    relevant: int = Field(default=9, ge=1, description="Relevant images per query in the pool.")
    pool: int = Field(default=5000, ge=3, description="Images to mine triplets from, at most.")
    hardest: int = Field(
        default=1000,
        ge=1,
        description="Non-relevant images per relevant image: those most similar to the query.",
    )
    batch: int = Field(default=64, ge=1, description="Triplets per update.")
    per_query: int | None = Field(
        default=None, ge=1, description="Consecutive triplets of one query (default: 1 if frozen, 8 if finetuned)."
    )
    updates: int = Field(default=64, ge=1, description="Updates between refreshes.")
    refreshes: int = Field(default=40, ge=1, description="Refreshes (new pools and triplets), at most.")
    patience: int = Field(default=8, ge=1, description="Stop after this many refreshes without improvement.")
    learning_rate: float | None = Field(
        default=None, gt=0, le=1e30, description="Learning rate (default: 5e-4 if frozen, 1e-5 if finetuned)."
    )
    text_learning_rate: float | None = Field(
        default=None,
        gt=0,
        le=1e30,
        description="Rate of the text embedding (default: 10 times learning_rate).",
    )
    lower_after: int = Field(default=8000, ge=1, description="Updates after which the learning rates are lowered.")
    lower_by: float = Field(default=0.1, gt=0, le=1, description="Factor that the learning rates are multiplied by.")

    @property
    def rate(self) -> float:
        """The learning rate, by default 5e-4 for a head on frozen features, the paper's 1e-5 for the whole network."""
        return self.learning_rate or (5e-4 if self.backbone == "frozen" else 1e-5)

    @property
    def text_rate(self) -> float:
        """The learning rate of the text embedding, by default 10 times learning_rate."""
        return self.text_learning_rate or 10 * self.rate

    @property
    def shared(self) -> int:
        """Consecutive triplets of one query, by default 1 on precomputed features, 8 if images pass the network."""
        return self.per_query or (1 if self.backbone == "frozen" else 8)

    def resolved(self, method: TripletMethod) -> Self:
        """Return these settings with values in the place of None, and without those that the method ignores."""
        text_rate = TripletConfig().text_learning_rate if method == "v_v" else self.text_rate
        values = {"learning_rate": self.rate, "text_learning_rate": text_rate, "per_query": self.shared}
        return self.model_copy(update=values)


class FineTuningConfig(BaseModel):
    """Training of a network's upper stages on the truncated SVD of tf-idf (METHOD.md 10)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    backbone: BackboneConfig | None = Field(
        default=None, description="The network to train further (default: the first one of backbone)."
    )
    size: int | None = Field(
        default=None,
        ge=32,
        description="Size of the images that it is trained on, in pixels (default: that of its features).",
    )
    stages: int = Field(default=4, ge=1, description="Upper stages of the network to train; lower ones stay frozen.")
    epochs: int = Field(default=6, ge=1, description="Passes over the training images.")
    batch: int = Field(default=64, ge=1, description="Images per update.")
    learning_rate: float = Field(
        default=4e-4, gt=0, le=1, description="Highest learning rate of the one-cycle schedule."
    )
    head_rate: float = Field(
        default=0.1, gt=0, le=10, description="Learning rate of the linear map, relative to learning_rate."
    )
    smallest_crop: float = Field(
        default=0.5, gt=0, le=1, description="Least share of an image's area in a random crop."
    )
    dropout: float = Field(default=0.2, ge=0, lt=1, description="Share of the pooled features that is dropped.")
    dimension: int = Field(default=512, ge=2, description="Dimensions of the caption vector that is predicted.")


class RegressionConfig(BaseModel):
    """Ridge regression from features to the truncated SVD of tf-idf (METHOD.md 9).

    Defaults chosen on Flickr8k's validation split.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    pooling: PoolingConfig = Field(
        default=PoolingConfig(kind="blocks"), description="One descriptor per image: blocks, gap or gem."
    )
    kernel: Literal["gaussian", "linear"] = Field(default="gaussian", description="gaussian or linear.")
    dimension: int = Field(default=512, ge=2, description="Dimensions of the embedding; the first ones explain most.")
    bandwidth: float = Field(
        default=0.7,
        gt=0,
        allow_inf_nan=False,
        description="Gaussian kernel only: larger values make it narrower.",
    )
    exact: int = Field(
        default=20_000, ge=1, description="Training images up to which the kernel is solved exactly, memory permitting."
    )
    landmarks: int = Field(
        default=8192, ge=1, description="Training images that approximate a larger kernel (Nyström)."
    )
    penalties: tuple[Penalty, ...] = Field(
        default=(0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
        min_length=1,
        description="Ridge penalties, rising; the best on validation is used.",
    )

    @property
    def topics(self) -> int:
        """The number of coordinates that are regressed."""
        return self.dimension - 1 if self.kernel == "gaussian" else self.dimension

    def landmarks_of(self, images: int, memory: float = math.inf) -> int | None:
        """Return the number of landmarks for this many training images, None if the kernel is solved exactly.

        MEMORY_SHARE of the bytes of `memory` must suffice; landmarks are halved until they do.
        """
        budget = memory * MEMORY_SHARE
        if images <= max(self.exact, self.landmarks) and images**2 * ENTRY_BYTES <= budget:
            return None
        landmarks = self.landmarks
        while landmarks > LEAST_LANDMARKS and (landmarks >= images or landmarks**2 * LANDMARK_ENTRY_BYTES > budget):
            landmarks = max(LEAST_LANDMARKS, landmarks // 2)
        return landmarks if landmarks < images else None

    def within(self, images: int, memory: float) -> Self:
        """Return settings with the same result as these for this many training images in this much memory.

        Only the number of landmarks enters them, so that a little more or less memory does not change a stage's key.
        """
        landmarks = self.landmarks_of(images, memory)
        if self.kernel == "linear" or landmarks == self.landmarks_of(images):
            return self
        assert landmarks is not None  # less memory never makes the kernel exact
        return self.model_copy(update={"exact": landmarks, "landmarks": landmarks})

    @field_validator("bandwidth", "exact", "landmarks")
    @classmethod
    def _only_for_a_gaussian(cls, value: float, info: ValidationInfo) -> float:
        """A linear kernel ignores them: so that they do not make a difference, they are left at their defaults."""
        ignored = info.data.get("kernel") == "linear"
        return cast(float, cls.model_fields[str(info.field_name)].default) if ignored else value

    @model_validator(mode="after")
    def _one_descriptor_per_image(self) -> Self:
        if self.pooling.kind.startswith("rmac"):
            raise ValueError(f"pooling.kind must be blocks, gap or gem, not {self.pooling.kind!r}")
        return self
