"""Settings of an index."""

from pydantic import BaseModel, ConfigDict, Field


class IndexConfig(BaseModel):
    """`keep`: previous versions to keep; `approximate_from`: images from which on an approximate index is built."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    keep: int = Field(default=3, ge=0)
    approximate_from: int = Field(default=1_000_000, ge=1)
