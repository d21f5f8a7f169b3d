"""How an index is kept."""

from pydantic import BaseModel, ConfigDict, Field


class IndexConfig(BaseModel):
    """`keep`: how many versions are kept beside the current one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    keep: int = Field(default=3, ge=0)
