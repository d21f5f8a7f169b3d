"""Settings of the neighbours by caption similarity."""

from pydantic import BaseModel, ConfigDict, Field


class SurrogateConfig(BaseModel):
    """The number of relevant images per image; small collections have fewer (METHOD.md 2)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    neighbours: int = Field(default=32, ge=1)
