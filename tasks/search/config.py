"""How an index is kept."""

from pydantic import BaseModel, ConfigDict, Field


class IndexConfig(BaseModel):
    """`keep`: how many versions are kept beside the current one; `approximate_from`: from how many images on an
    approximate index is made too."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    keep: int = Field(default=3, ge=0)
    approximate_from: int = Field(default=1_000_000, ge=1)
