"""How neighbours by caption similarity are found."""

from pydantic import BaseModel, ConfigDict, Field


class SurrogateConfig(BaseModel):
    """The most relevant images that an image has; small collections have fewer (METHOD.md 2)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    neighbours: int = Field(default=32, ge=1)
