"""Settings of training."""

import math
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tasks.model.config import PoolingConfig

TripletMethod = Literal["v_v", "vt_v", "wsabie"]
ENTRY_BYTES = 22  # of memory for an entry of the kernel of all train images: 8.6 GB were used for 20,000
MEMORY_SHARE = 0.8  # other programs run too
Penalty = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class TripletConfig(BaseModel):
    """Training by triplets of caption similarity (METHOD.md 4, 5); defaults chosen on Flickr8k's validation split.

    `per_query` triplets of one query follow one another, so that a batch has fewer images.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    pooling: PoolingConfig = PoolingConfig(kind="rmac_mean")
    dimension: int = Field(default=512, ge=1)
    whitening_power: float = Field(default=0.3, ge=0, le=1)
    backbone: Literal["frozen", "finetuned"] = "frozen"
    margin: float = Field(default=0.2, gt=0)
    queries: int = Field(default=500, ge=1)
    relevant: int = Field(default=9, ge=1)
    pool: int = Field(default=5000, ge=3)
    hardest: int = Field(default=1000, ge=1)
    batch: int = Field(default=64, ge=1)
    per_query: int | None = Field(default=None, ge=1)
    updates: int = Field(default=64, ge=1)
    refreshes: int = Field(default=40, ge=1)
    patience: int = Field(default=8, ge=1)
    learning_rate: float | None = Field(default=None, gt=0, le=1e30)
    text_learning_rate: float | None = Field(default=None, gt=0, le=1e30)
    lower_after: int = Field(default=8000, ge=1)
    lower_by: float = Field(default=0.1, gt=0, le=1)

    @property
    def rate(self) -> float:
        """The learning rate: by default 5e-4 for a head on frozen features, the paper's 1e-5 for the whole network."""
        return self.learning_rate or (5e-4 if self.backbone == "frozen" else 1e-5)

    @property
    def text_rate(self) -> float:
        """The text embedding's learning rate: by default 10 times the other."""
        return self.text_learning_rate or 10 * self.rate

    @property
    def shared(self) -> int:
        """Triplets drawn of a query at a time: by default 1 on precomputed features, 8 if images are decoded."""
        return self.per_query or (1 if self.backbone == "frozen" else 8)


class RidgeConfig(BaseModel):
    """Ridge regression from features to the truncated SVD of tf-idf (METHOD.md 9); the penalty is chosen on validation.

    `bandwidth` of the Gaussian kernel is in units of the features' spread. Up to `exact` train images the kernel is
    solved whole, fewer where memory does not hold it; past that it is approximated by `landmarks` of them (Nyström).
    `dimension` may be cut: the first coordinates explain most, and a kernel's very first one is its certainty.
    Defaults chosen on Flickr8k's validation split.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    pooling: PoolingConfig = PoolingConfig(kind="blocks")
    kernel: Literal["gaussian", "linear"] = "gaussian"
    dimension: int = Field(default=512, ge=2)
    bandwidth: float = Field(default=0.7, gt=0, allow_inf_nan=False)
    exact: int = Field(default=20_000, ge=1)
    landmarks: int = Field(default=8192, ge=1)
    penalties: tuple[Penalty, ...] = Field(default=(0.03, 0.1, 0.3, 1.0, 3.0, 10.0), min_length=1)

    @property
    def topics(self) -> int:
        """The number of coordinates that are regressed."""
        return self.dimension - 1 if self.kernel == "gaussian" else self.dimension

    def landmarks_of(self, images: int) -> int | None:
        """Return the number of landmarks for this many train images, None if the kernel is solved exactly."""
        return None if images <= max(self.exact, self.landmarks) else self.landmarks

    def within(self, memory: float) -> Self:
        """Return the settings with `exact` limited to a kernel that fits into MEMORY_SHARE of this many bytes."""
        fitting = math.isqrt(int(memory * MEMORY_SHARE / ENTRY_BYTES))
        return self.model_copy(update={"exact": max(1, min(self.exact, fitting))})

    @model_validator(mode="after")
    def _one_descriptor_an_image(self) -> Self:
        if self.pooling.kind.startswith("rmac"):
            raise ValueError("ridge.pooling must give one descriptor per image: blocks, gap or gem")
        return self
