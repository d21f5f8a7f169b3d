"""Which descriptors of which backbone are kept."""

from pydantic import BaseModel, ConfigDict

from tasks.model.config import BackboneConfig, PoolingConfig


class FeaturesConfig(BaseModel):
    """The frozen backbone and every pooling whose descriptors are wanted, read in one pass."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    backbone: BackboneConfig
    poolings: tuple[PoolingConfig, ...]
