"""Settings for extracting features."""

from pydantic import BaseModel, ConfigDict, Field

from tasks.model.config import NetworkConfig, PoolingConfig


class FeaturesConfig(BaseModel):
    """A frozen backbone and all poolings of its feature maps, computed in one pass."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    network: NetworkConfig = Field(description="The frozen network.")
    poolings: tuple[PoolingConfig, ...] = Field(description="The poolings to compute.")
