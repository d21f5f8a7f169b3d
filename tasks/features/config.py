"""Settings for extracting features."""

from pydantic import BaseModel, ConfigDict, Field

from tasks.images.config import Preprocessing
from tasks.model.config import BackboneConfig, PoolingConfig


class FeaturesConfig(BaseModel):
    """A frozen backbone and all poolings of its feature maps, computed in one pass."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    backbone: BackboneConfig = Field(description="The frozen network.")
    preprocessing: Preprocessing = Field(description="How an image becomes its input.")
    poolings: tuple[PoolingConfig, ...] = Field(description="The poolings to compute.")
