"""How heads are trained."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tasks.model.config import PoolingConfig

Penalty = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class TripletConfig(BaseModel):
    """(V,V): triplets mined by caption similarity, loss (1) (METHOD.md 4, 5); defaults chosen on Flickr8k."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pooling: PoolingConfig = PoolingConfig(kind="rmac_mean")
    dimension: int = Field(default=512, ge=1)
    whitening_power: float = Field(default=0.3, ge=0, le=1)
    backbone: Literal["frozen", "finetuned"] = "frozen"
    margin: float = Field(default=0.2, gt=0)
    queries: int = Field(default=500, ge=1)
    relevant: int = Field(default=9, ge=1)
    pool: int = Field(default=5000, ge=3)
    hardest: int = Field(default=3000, ge=1)
    batch: int = Field(default=64, ge=1)
    updates: int = Field(default=64, ge=1)
    refreshes: int = Field(default=40, ge=1)
    patience: int = Field(default=8, ge=1)
    learning_rate: float | None = Field(default=None, gt=0)
    lower_after: int = Field(default=8000, ge=1)
    lower_by: float = Field(default=0.1, gt=0, le=1)

    @property
    def rate(self) -> float:
        """The learning rate: where none is set, 5e-4 for a head on frozen features, the paper's 1e-5 for all of it."""
        return self.learning_rate or (5e-4 if self.backbone == "frozen" else 1e-5)


class RidgeConfig(BaseModel):
    """Ridge regression from features to the truncated SVD of tf-idf (METHOD.md 9); the penalty is chosen on validation.

    `bandwidth` of the Gaussian kernel is in units of the features' spread. Past `landmarks` train images the kernel is
    approximated by that many of them (Nyström). Defaults chosen on Flickr8k.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    pooling: PoolingConfig = PoolingConfig(kind="blocks")
    kernel: Literal["gaussian", "linear"] = "gaussian"
    dimension: int = Field(default=512, ge=1)
    bandwidth: float = Field(default=0.7, gt=0, allow_inf_nan=False)
    landmarks: int = Field(default=8192, ge=1)
    penalties: tuple[Penalty, ...] = Field(default=(0.03, 0.1, 0.3, 1.0, 3.0, 10.0), min_length=1)

    @model_validator(mode="after")
    def _one_descriptor_an_image(self) -> Self:
        if self.pooling.kind.startswith("rmac"):
            raise ValueError("ridge.pooling takes one descriptor an image: blocks, gap or gem")
        return self
