"""Settings for storing an index."""

from pydantic import BaseModel, ConfigDict, Field


class IndexConfig(BaseModel):
    """How many versions an index keeps and when it gets an approximate index too."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    keep: int = Field(default=3, ge=0, description="Earlier versions to keep in addition to the current one.")
    approximate_from: int = Field(
        default=1_000_000, ge=1, description="Also build an approximate index from this many images on."
    )
