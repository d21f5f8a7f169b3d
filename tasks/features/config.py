"""Which descriptors of which backbone are extracted."""

from pydantic import BaseModel, ConfigDict

from tasks.model.config import BackboneConfig, PoolingConfig


class FeaturesConfig(BaseModel):
    """The frozen backbone and the poolings of its descriptors, all computed in one pass."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    backbone: BackboneConfig
    poolings: tuple[PoolingConfig, ...]
