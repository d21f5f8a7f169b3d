"""Settings for finding neighbours by caption similarity."""

from pydantic import BaseModel, ConfigDict, Field


class SurrogateConfig(BaseModel):
    """The neighbours by caption similarity that count as relevant (METHOD.md 2)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    neighbours: int = Field(
        default=32, ge=1, description="Relevant images per image, at most; small collections have fewer."
    )
